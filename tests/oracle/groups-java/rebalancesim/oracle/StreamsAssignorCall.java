package rebalancesim.oracle;

import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.streams.TopologyMetadata;
import org.apache.kafka.coordinator.group.streams.assignor.AssignmentMemberSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpec;
import org.apache.kafka.coordinator.group.streams.assignor.GroupSpecImpl;
import org.apache.kafka.coordinator.group.streams.assignor.StickyTaskAssignor;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredInternalTopic;
import org.apache.kafka.coordinator.group.streams.topics.ConfiguredSubtopology;

/** The coordinator's call of its task assignor (KIP-1071), to be measured. */
final class StreamsAssignorCall {
    private StreamsAssignorCall() {
    }

    static Bench.Prepared prepare(Case question) {
        Map<String, AssignmentMemberSpec> members = new HashMap<>();
        for (Case.Member member : question.members()) {
            members.put(member.memberId(), new AssignmentMemberSpec(
                    Optional.empty(), Optional.empty(), sets(member.active()), sets(member.standby()), Map.of(),
                    member.processId(), Map.of(), Map.of(), Map.of()));
        }
        GroupSpec group = new GroupSpecImpl(
                members, Map.of("num.standby.replicas", Integer.toString(question.standbyReplicas())));
        TopologyMetadata topology = new TopologyMetadata(CoordinatorMetadataImage.EMPTY, topology(question));
        StickyTaskAssignor assignor = new StickyTaskAssignor();
        return () -> assignor.assign(group, topology);
    }

    private static TreeMap<String, ConfiguredSubtopology> topology(Case question) {
        Map<String, ConfiguredInternalTopic> changelog =
                Map.of("changelog", new ConfiguredInternalTopic("changelog", 1, Optional.empty(), Map.of()));
        TreeMap<String, ConfiguredSubtopology> configured = new TreeMap<>();
        question.subtopologies().forEach((id, subtopology) -> configured.put(id, new ConfiguredSubtopology(
                subtopology.tasks(), Set.of(), Map.of(), Set.of(), subtopology.stateful() ? changelog : Map.of())));
        return configured;
    }

    private static Map<String, Set<Integer>> sets(Map<String, List<Integer>> tasks) {
        Map<String, Set<Integer>> sets = new HashMap<>();
        if (tasks != null) {
            tasks.forEach((subtopology, partitions) -> sets.put(subtopology, new HashSet<>(partitions)));
        }
        return sets;
    }
}
