package rebalancesim.oracle;

import com.google.gson.JsonObject;

/** A record of __consumer_offsets: its type as Kafka 4.x calls it, and fields as Kafka's definitions name them. */
record OffsetsTopicRecord(String type, short keyVersion, JsonObject key, short valueVersion, JsonObject value) {
}
