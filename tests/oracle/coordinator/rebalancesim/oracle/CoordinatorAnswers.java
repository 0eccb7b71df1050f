package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.protocol.Errors;

/** What this release's group coordinator answers to the requests of one case. */
final class CoordinatorAnswers {
    static final Comparator<TopicPartition> PARTITIONS =
            Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition);

    private final MemberIds ids;
    private final ConsumerMemory consumers = new ConsumerMemory();
    private final Coordinator coordinator;
    private final List<CoordinatorStep> steps;
    private final List<Map<String, Object>> answers = new ArrayList<>();
    private final List<Map<String, Object>> groups = new ArrayList<>();
    private final List<Object> thrown = new ArrayList<>();

    private CoordinatorAnswers(Case question) {
        ids = new MemberIds(question.seed());
        coordinator = new ReleasedCoordinator(Json.convert(question.config(), CoordinatorConfig.class));
        steps = question.stepsAs(CoordinatorStep.class);
    }

    static Map<String, Object> to(Case question) {
        return new CoordinatorAnswers(question).run();
    }

    private Map<String, Object> run() {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        for (int i = 0; i < steps.size(); i++) {
            CoordinatorStep step = steps.get(i);
            moveTo(step.atMs(), i);
            ids.expectFrom(step);
            Request request = new Request(step, i, ids, consumers, coordinator::nowMs, answers);
            try {
                carryOut(request);
            } catch (UnsupportedOperationException e) {
                answer.put("unsupported", e.getMessage());
                return answer;
            } catch (RuntimeException e) {
                // What a coordinator throws, the broker answers.
                request.answer(Errors.forException(e));
                thrown.add(List.of(i, e.toString()));
            }
            groups.add(group());
        }
        answer.put("made", ids.made());
        answer.put("answers", answers);
        answer.put("groups", groups);
        if (!thrown.isEmpty()) {
            answer.put("thrown", thrown);
        }
        return answer;
    }

    /** What a timer's task throws, the broker's timer drops, and goes on with the next task. */
    private void moveTo(long atMs, int index) {
        while (true) {
            try {
                coordinator.moveTo(atMs);
                return;
            } catch (RuntimeException e) {
                thrown.add(List.of(index, e.toString()));
            }
        }
    }

    private void carryOut(Request request) {
        switch (request.step().request()) {
            case "join" -> coordinator.join(request);
            case "sync" -> coordinator.sync(request);
            case "heartbeat" -> coordinator.heartbeat(request);
            case "leave" -> coordinator.leave(request);
            case "commit" -> coordinator.commit(request);
            case "fetch" -> coordinator.fetch(request);
            case "consumer_heartbeat" -> coordinator.consumerHeartbeat(request);
            case "share_heartbeat" -> coordinator.shareHeartbeat(request);
            case "streams_heartbeat" -> coordinator.streamsHeartbeat(request);
            case "topics" -> coordinator.topics(request.step().topicsOfImage());
            case "tick" -> { }
            case "fail_store" -> coordinator.failStore(request.step().errorOrNone());
            case "hold_store" -> coordinator.holdStore(request.step().held());
            case "finish_store" -> coordinator.finishStore();
            case "check_offsets" -> coordinator.checkOffsets();
            case "unload" -> coordinator.unload();
            case "load" -> coordinator.load();
            default -> throw new AssertionError("no such request: " + request.step().request());
        }
    }

    /** Partitions in the order of topics and numbers, since the coordinator keeps sets. */
    static List<List<Object>> shown(List<TopicPartition> partitions) {
        return partitions.stream()
                .sorted(PARTITIONS)
                .map(partition -> List.<Object>of(partition.topic(), partition.partition()))
                .toList();
    }

    private Map<String, Object> group() {
        Coordinator.ConsumerGroup modern = coordinator.consumerGroup();
        if (modern != null) {
            return shown(modern);
        }
        Coordinator.Group group = coordinator.group();
        if (group == null) {
            return null;
        }
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("state", group.state());
        shown.put("generation", group.generation());
        shown.put("leader", group.leader() == null ? null : ids.nameOf(group.leader()));
        shown.put("protocol", group.protocol());
        shown.put("members", group.memberIds().stream().map(ids::numberOf).sorted().toList());
        shown.put("pending", group.pending());
        return shown;
    }

    private Map<String, Object> shown(Coordinator.ConsumerGroup group) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("state", group.state());
        shown.put("group_epoch", group.groupEpoch());
        shown.put("target_epoch", group.targetEpoch());
        shown.put("members", group.members().stream()
                .sorted(Comparator.comparing(Coordinator.ConsumerGroupMember::memberId))
                .map(this::shown)
                .toList());
        return shown;
    }

    private Map<String, Object> shown(Coordinator.ConsumerGroupMember member) {
        Map<String, Object> shown = new LinkedHashMap<>();
        shown.put("member", ids.nameOf(member.memberId()));
        if (member.instanceId() != null) {
            shown.put("instance_id", member.instanceId());
        }
        shown.put("epoch", member.epoch());
        shown.put("previous_epoch", member.previousEpoch());
        shown.put("state", member.state());
        shown.put("assigned", shown(member.assigned()));
        if (!member.pendingRevocation().isEmpty()) {
            shown.put("pending_revocation", shown(member.pendingRevocation()));
        }
        if (member.isClassic()) {
            shown.put("classic", true);
        }
        return shown;
    }
}
