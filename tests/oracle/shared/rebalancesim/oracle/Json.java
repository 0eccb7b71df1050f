package rebalancesim.oracle;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonObject;
import com.google.gson.TypeAdapter;
import com.google.gson.stream.JsonReader;
import com.google.gson.stream.JsonWriter;
import java.io.IOException;
import org.apache.kafka.common.TopicPartition;

/** Cases and answers as JSON: snake_case names, and a partition as ["topic", 0]. */
final class Json {
    private static final Gson GSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .registerTypeAdapter(TopicPartition.class, new PartitionAsPair())
            .serializeNulls()
            .disableHtmlEscaping()
            .create();

    private Json() {
    }

    static Case read(String line) {
        return GSON.fromJson(line, Case.class);
    }

    /** What a part of a case says, as the rule reads it that it is for. */
    static <T> T convert(JsonObject part, Class<T> type) {
        return GSON.fromJson(part == null ? new JsonObject() : part, type);
    }

    static String write(Object answer) {
        return GSON.toJson(answer);
    }

    private static final class PartitionAsPair extends TypeAdapter<TopicPartition> {
        @Override
        public void write(JsonWriter out, TopicPartition partition) throws IOException {
            out.beginArray().value(partition.topic()).value(partition.partition()).endArray();
        }

        @Override
        public TopicPartition read(JsonReader in) throws IOException {
            in.beginArray();
            TopicPartition partition = new TopicPartition(in.nextString(), in.nextInt());
            in.endArray();
            return partition;
        }
    }
}
