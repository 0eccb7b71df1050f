package rebalancesim.oracle;

import java.nio.ByteBuffer;
import java.security.Provider;
import java.security.SecureRandomSpi;
import java.security.Security;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.Consumer;

/**
 * Makes {@link UUID#randomUUID()} draw from a seed, and reports which ones are drawn.
 *
 * <p>It takes the first provider's random numbers once, so this one must be there before the first UUID.
 */
public final class SeededUuids extends SecureRandomSpi {
    private static final int BYTES = 16;
    private static SplittableRandom random = new SplittableRandom(0);
    private static Consumer<UUID> listener = uuid -> { };

    static {
        Security.insertProviderAt(new Seeded(), 1);
        UUID[] heard = new UUID[1];
        listener = uuid -> heard[0] = uuid;
        if (!UUID.randomUUID().equals(heard[0])) {
            throw new IllegalStateException("UUIDs were drawn before a case of the coordinator");
        }
    }

    private static final class Seeded extends Provider {
        private static final long serialVersionUID = 1;

        Seeded() {
            super("rebalancesim", "1", "UUIDs of a case");
            put("SecureRandom.seeded", SeededUuids.class.getName());
        }
    }

    static void start(long seed, Consumer<UUID> newListener) {
        random = new SplittableRandom(seed);
        listener = newListener;
    }

    @Override
    protected void engineNextBytes(byte[] bytes) {
        random.nextBytes(bytes);
        if (bytes.length == BYTES) {
            listener.accept(versionFour(bytes));
        }
    }

    /** The UUID that {@link UUID#randomUUID()} makes of these bytes. */
    private static UUID versionFour(byte[] bytes) {
        ByteBuffer halves = ByteBuffer.wrap(bytes);
        long high = halves.getLong() & ~0xF000L | 0x4000L;
        long low = halves.getLong() & 0x3FFFFFFFFFFFFFFFL | 0x8000000000000000L;
        return new UUID(high, low);
    }

    @Override
    protected void engineSetSeed(byte[] seed) {
    }

    @Override
    protected byte[] engineGenerateSeed(int length) {
        return new byte[length];
    }
}
