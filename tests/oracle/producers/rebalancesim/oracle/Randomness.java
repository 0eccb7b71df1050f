package rebalancesim.oracle;

import java.lang.reflect.Field;
import java.util.concurrent.ThreadLocalRandom;
import sun.misc.Unsafe;

/** The random numbers that Kafka's partitioners draw: those of the current thread, from a state that a case gives. */
final class Randomness {
    private static final Unsafe UNSAFE = unsafe();
    private static final long SEED = offsetInThread("threadLocalRandomSeed");
    private static final long THREAD_ID = offsetInThread("tid");

    private Randomness() {
    }

    static void startFrom(long seed) {
        // The first call of a thread gives it a seed of its own.
        ThreadLocalRandom.current();
        Thread thread = Thread.currentThread();
        // Each draw adds the golden gamma and twice the thread's id, which no case can know.
        UNSAFE.putLong(thread, THREAD_ID, 0);
        UNSAFE.putLong(thread, SEED, seed);
    }

    private static Unsafe unsafe() {
        try {
            Field field = Unsafe.class.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            return (Unsafe) field.get(null);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static long offsetInThread(String field) {
        try {
            return UNSAFE.objectFieldOffset(Thread.class.getDeclaredField(field));
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("this Java keeps the state of ThreadLocalRandom elsewhere", e);
        }
    }
}
