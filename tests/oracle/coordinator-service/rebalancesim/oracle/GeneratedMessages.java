package rebalancesim.oracle;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.google.gson.JsonObject;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.MessageUtil;

/** The classes that Kafka generates from its definitions of the coordinator's records, filled from JSON. */
final class GeneratedMessages {
    private static final String PACKAGE = "org.apache.kafka.coordinator.group.generated.";

    private GeneratedMessages() {
    }

    static ApiMessage key(String type, OffsetsTopicRecord record, short version) throws Exception {
        return message(type + "Key", record.key(), version);
    }

    static byte[] value(String type, OffsetsTopicRecord record) throws Exception {
        short version = record.valueVersion();
        return MessageUtil.toVersionPrefixedBytes(version, message(type + "Value", record.value(), version));
    }

    private static ApiMessage message(String name, JsonObject fields, short version) throws Exception {
        JsonNode node = new ObjectMapper().readTree(fields.toString());
        Class<?> converter = Class.forName(PACKAGE + name + "JsonConverter");
        return (ApiMessage) converter.getMethod("read", JsonNode.class, short.class).invoke(null, node, version);
    }
}
