package rebalancesim.oracle;

import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonPrimitive;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/** One step of a conversation; "request" is its kind, which decides the other fields. */
record CoordinatorStep(
        long atMs,
        String request,
        JsonPrimitive member,
        String instanceId,
        String clientId,
        String protocolType,
        List<List<String>> protocols,
        Integer sessionTimeoutMs,
        Integer rebalanceTimeoutMs,
        boolean requiresKnownMemberId,
        boolean supportsSkippingAssignment,
        int generation,
        String protocol,
        List<JsonArray> assignments,
        List<Leaver> members,
        List<JsonArray> offsets,
        List<TopicPartition> topics,
        String error,
        boolean held,
        JsonPrimitive memberEpoch,
        List<String> subscription,
        String serverAssignor,
        JsonElement owned,
        List<JsonArray> image,
        String processId,
        Topology topology,
        boolean onlyJoining,
        List<JsonArray> taskOffsets) {

    record Leaver(JsonPrimitive member, String instanceId) {
    }

    record Offset(TopicPartition partition, long offset) {
    }

    /** The topology of a streams application. */
    record Topology(int epoch, Map<String, Subtopology> subtopologies) {
    }

    record Subtopology(List<String> sources, List<String> changelogs) {
    }

    record Topic(String name, String id, int partitions) {
    }

    String clientIdOrDefault() {
        return clientId == null ? "c" : clientId;
    }

    String protocolTypeOrDefault() {
        return protocolType == null ? "consumer" : protocolType;
    }

    int sessionTimeoutOrDefault() {
        return sessionTimeoutMs == null ? 10_000 : sessionTimeoutMs;
    }

    int rebalanceTimeoutOrDefault() {
        return rebalanceTimeoutMs == null ? 60_000 : rebalanceTimeoutMs;
    }

    Errors errorOrNone() {
        return error == null ? Errors.NONE : Errors.valueOf(error);
    }

    /** The whole of the cluster's metadata. */
    List<Topic> topicsOfImage() {
        return image.stream()
                .map(topic -> new Topic(topic.get(0).getAsString(), topic.get(1).getAsString(), topic.get(2).getAsInt()))
                .toList();
    }

    List<Offset> offsetsToCommit() {
        List<Offset> parsed = new ArrayList<>();
        for (JsonArray offset : offsets) {
            TopicPartition partition = new TopicPartition(offset.get(0).getAsString(), offset.get(1).getAsInt());
            parsed.add(new Offset(partition, offset.get(2).getAsLong()));
        }
        return parsed;
    }
}
