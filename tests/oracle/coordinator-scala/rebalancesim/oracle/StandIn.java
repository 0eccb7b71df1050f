package rebalancesim.oracle;

import org.mockito.Mockito;
import org.mockito.invocation.InvocationOnMock;
import org.mockito.stubbing.Answer;

/** Stands in for a part of the broker that the coordinator calls, and that would need a broker around it. */
final class StandIn {
    private StandIn() {
    }

    static <T> T of(Class<T> type, Answer<Object> answer) {
        return Mockito.mock(type, Mockito.withSettings()
                .stubOnly()
                .defaultAnswer(call -> call.getMethod().getDeclaringClass() == Object.class
                        ? Mockito.RETURNS_DEFAULTS.answer(call)
                        : answer.answer(call)));
    }

    /** What a call gets that the part does not stand in for. */
    static Object other(InvocationOnMock call) {
        if (call.getMethod().getName().contains("$default$")) {
            // An argument that the caller leaves out; nothing reads one.
            return null;
        }
        throw new AssertionError("the coordinator also calls " + call.getMethod());
    }
}
