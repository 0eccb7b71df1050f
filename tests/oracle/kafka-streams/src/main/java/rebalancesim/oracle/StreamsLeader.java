package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.LinkedList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsResult;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.internals.KafkaFutureImpl;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.streams.processor.internals.StreamsPartitionAssignor;
import org.mockito.Mockito;
import org.mockito.stubbing.Answer;

/** What a leader sends to the members of an application: {@code StreamsPartitionAssignor.assign}. */
final class StreamsLeader {
    private static final String INTERNALS = "org.apache.kafka.streams.processor.internals.";
    private static final long NOW = 1_000L;

    private StreamsLeader() {
    }

    /** Members are in the order of the subscriptions' map; end offsets are null where they cannot be fetched. */
    record Group(
            String assignor,
            List<StreamsTopology.Part> topology,
            Map<String, Integer> partitions,
            List<Member> members,
            String leader,
            List<EndOffset> endOffsets,
            Map<String, List<List<String>>> racks,
            StreamsCase.Settings settings) {
    }

    record Member(String id, List<String> topics, String userData, List<TopicPartition> owned, String rack) {
    }

    record EndOffset(TopicPartition partition, long offset) {
    }

    static Map<String, Object> assigned(Group group) throws Exception {
        Map<String, Subscription> subscriptions = new HashMap<>();
        for (Member member : group.members()) {
            subscriptions.put(member.id(), subscription(member));
        }
        Map<String, Assignment> assignments = assignor(group)
                .assign(cluster(group), new GroupSubscription(subscriptions)).groupAssignment();
        Map<String, Object> members = new TreeMap<>();
        for (Map.Entry<String, Assignment> entry : assignments.entrySet()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            answer.put("partitions", entry.getValue().partitions());
            answer.putAll(StreamsWire.readAssignment(StreamsWire.hex(entry.getValue().userData())));
            members.put(entry.getKey(), answer);
        }
        return Map.of("members", members);
    }

    private static Subscription subscription(Member member) throws Exception {
        ByteBuffer data = ByteBuffer.wrap(HexFormat.of().parseHex(member.userData()));
        Object[] fields = {member.topics(), data, member.owned(), -1, Optional.ofNullable(member.rack())};
        Constructor<?> constructor = Arrays.stream(Subscription.class.getConstructors())
                .max(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();
        return (Subscription) constructor.newInstance(Arrays.copyOf(fields, constructor.getParameterCount()));
    }

    /** The source topics, without those that the application makes itself. */
    private static Cluster cluster(Group group) {
        Map<String, List<List<String>>> racks = new HashMap<>();
        group.partitions().forEach((topic, count) -> {
            if (!topic.endsWith("-repartition")) {
                racks.put(topic, group.racks() == null
                        ? Collections.nCopies(count, List.of("rack")) : group.racks().get(topic).subList(0, count));
            }
        });
        return StreamsRacks.cluster(racks);
    }

    private static StreamsPartitionAssignor assignor(Group group) throws Exception {
        StreamsTopology topology = new StreamsTopology(group.topology());
        Consumer<?, ?> consumer = consumer(group);
        Object leader = StreamsTasks.processId(group.leader());
        Object taskManager = stub(INTERNALS + "TaskManager", Map.of("builder", topology.builder,
                "topologyMetadata", topology.metadata == null ? "" : topology.metadata,
                "processId", leader, "mainConsumer", consumer));
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("log", new LogContext("").logger(StreamsPartitionAssignor.class));
        fields.put("logPrefix", "");
        fields.put("assignmentConfigs", StreamsTasks.configs(group.settings()));
        fields.put("mainConsumerSupplier", (Supplier<?>) () -> consumer);
        fields.put("adminClient", admin(group));
        fields.put("taskManager", taskManager);
        fields.put("streamsMetadataState", stub(INTERNALS + "StreamsMetadataState", Map.of()));
        fields.put("partitionGrouper", grouper());
        fields.put("assignmentErrorCode", new AtomicInteger());
        fields.put("nextScheduledRebalanceMs", new AtomicLong(Long.MAX_VALUE));
        fields.put("nonFatalExceptionsToHandle", new LinkedList<>());
        fields.put("time", stub(Time.class.getName(), Map.of("milliseconds", NOW)));
        fields.put("internalTopicManager", StreamsRacks.internalTopics(group.racks()));
        fields.put("copartitionedTopicsEnforcer",
                Reflected.make(Class.forName(StreamsTasks.ASSIGNMENT + "CopartitionedTopicsEnforcer"), ""));
        fields.put("assignmentListener",
                stub(StreamsTasks.ASSIGNMENT + "AssignorConfiguration$AssignmentListener", Map.of()));
        Supplier<?> taskAssignor = () -> StreamsTasks.assignor(group.assignor());
        fields.put("taskAssignorSupplier", taskAssignor);
        fields.put("legacyTaskAssignorSupplier", taskAssignor);
        fields.put("customTaskAssignorSupplier", (Supplier<?>) Optional::empty);
        StreamsPartitionAssignor assignor = new StreamsPartitionAssignor();
        for (Map.Entry<String, Object> field : fields.entrySet()) {
            Reflected.writeIfDeclared(assignor, field.getKey(), field.getValue());
        }
        return assignor;
    }

    private static Object grouper() throws Exception {
        String old = "org.apache.kafka.streams.processor.DefaultPartitionGrouper";
        return Reflected.make(Class.forName(Reflected.exists(old) ? old : INTERNALS + "PartitionGrouper"));
    }

    private static Object stub(String type, Map<String, Object> results) throws Exception {
        Answer<?> answer = call -> {
            Object result = results.get(call.getMethod().getName());
            return result != null ? result : Mockito.RETURNS_DEFAULTS.answer(call);
        };
        return Mockito.mock(Class.forName(type), answer);
    }

    private static Map<TopicPartition, Long> ends(Group group) {
        Map<TopicPartition, Long> ends = new HashMap<>();
        group.endOffsets().forEach(end -> ends.put(end.partition(), end.offset()));
        return ends;
    }

    private static Consumer<?, ?> consumer(Group group) {
        return Mockito.mock(Consumer.class, call -> {
            if (!call.getMethod().getName().equals("committed")) {
                return Mockito.RETURNS_DEFAULTS.answer(call);
            }
            if (group.endOffsets() == null) {
                throw new TimeoutException("no offsets");
            }
            Map<TopicPartition, OffsetAndMetadata> committed = new HashMap<>();
            for (TopicPartition partition : (Collection<TopicPartition>) call.getArgument(0)) {
                committed.put(partition, new OffsetAndMetadata(ends(group).get(partition)));
            }
            return committed;
        });
    }

    private static Admin admin(Group group) {
        return Mockito.mock(Admin.class, call -> {
            if (!call.getMethod().getName().equals("listOffsets")) {
                return Mockito.RETURNS_DEFAULTS.answer(call);
            }
            Map<TopicPartition, KafkaFuture<ListOffsetsResultInfo>> futures = new HashMap<>();
            for (TopicPartition partition : ((Map<TopicPartition, ?>) call.getArgument(0)).keySet()) {
                KafkaFutureImpl<ListOffsetsResultInfo> future = new KafkaFutureImpl<>();
                if (group.endOffsets() == null) {
                    future.completeExceptionally(new TimeoutException("no offsets"));
                } else {
                    future.complete(new ListOffsetsResultInfo(ends(group).get(partition), -1, Optional.empty()));
                }
                futures.put(partition, future);
            }
            return new ListOffsetsResult(futures);
        });
    }
}
