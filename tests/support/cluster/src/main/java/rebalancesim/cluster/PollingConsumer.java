package rebalancesim.cluster;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * One consumer on one thread. It reports, in tab-separated fields:
 *
 * <pre>
 *   starting  NAME
 *   started   NAME                                           polls for the first time
 *   assigned  NAME  MEMBER_ID  GENERATION  topic-0,topic-1   all partitions that it owns now
 *   requested NAME  1234,987                                 microseconds of each request, if there are any
 *   revoked   NAME  MEMBER_ID  GENERATION  topic-0,topic-1   the revoked partitions
 *   stalled   NAME                                           no longer polls
 *   closing   NAME                                           close was requested
 *   closed    NAME
 *   failed    NAME  REASON
 * </pre>
 *
 * The last field of each, not shown here, is the time in milliseconds of System.nanoTime(): the
 * machine's monotonic clock, which all processes share on Linux.
 */
final class PollingConsumer extends Thread implements ConsumerRebalanceListener {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final PrintStream REPORTS =
        new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);

    private final String label;
    private final KafkaConsumer<byte[], byte[]> consumer;
    /** The topics to subscribe to before the next poll; null if that is done. */
    private List<String> wanted;
    private String commit;
    private boolean stalled;
    private boolean closing;
    /** How long the application takes when partitions are revoked. */
    private final long revokeMillis;
    /** How many requests to the coordinator are timed when it has partitions. */
    private int requests;

    PollingConsumer(String label, Properties settings) {
        super("consumer-" + label);
        this.label = label;
        report("starting", label);
        subscribe(settings.remove("topics").toString());
        this.commit = settings.remove("commit").toString();
        Object revokeMillis = settings.remove("revoke.ms");
        this.revokeMillis = revokeMillis == null ? 0 : Long.parseLong(revokeMillis.toString());
        Object requests = settings.remove("requests");
        this.requests = requests == null ? 0 : Integer.parseInt(requests.toString());
        this.consumer = new KafkaConsumer<>(
            settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
    }

    @Override
    public void run() {
        try (consumer) {
            renewSubscription();
            report("started", label);
            while (waitForTurn()) {
                renewSubscription();
                pollOnce();
            }
        } catch (WakeupException e) {
            // close() interrupts a poll this way.
        } catch (RuntimeException e) {
            report("failed", label, e.toString());
            return;
        }
        report("closed", label);
    }

    private synchronized void renewSubscription() {
        if (wanted != null) {
            consumer.subscribe(wanted, this);
            wanted = null;
        }
    }

    private void pollOnce() {
        boolean empty = consumer.poll(POLL).isEmpty();
        if (requests > 0 && !consumer.assignment().isEmpty()) {
            report("requested", label, timedRequests());
            requests = 0;
        }
        if (empty || commit.equals("never")) {
            return;
        }
        consumer.commitSync();
        // Committing only the first batch leaves a lag.
        if (commit.equals("once")) {
            commit = "never";
        }
    }

    private String timedRequests() {
        StringBuilder micros = new StringBuilder();
        for (int request = 0; request < requests; request++) {
            long began = System.nanoTime();
            consumer.committed(consumer.assignment());
            micros.append(request == 0 ? "" : ",").append((System.nanoTime() - began) / 1_000);
        }
        return micros.toString();
    }

    /** Blocks while stalled; returns false when the consumer must end. */
    private synchronized boolean waitForTurn() {
        if (stalled && !closing) {
            report("stalled", label);
        }
        while (stalled && !closing) {
            try {
                wait();
            } catch (InterruptedException e) {
                return false;
            }
        }
        return !closing;
    }

    synchronized void setStalled(boolean value) {
        stalled = value;
        notifyAll();
    }

    final synchronized void subscribe(String topics) {
        wanted = List.of(topics.split(","));
    }

    synchronized void close() {
        report("closing", label);
        closing = true;
        consumer.wakeup();
        notifyAll();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
        // The cooperative protocol passes only added partitions, so read all of them.
        report("assigned", consumer.assignment());
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> revoked) {
        report("revoked", revoked);
        if (!revoked.isEmpty() && revokeMillis > 0) {
            LockSupport.parkNanos(revokeMillis * 1_000_000);
        }
    }

    private void report(String event, Collection<TopicPartition> partitions) {
        ConsumerGroupMetadata self = consumer.groupMetadata();
        report(event, label, self.memberId(), Integer.toString(self.generationId()),
            partitions.stream().map(TopicPartition::toString).collect(Collectors.joining(",")));
    }

    private static void report(String... fields) {
        REPORTS.println(String.join("\t", fields) + "\t" + System.nanoTime() / 1_000_000);
    }
}
