package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.utils.Utils;

/** What this release's coordinator and consumers make of one case. */
final class GroupAnswers {
    private GroupAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        return switch (question.rule()) {
            case "election" -> election(question);
            case "partition-for" -> Map.of("partition", partitionFor(question));
            case "write-bytes" -> ProtocolBytes.written(question);
            case "read-subscription", "read-assignment", "read-sticky", "read-cooperative-sticky" ->
                    ProtocolBytes.read(question);
            default -> assignment(question);
        };
    }

    private static Map<String, Object> election(Case question) {
        CoordinatorGroup group = new CoordinatorGroup();
        List<String> inadmissible = new ArrayList<>();
        List<String> offered = new ArrayList<>();
        for (Case.Member member : question.members()) {
            var joiner = CoordinatorGroup.member(member);
            if (group.admits(joiner)) {
                group.add(joiner);
                offered.addAll(member.protocols());
            } else {
                inadmissible.add(member.memberId());
            }
        }
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("kafka", Release.VERSION);
        answer.put("protocol", group.selectProtocol());
        answer.put("leader", group.leader());
        answer.put("inadmissible", inadmissible);
        answer.put("member_order", group.memberIds());
        answer.put("candidates", offered.stream().distinct().filter(group::isCandidate).sorted().toList());
        answer.put("leaders_after_remove", leadersAfterRemove(group, question.removals()));
        return answer;
    }

    private static List<String> leadersAfterRemove(CoordinatorGroup group, List<String> removals) {
        List<String> leaders = new ArrayList<>();
        for (String memberId : removals) {
            group.remove(memberId);
            leaders.add(group.leader());
        }
        return leaders;
    }

    private static Map<String, Object> assignment(Case question) throws Exception {
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("rule", question.rule());
        answer.put("kafka", Release.VERSION);
        if (question.isServerSide()) {
            ServerAssignorCall call = ServerAssignorCall.prepare(question.rule(), question);
            answer.put("assignment", call.partitions(call.run()));
        } else {
            AssignorCall call = AssignorCall.prepare(question.rule(), question);
            answer.put("assignment", AssignorCall.partitions(TimeLimit.within(call::run)));
        }
        return answer;
    }

    /** The rule of GroupMetadataManager (1.0 to 3.9) and GroupCoordinatorService (4.x), which need a running broker. */
    private static int partitionFor(Case question) {
        return Utils.abs(question.groupId().hashCode()) % question.offsetsPartitions();
    }
}
