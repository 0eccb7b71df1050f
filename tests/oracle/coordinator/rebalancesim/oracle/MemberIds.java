package rebalancesim.oracle;

import com.google.gson.JsonPrimitive;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The member ids that a coordinator generates in one case: cases name them by number, in the order of generation. */
final class MemberIds {
    /** What a number stands for that has no id yet. */
    static final String NOBODY = "nobody";

    private final List<String> made = new ArrayList<>();
    /** The same UUIDs as Kafka's own class writes them, which a group of KIP-848 gives its classic members. */
    private final Map<String, Integer> bare = new HashMap<>();
    private String prefix;

    MemberIds(long seed) {
        SeededUuids.start(seed, uuid -> {
            bare.put(kafkas(uuid), made.size());
            made.add(prefix + "-" + uuid);
        });
    }

    /** Every release puts a UUID behind the instance id of a static member, or else behind the client id. */
    void expectFrom(CoordinatorStep step) {
        prefix = step.instanceId() == null ? step.clientIdOrDefault() : step.instanceId();
    }

    List<String> made() {
        return Collections.unmodifiableList(made);
    }

    String idOf(JsonPrimitive member) {
        if (member == null) {
            return "";
        }
        if (member.isString()) {
            return member.getAsString();
        }
        return member.getAsInt() < made.size() ? made.get(member.getAsInt()) : NOBODY;
    }

    private static String kafkas(UUID uuid) {
        ByteBuffer halves = ByteBuffer.allocate(2 * Long.BYTES);
        halves.putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits());
        return Base64.getUrlEncoder().withoutPadding().encodeToString(halves.array());
    }

    private int find(String id) {
        Integer number = bare.get(id);
        if (number != null) {
            made.set(number, id);
        }
        return made.indexOf(id);
    }

    int numberOf(String id) {
        int number = find(id);
        if (number < 0) {
            throw new IllegalStateException(id + " was not made in this case");
        }
        return number;
    }

    /** A number, or the id itself where the coordinator did not make it. */
    Object nameOf(String id) {
        int number = find(id);
        return number < 0 ? id : (Object) number;
    }
}
