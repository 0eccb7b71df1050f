package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.streams.processor.TaskId;
import org.apache.kafka.streams.state.HostInfo;

/** The bytes of {@code SubscriptionInfo} and {@code AssignmentInfo}, written and read by any release. */
final class StreamsWire {
    private static final String SUBSCRIPTION = StreamsTasks.ASSIGNMENT + "SubscriptionInfo";
    private static final String ASSIGNMENT = StreamsTasks.ASSIGNMENT + "AssignmentInfo";

    private StreamsWire() {
    }

    /** What a case writes; tasks are texts, partitions pairs, and hosts "host:port". */
    record Fields(
            int version,
            int latestSupportedVersion,
            String process,
            Map<String, Long> offsetSums,
            String userEndPoint,
            int uniqueField,
            int errorCode,
            Map<String, String> clientTags,
            int commonlySupportedVersion,
            List<String> activeTasks,
            Map<String, List<TopicPartition>> standbyTasks,
            Map<String, List<TopicPartition>> partitionsByHost,
            Map<String, List<TopicPartition>> standbyPartitionsByHost,
            long nextRebalanceMs) {
    }

    static Map<String, Object> writtenSubscription(Fields fields) throws Exception {
        Map<TaskId, Long> sums = new LinkedHashMap<>();
        fields.offsetSums().forEach((task, sum) -> sums.put(StreamsTasks.task(task), sum));
        Object info = Reflected.makeLongest(Class.forName(SUBSCRIPTION), fields.version(),
                fields.latestSupportedVersion(), StreamsTasks.processId(fields.process()), fields.userEndPoint(), sums,
                (byte) fields.uniqueField(), fields.errorCode(), new LinkedHashMap<>(fields.clientTags()));
        return Map.of("bytes", hex(Reflected.call(info, "encode")));
    }

    static Map<String, Object> readSubscription(String bytes) throws Exception {
        Object info = Reflected.callStatic(Class.forName(SUBSCRIPTION), "decode", buffer(bytes));
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("version", Reflected.call(info, "version"));
        answer.put("latest_supported_version", Reflected.call(info, "latestSupportedVersion"));
        answer.put("process", Reflected.call(info, "processId").toString());
        answer.put("user_end_point", Reflected.call(info, "userEndPoint"));
        answer.put("offset_sums", byText((Map<TaskId, ?>) Reflected.call(info, "taskOffsetSums")));
        answer.put("unique_field", Reflected.call(Reflected.read(info, "data"), "uniqueField"));
        if (!Release.isBefore(2, 8)) {
            answer.put("error_code", Reflected.call(info, "errorCode"));
        }
        if (!Release.isBefore(3, 2)) {
            answer.put("client_tags", Reflected.call(info, "clientTags"));
        }
        return answer;
    }

    static Map<String, Object> writtenAssignment(Fields fields) throws Exception {
        Map<TaskId, Set<TopicPartition>> standby = new HashMap<>();
        fields.standbyTasks().forEach(
                (task, partitions) -> standby.put(StreamsTasks.task(task), new HashSet<>(partitions)));
        Constructor<?> constructor = Arrays.stream(Class.forName(ASSIGNMENT).getDeclaredConstructors())
                .max(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();
        Object info = constructor.newInstance(fields.version(), fields.commonlySupportedVersion(),
                fields.activeTasks().stream().map(StreamsTasks::task).toList(), standby,
                hosts(fields.partitionsByHost()), hosts(fields.standbyPartitionsByHost()), fields.errorCode());
        Reflected.call(info, "setNextRebalanceTime", fields.nextRebalanceMs());
        return Map.of("bytes", hex(Reflected.call(info, "encode")));
    }

    static Map<String, Object> readAssignment(String bytes) throws Exception {
        Object info = Reflected.callStatic(Class.forName(ASSIGNMENT), "decode", buffer(bytes));
        return assignment(info);
    }

    static Map<String, Object> assignment(Object info) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("version", Reflected.call(info, "version"));
        answer.put("commonly_supported_version", Reflected.call(info, "commonlySupportedVersion"));
        answer.put("active_tasks", ((List<TaskId>) Reflected.call(info, "activeTasks")).stream()
                .map(TaskId::toString).toList());
        answer.put("standby_tasks", sorted((Map<?, Set<TopicPartition>>) Reflected.call(info, "standbyTasks")));
        answer.put("partitions_by_host",
                sortedHosts((Map<HostInfo, Set<TopicPartition>>) Reflected.call(info, "partitionsByHost")));
        answer.put("standby_partitions_by_host",
                sortedHosts((Map<HostInfo, Set<TopicPartition>>) Reflected.call(info, "standbyPartitionByHost")));
        answer.put("error_code", Reflected.call(info, "errCode"));
        answer.put("next_rebalance_ms", Reflected.call(info, "nextRebalanceMs"));
        return answer;
    }

    private static Map<HostInfo, Set<TopicPartition>> hosts(Map<String, List<TopicPartition>> texts) {
        Map<HostInfo, Set<TopicPartition>> hosts = new HashMap<>();
        texts.forEach((text, partitions) -> {
            int colon = text.lastIndexOf(':');
            HostInfo host = new HostInfo(text.substring(0, colon), Integer.parseInt(text.substring(colon + 1)));
            hosts.put(host, new HashSet<>(partitions));
        });
        return hosts;
    }

    private static Map<String, Object> byText(Map<TaskId, ?> tasks) {
        Map<String, Object> texts = new TreeMap<>();
        tasks.forEach((task, value) -> texts.put(task.toString(), value));
        return texts;
    }

    private static Map<String, Object> sorted(Map<?, Set<TopicPartition>> partitions) {
        Map<String, Object> texts = new TreeMap<>();
        partitions.forEach((key, each) -> texts.put(key.toString(), sorted(each)));
        return texts;
    }

    private static Map<String, Object> sortedHosts(Map<HostInfo, Set<TopicPartition>> partitions) {
        Map<String, Object> texts = new TreeMap<>();
        partitions.forEach((host, each) -> texts.put(host.host() + ":" + host.port(), sorted(each)));
        return texts;
    }

    private static List<TopicPartition> sorted(Set<TopicPartition> partitions) {
        return partitions.stream().sorted(Comparator.comparing(TopicPartition::topic)
                .thenComparing(TopicPartition::partition)).toList();
    }

    private static ByteBuffer buffer(String bytes) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(bytes));
    }

    static String hex(Object buffer) {
        ByteBuffer bytes = ((ByteBuffer) buffer).duplicate();
        bytes.rewind();
        byte[] array = new byte[bytes.remaining()];
        bytes.get(array);
        return HexFormat.of().formatHex(array);
    }
}
