package rebalancesim.oracle;

import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.ProducerBatches;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;

/**
 * A producer's records and its sender, on one clock and one thread.
 *
 * <p>The sender does what Sender.sendProducerData does where every broker is ready and answers at once, and as Sender
 * does it again and again at one time until nothing is ready. It looks when a batch has waited for linger.ms, and when
 * a record comes at a later time than the last look, before that record is appended.
 */
final class ProducerRun {
    private final Case question;
    private final Cluster cluster;
    private final List<TopicPartition> partitions;
    private final Clock clock = new Clock();
    private final ProducerCall producer;
    private final List<Map<String, Object>> batches = new ArrayList<>();
    private long lastMs;

    ProducerRun(Case question) throws Exception {
        this.question = question;
        cluster = ProducerMetadata.of(question, question.unavailable());
        partitions = ProducerMetadata.partitions(question);
        producer = new ProducerCall(question, cluster, clock.asTime());
    }

    Map<String, Object> answer() throws Exception {
        List<Integer> chosen = new ArrayList<>();
        lastMs = question.records().isEmpty() ? 0 : question.records().get(0).atMs();
        Randomness.startFrom(question.seed());
        for (Case.Sent sent : question.records()) {
            advance(sent.atMs());
            clock.set(sent.atMs());
            chosen.add(producer.send(sent));
        }
        flush();
        addUnsent();
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("partitions", chosen);
        answer.put("batches", batches);
        return answer;
    }

    private void advance(long nowMs) {
        if (nowMs == lastMs) {
            return;
        }
        look(lastMs);
        for (long expiry = nextExpiryMs(); expiry <= nowMs; expiry = nextExpiryMs()) {
            look(expiry);
        }
        lastMs = nowMs;
    }

    private void flush() {
        look(lastMs);
        for (long expiry = nextExpiryMs(); expiry < Long.MAX_VALUE; expiry = nextExpiryMs()) {
            look(expiry);
        }
    }

    private void look(long nowMs) {
        clock.set(nowMs);
        for (Set<Node> ready = producer.ready(nowMs); !ready.isEmpty(); ready = producer.ready(nowMs)) {
            Map<Integer, List<ProducerBatch>> drained = producer.drain(ready, nowMs);
            // Not in the order of Kafka's hash tables, which has no meaning: each broker has one partition.
            drained.keySet().stream().sorted().map(drained::get).flatMap(List::stream).forEach(batch -> {
                batches.add(answer(batch, nowMs));
                producer.complete(batch);
            });
        }
    }

    /** When the first batch that waits at some broker will have waited long enough; MAX_VALUE if none waits. */
    private long nextExpiryMs() {
        return partitions.stream()
                .filter(partition -> cluster.leaderFor(partition) != null)
                .map(producer::queue)
                .filter(queue -> queue != null && !queue.isEmpty())
                .mapToLong(queue -> ProducerBatches.createdMs(queue.peekFirst()) + question.lingerMs())
                .min().orElse(Long.MAX_VALUE);
    }

    /** What waits for partitions that have no leader. */
    private void addUnsent() {
        for (TopicPartition partition : partitions) {
            Deque<ProducerBatch> queue = producer.queue(partition);
            if (queue != null) {
                queue.forEach(batch -> batches.add(answer(batch, null)));
            }
        }
    }

    private static Map<String, Object> answer(ProducerBatch batch, Long drainedMs) {
        TopicPartition partition = ProducerBatches.partition(batch);
        Map<String, Object> answer = new LinkedHashMap<>();
        answer.put("topic", partition.topic());
        answer.put("partition", partition.partition());
        answer.put("records", ProducerBatches.recordCount(batch));
        answer.put("bytes", batch.estimatedSizeInBytes());
        answer.put("created_ms", ProducerBatches.createdMs(batch));
        answer.put("drained_ms", drainedMs);
        return answer;
    }
}
