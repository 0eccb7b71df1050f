package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** Calls of what has other parameters, or another name, in another release of 4.x: arguments go by their types. */
public final class Matching {
    private static final Map<Class<?>, Class<?>> BOXED = Map.of(int.class, Integer.class);

    private Matching() {
    }

    /** Calls the only constructor of a class. Parameters that no argument fits are absent. */
    public static <T> T construct(Class<T> type, Object... arguments) {
        Constructor<?> constructor = type.getDeclaredConstructors()[0];
        constructor.setAccessible(true);
        return type.cast(Reflected.unwrapped(() -> constructor.newInstance(fitting(constructor, arguments))));
    }

    /** Calls the public method that has one of these names. */
    public static Object call(Object target, List<String> names, Object... arguments) {
        Method method = Arrays.stream(target.getClass().getMethods())
                .filter(candidate -> names.contains(candidate.getName()) && !candidate.isBridge())
                .findFirst()
                .orElseThrow(() -> new IllegalStateException(target.getClass() + " has none of " + names));
        return Reflected.unwrapped(() -> method.invoke(target, fitting(method, arguments)));
    }

    private static Object[] fitting(Executable called, Object[] arguments) {
        return Arrays.stream(called.getParameterTypes())
                .map(type -> BOXED.getOrDefault(type, type))
                .map(type -> Arrays.stream(arguments).filter(type::isInstance).findFirst().orElseGet(() -> absent(type)))
                .toArray();
    }

    /** An empty Optional, a context for log messages, whose class has another package since 4.4, or null. */
    private static Object absent(Class<?> type) {
        if (type == Optional.class) {
            return Optional.empty();
        }
        return type.getSimpleName().equals("LogContext") ? Reflected.make(type) : null;
    }
}
