package rebalancesim.oracle;

import com.google.gson.JsonObject;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.message.JoinGroupResponseData.JoinGroupResponseMember;

/** What the workers of a Connect cluster are told in one rebalance after the other; each may lead. */
final class ConnectAnswers {
    private ConnectAnswers() {
    }

    static Map<String, Object> to(Case question) throws Exception {
        List<Object> rebalances = new ArrayList<>();
        play(question, rebalances);
        return Map.of("rebalances", rebalances);
    }

    /** The workers after the last rebalance. */
    static Map<String, ConnectWorker> played(Case question) throws Exception {
        return play(question, new ArrayList<>());
    }

    private static Map<String, ConnectWorker> play(Case question, List<Object> rebalances) throws Exception {
        Settings settings = Json.convert(question.config(), Settings.class);
        Map<String, ConnectWorker> workers = new HashMap<>();
        for (Rebalance rebalance : question.stepsAs(Rebalance.class)) {
            rebalance.renamed().forEach((id, before) -> workers.put(id, workers.remove(before)));
            for (String id : rebalance.workers()) {
                if (!workers.containsKey(id)) {
                    workers.put(id, new ConnectWorker(settings.maxDelayMs()));
                }
            }
            rebalances.add(answerOf(rebalance, workers));
        }
        return workers;
    }

    private static Map<String, Object> answerOf(Rebalance rebalance, Map<String, ConnectWorker> workers)
            throws Exception {
        List<JoinGroupResponseMember> joined = new ArrayList<>();
        for (String id : rebalance.workers()) {
            byte[] metadata = workers.get(id).metadata(rebalance.protocol(), rebalance.offset());
            joined.add(new JoinGroupResponseMember().setMemberId(id).setMetadata(metadata));
        }
        Map<String, ByteBuffer> assigned = workers.get(rebalance.leader()).assign(rebalance, joined);
        Map<String, Object> answers = new LinkedHashMap<>();
        for (JoinGroupResponseMember member : joined) {
            ByteBuffer bytes = assigned.get(member.memberId());
            Map<String, String> answer = Map.of("sent", encoded(member.metadata()), "answer", encoded(bytes.array()));
            answers.put(member.memberId(), answer);
            if (!rebalance.missed().contains(member.memberId())) {
                workers.get(member.memberId()).complete(rebalance, bytes);
            }
        }
        return answers;
    }

    private static String encoded(byte[] bytes) {
        return Base64.getEncoder().encodeToString(bytes);
    }

    record Settings(int maxDelayMs) {
    }

    /** A rebalance of the workers that join it, some of which may never get the answer. */
    record Rebalance(
            long nowMs,
            int generation,
            String protocol,
            long offset,
            String leader,
            List<String> workers,
            Map<String, String> renamed,
            List<String> missed,
            Map<String, Integer> connectors) {
    }
}
