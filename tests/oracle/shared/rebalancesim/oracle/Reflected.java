package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.Stream;

/** Calls of classes whose names, visibility and arguments differ between releases. */
final class Reflected {
    private Reflected() {
    }

    /** Whether a release has a class. */
    static boolean exists(String name) {
        try {
            Class.forName(name, false, Reflected.class.getClassLoader());
            return true;
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    static Class<?> type(String name) {
        return (Class<?>) unwrapped(() -> Class.forName(name));
    }

    /** A new object by the constructor with so many arguments: the public one, if there is one. */
    static Object make(Class<?> type, Object... given) {
        Constructor<?> constructor = Stream.of(type.getConstructors(), type.getDeclaredConstructors())
                .flatMap(Arrays::stream).filter(each -> each.getParameterCount() == given.length)
                .findFirst().orElseThrow();
        constructor.setAccessible(true);
        return unwrapped(() -> constructor.newInstance(given));
    }

    /** The constructor with the most arguments, given as many of these. */
    static Object makeLongest(Class<?> type, Object... given) {
        Constructor<?> constructor = Arrays.stream(type.getDeclaredConstructors())
                .max(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();
        constructor.setAccessible(true);
        return unwrapped(() -> constructor.newInstance(Arrays.copyOf(given, constructor.getParameterCount())));
    }

    /** The result of a method of a name, with so many arguments. */
    static Object call(Object of, String name, Object... given) {
        return unwrapped(() -> method(of.getClass(), name, given.length).invoke(of, given));
    }

    static Object callStatic(Class<?> of, String name, Object... given) {
        return unwrapped(() -> method(of, name, given.length).invoke(null, given));
    }

    static Object read(Object of, String name) {
        return unwrapped(() -> fieldOrNull(of.getClass(), name).get(of));
    }

    static void write(Object of, String name, Object value) {
        unwrapped(() -> {
            fieldOrNull(of.getClass(), name).set(of, value);
            return null;
        });
    }

    /** Sets a field that not all releases have. */
    static void writeIfDeclared(Object of, String name, Object value) {
        if (fieldOrNull(of.getClass(), name) != null) {
            write(of, name, value);
        }
    }

    static Method method(Class<?> type, String name, int arguments) throws NoSuchMethodException {
        Method found = methodOrNull(type, name, arguments);
        if (found == null) {
            throw new NoSuchMethodException(type + "." + name);
        }
        return found;
    }

    static Method methodOrNull(Class<?> type, String name, int arguments) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        return null;
    }

    static Field fieldOrNull(Class<?> type, String name) {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        return null;
    }

    interface Reflection {
        Object run() throws ReflectiveOperationException;
    }

    /** Kafka's exceptions are answers, and not what reflection wraps around them. */
    static Object unwrapped(Reflection call) {
        try {
            return call.run();
        } catch (InvocationTargetException e) {
            throw Reflected.<RuntimeException>unchecked(e.getCause());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @SuppressWarnings("unchecked")
    private static <E extends Throwable> E unchecked(Throwable thrown) throws E {
        throw (E) thrown;
    }
}
