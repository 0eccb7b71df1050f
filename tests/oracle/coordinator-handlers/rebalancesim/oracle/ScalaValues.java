package rebalancesim.oracle;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.Function;
import scala.Tuple2;
import scala.collection.immutable.List$;
import scala.collection.immutable.Map$;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/** Collections and callbacks as the coordinators in Scala take and give them. */
final class ScalaValues {
    private ScalaValues() {
    }

    static <T> AbstractFunction1<T, BoxedUnit> callback(Consumer<T> consumer) {
        return new AbstractFunction1<>() {
            @Override
            public BoxedUnit apply(T answer) {
                consumer.accept(answer);
                return BoxedUnit.UNIT;
            }
        };
    }

    static <T> scala.collection.immutable.List<T> scalaList(List<T> elements) {
        scala.collection.immutable.List<T> list = List$.MODULE$.empty();
        for (int i = elements.size() - 1; i >= 0; i--) {
            list = list.$colon$colon(elements.get(i));
        }
        return list;
    }

    static <K, V> scala.collection.immutable.Map<K, V> scalaMap(Map<K, V> entries) {
        scala.collection.immutable.Map<K, V> map = Map$.MODULE$.empty();
        for (Map.Entry<K, V> entry : entries.entrySet()) {
            map = map.updated(entry.getKey(), entry.getValue());
        }
        return map;
    }

    static <K, V, W> Map<K, W> javaMap(
            scala.collection.Map<K, V> entries, Function<V, W> convert) {
        Map<K, W> map = new LinkedHashMap<>();
        scala.collection.Iterator<Tuple2<K, V>> iterator = entries.iterator();
        while (iterator.hasNext()) {
            Tuple2<K, V> entry = iterator.next();
            map.put(entry._1(), convert.apply(entry._2()));
        }
        return map;
    }
}
