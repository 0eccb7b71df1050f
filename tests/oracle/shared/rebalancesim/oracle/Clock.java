package rebalancesim.oracle;

import java.lang.reflect.Proxy;
import org.apache.kafka.common.utils.Time;

/** A clock that stops until it is set. A proxy, because the releases ask clocks for different things. */
final class Clock {
    private long nowMs;

    void set(long nowMs) {
        this.nowMs = nowMs;
    }

    Time asTime() {
        return asTimeSince(0);
    }

    /** The same where the clock's 0 is this time. */
    Time asTimeSince(long startMs) {
        Class<?>[] interfaces = {Time.class};
        return (Time) Proxy.newProxyInstance(Time.class.getClassLoader(), interfaces, (proxy, method, arguments) ->
                switch (method.getName()) {
                    case "milliseconds", "hiResClockMs" -> startMs + nowMs;
                    case "nanoseconds" -> (startMs + nowMs) * 1_000_000;
                    default -> throw new UnsupportedOperationException(method.getName());
                });
    }
}
