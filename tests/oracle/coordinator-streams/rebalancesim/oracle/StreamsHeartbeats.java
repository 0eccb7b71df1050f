package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.TaskIds;
import org.apache.kafka.common.message.StreamsGroupHeartbeatRequestData.TaskOffset;
import org.apache.kafka.common.message.StreamsGroupHeartbeatResponseData;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.StreamsGroupHeartbeatResponse.Status;
import org.apache.kafka.coordinator.group.Group;
import org.apache.kafka.coordinator.group.GroupCoordinator;
import org.apache.kafka.coordinator.group.streams.StreamsGroup;
import org.apache.kafka.coordinator.group.streams.StreamsGroupMember;
import org.apache.kafka.coordinator.group.streams.TasksTupleWithEpochs;

/** Heartbeats of members of streams groups. A task is shown as a partition of its role and subtopology: "active 0". */
final class StreamsHeartbeats implements StreamsRequests {
    private static final short VERSION = 0;
    private static final String ACTIVE = "active ";
    private static final String STANDBY = "standby ";

    @Override
    public void heartbeat(GroupCoordinator service, Request request) {
        CoordinatorStep step = request.step();
        var data = new StreamsGroupHeartbeatRequestData()
                .setGroupId(Coordinator.GROUP_ID)
                .setMemberId(request.memberId())
                .setMemberEpoch(request.memberEpoch())
                .setInstanceId(step.instanceId());
        if (!step.onlyJoining() || request.memberEpoch() == 0) {
            data.setProcessId(step.processId());
            data.setTopology(step.topology() == null ? null : topology(step.topology()));
            data.setRebalanceTimeoutMs(step.rebalanceTimeoutMs() == null ? -1 : step.rebalanceTimeoutMs());
        }
        List<TopicPartition> owned = request.owned();
        if (owned != null) {
            data.setActiveTasks(tasks(owned, ACTIVE)).setStandbyTasks(tasks(owned, STANDBY)).setWarmupTasks(List.of());
        }
        if (step.taskOffsets() != null) {
            data.setTaskOffsets(step.taskOffsets().stream()
                    .map(offset -> new TaskOffset()
                            .setSubtopologyId(offset.get(0).getAsString())
                            .setPartition(offset.get(1).getAsInt())
                            .setOffset(offset.get(2).getAsLong()))
                    .toList());
        }
        service.streamsGroupHeartbeat(
                ServiceCoordinator.context(ApiKeys.STREAMS_GROUP_HEARTBEAT, VERSION, step.clientIdOrDefault()), data)
                .whenComplete(ServiceCoordinator.answering(request, result -> answer(request, result.data())));
    }

    private static void answer(Request request, StreamsGroupHeartbeatResponseData beaten) {
        List<TopicPartition> assigned = null;
        if (beaten.activeTasks() != null) {
            assigned = new ArrayList<>();
            assigned.addAll(partitions(beaten.activeTasks(), ACTIVE));
            assigned.addAll(partitions(beaten.standbyTasks(), STANDBY));
            assigned.addAll(partitions(beaten.warmupTasks(), "warmup "));
        }
        List<String> statuses = beaten.status() == null ? List.of() : beaten.status().stream()
                .map(status -> Status.fromCode(status.statusCode()).name())
                .toList();
        request.answerStreamsHeartbeat(Errors.forCode(beaten.errorCode()), beaten.memberId(), beaten.memberEpoch(),
                beaten.heartbeatIntervalMs(), assigned, statuses);
    }

    private static StreamsGroupHeartbeatRequestData.Topology topology(CoordinatorStep.Topology topology) {
        List<StreamsGroupHeartbeatRequestData.Subtopology> subtopologies = new ArrayList<>();
        topology.subtopologies().forEach((id, part) -> subtopologies.add(
                new StreamsGroupHeartbeatRequestData.Subtopology()
                        .setSubtopologyId(id)
                        .setSourceTopics(part.sources())
                        .setStateChangelogTopics(part.changelogs().stream()
                                .map(name -> new StreamsGroupHeartbeatRequestData.TopicInfo().setName(name))
                                .toList())));
        return new StreamsGroupHeartbeatRequestData.Topology()
                .setEpoch(topology.epoch())
                .setSubtopologies(subtopologies);
    }

    private static List<TaskIds> tasks(List<TopicPartition> owned, String role) {
        Map<String, List<Integer>> bySubtopology = new LinkedHashMap<>();
        owned.stream().filter(task -> task.topic().startsWith(role)).forEach(task -> bySubtopology
                .computeIfAbsent(task.topic().substring(role.length()), id -> new ArrayList<>())
                .add(task.partition()));
        return bySubtopology.entrySet().stream()
                .map(tasks -> new TaskIds().setSubtopologyId(tasks.getKey()).setPartitions(tasks.getValue()))
                .toList();
    }

    private static List<TopicPartition> partitions(List<StreamsGroupHeartbeatResponseData.TaskIds> tasks, String role) {
        List<TopicPartition> partitions = new ArrayList<>();
        tasks.forEach(of -> add(partitions, role, of.subtopologyId(), of.partitions()));
        return partitions;
    }

    private static void add(
            List<TopicPartition> partitions, String role, String subtopology, Collection<Integer> numbers) {
        numbers.forEach(number -> partitions.add(new TopicPartition(role + subtopology, number)));
    }

    @Override
    public Coordinator.ConsumerGroup shown(Group group) {
        if (!(group instanceof StreamsGroup streams)) {
            return null;
        }
        return new Coordinator.ConsumerGroup(streams.stateAsString(), streams.groupEpoch(), streams.assignmentEpoch(),
                streams.members().values().stream().map(StreamsHeartbeats::shown).toList());
    }

    private static Coordinator.ConsumerGroupMember shown(StreamsGroupMember member) {
        return new Coordinator.ConsumerGroupMember(member.memberId(), member.instanceId().orElse(null),
                member.memberEpoch(), member.previousMemberEpoch(), member.state().name(), false,
                partitions(member.assignedTasks()), partitions(member.tasksPendingRevocation()));
    }

    private static List<TopicPartition> partitions(TasksTupleWithEpochs tasks) {
        List<TopicPartition> partitions = new ArrayList<>();
        tasks.activeTasksWithEpochs().forEach((id, epochs) -> add(partitions, ACTIVE, id, epochs.keySet()));
        tasks.standbyTasks().forEach((id, numbers) -> add(partitions, STANDBY, id, numbers));
        return partitions;
    }
}
