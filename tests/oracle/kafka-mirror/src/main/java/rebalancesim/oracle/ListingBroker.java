package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.MockClient;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientUnitTestEnv;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.message.ListGroupsResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseBroker;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.requests.AbstractResponse;
import org.apache.kafka.common.requests.ListGroupsResponse;
import org.apache.kafka.common.requests.MetadataResponse;

/** A real admin client, and the only broker of its cluster, which answers what is prepared. */
final class ListingBroker {
    private static final Node NODE = new Node(0, "localhost", 9092);
    /** What brokers since 4.0 take for internal; those before have no topic of the last name. */
    private static final Set<String> INTERNAL =
            Set.of("__consumer_offsets", "__transaction_state", "__share_group_state");
    private final AdminClientUnitTestEnv client =
            new AdminClientUnitTestEnv(new Cluster("listing", List.of(NODE), List.of(), Set.of(), Set.of()));

    Admin admin() {
        return client.adminClient();
    }

    /** Answers with topics in their order, or in that of brokers with KRaft; then each is described. */
    void lists(Map<String, Integer> topics, boolean asKraft) {
        Collection<String> names = asKraft ? inSet(topics.keySet()) : topics.keySet();
        MetadataResponseData answer = cluster();
        names.forEach(name -> answer.topics().add(topic(name, topics.get(name))));
        network().prepareResponse(response(MetadataResponse.class, answer));
        if (!Release.isBefore(3, 8)) {
            network().prepareResponse(described());
            network().prepareUnsupportedVersionResponse(request -> true);
        }
        network().prepareResponse(response(MetadataResponse.class, answer));
    }

    /** Answers with groups of consumers in their order. */
    void lists(List<String> groups) {
        List<ListGroupsResponseData.ListedGroup> listed = new ArrayList<>();
        groups.forEach(
                name -> listed.add(new ListGroupsResponseData.ListedGroup().setGroupId(name).setProtocolType("consumer")));
        network().prepareResponse(response(MetadataResponse.class, cluster()));
        network().prepareResponse(response(ListGroupsResponse.class, new ListGroupsResponseData().setGroups(listed)));
    }

    /** What is prepared for topics that are not described, as none are if none is replicated, must not stay. */
    void checkAsked() {
        network().reset();
    }

    private MockClient network() {
        return client.kafkaClient();
    }

    /** As KafkaApis filters the topics of the metadata cache. */
    private static Collection<String> inSet(Collection<String> names) {
        var set = new scala.collection.mutable.HashSet<String>();
        names.forEach(set::addOne);
        return scala.jdk.javaapi.CollectionConverters.asJava(set);
    }

    private static MetadataResponseData cluster() {
        MetadataResponseData answer = new MetadataResponseData().setClusterId("listing").setControllerId(NODE.id());
        answer.brokers().add(
                new MetadataResponseBroker().setNodeId(NODE.id()).setHost(NODE.host()).setPort(NODE.port()));
        return answer;
    }

    private static MetadataResponseTopic topic(String name, int partitions) {
        List<MetadataResponsePartition> listed = new ArrayList<>();
        IntStream.range(0, partitions).forEach(number -> listed.add(0, new MetadataResponsePartition()
                .setPartitionIndex(number).setLeaderId(NODE.id()).setReplicaNodes(List.of(NODE.id()))
                .setIsrNodes(List.of(NODE.id()))));
        return new MetadataResponseTopic().setName(name).setIsInternal(INTERNAL.contains(name)).setPartitions(listed);
    }

    /** A response about the cluster, which clients since 3.8 ask for before they describe topics. */
    private static AbstractResponse described() {
        Class<?> data = Reflected.type("org.apache.kafka.common.message.DescribeClusterResponseData");
        return response(
                Reflected.type("org.apache.kafka.common.requests.DescribeClusterResponse"), Reflected.make(data));
    }

    /** Calls the constructor that takes the data of a response, and in some releases its version, or a flag. */
    private static AbstractResponse response(Class<?> type, Object data) {
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            Class<?>[] parameters = constructor.getParameterTypes();
            if (parameters.length <= 2 && parameters.length > 0 && parameters[0] == data.getClass()) {
                Map<Class<?>, Object> others = Map.of(short.class, (short) 9, boolean.class, true);
                Object[] arguments = parameters.length == 1
                        ? new Object[] {data}
                        : new Object[] {data, others.get(parameters[1])};
                constructor.setAccessible(true);
                return (AbstractResponse) Reflected.unwrapped(() -> constructor.newInstance(arguments));
            }
        }
        throw new IllegalStateException("no constructor of " + type + " takes its data");
    }
}
