package rebalancesim.oracle;

import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;
import java.util.Comparator;

/** Calls of classes whose visibility and arguments differ between releases. */
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

    /** A new object by the constructor with so many arguments. */
    static Object make(Class<?> type, Object... given) throws Exception {
        Constructor<?> constructor = Arrays.stream(type.getDeclaredConstructors())
                .filter(each -> each.getParameterCount() == given.length).findFirst().orElseThrow();
        constructor.setAccessible(true);
        return unwrapped(() -> constructor.newInstance(given));
    }

    /** The constructor with the most arguments, given as many of these. */
    static Object makeLongest(Class<?> type, Object... given) throws Exception {
        Constructor<?> constructor = Arrays.stream(type.getDeclaredConstructors())
                .max(Comparator.comparing(Constructor::getParameterCount)).orElseThrow();
        constructor.setAccessible(true);
        return unwrapped(() -> constructor.newInstance(Arrays.copyOf(given, constructor.getParameterCount())));
    }

    /** The result of a method of a name, with so many arguments. */
    static Object call(Object of, String name, Object... given) throws Exception {
        return unwrapped(() -> method(of.getClass(), name, given.length).invoke(of, given));
    }

    static Object callStatic(Class<?> of, String name, Object... given) throws Exception {
        return unwrapped(() -> method(of, name, given.length).invoke(null, given));
    }

    static Object read(Object of, String name) throws Exception {
        return field(of.getClass(), name).get(of);
    }

    /** Sets a field that not all releases have. */
    static void writeIfDeclared(Object of, String name, Object value) throws Exception {
        try {
            field(of.getClass(), name).set(of, value);
        } catch (NoSuchFieldException e) {
            // Of another release.
        }
    }

    static Method method(Class<?> type, String name, int arguments) throws NoSuchMethodException {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Method method : each.getDeclaredMethods()) {
                if (method.getName().equals(name) && method.getParameterCount() == arguments && !method.isBridge()) {
                    method.setAccessible(true);
                    return method;
                }
            }
        }
        throw new NoSuchMethodException(type + "." + name);
    }

    private static Field field(Class<?> type, String name) throws NoSuchFieldException {
        for (Class<?> each = type; each != null; each = each.getSuperclass()) {
            for (Field field : each.getDeclaredFields()) {
                if (field.getName().equals(name)) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        throw new NoSuchFieldException(type + "." + name);
    }

    private interface Reflection {
        Object run() throws ReflectiveOperationException;
    }

    private static Object unwrapped(Reflection call) throws Exception {
        try {
            return call.run();
        } catch (InvocationTargetException e) {
            if (e.getCause() instanceof Error error) {
                throw error;
            }
            throw (Exception) e.getCause();
        }
    }
}
