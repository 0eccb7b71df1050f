import org.apache.kafka.common.utils.Utils;
import org.apache.spark.sql.api.java.UDF2;

/** The partition of a key by Kafka's own class: what a JVM UDF of Spark's costs. */
public class MurmurPartition implements UDF2<byte[], Integer, Integer> {
    @Override
    public Integer call(byte[] key, Integer partitions) {
        return Utils.toPositive(Utils.murmur2(key)) % partitions;
    }
}
