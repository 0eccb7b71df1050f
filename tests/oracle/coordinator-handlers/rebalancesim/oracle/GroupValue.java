package rebalancesim.oracle;

import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import scala.collection.JavaConversions;

/** The fields of a group's metadata, as the coordinators in Scala want them. */
record GroupValue(
        String protocolType, int generation, String protocol, String leader, long currentStateTimestamp,
        List<Member> members) {

    record Member(
            String memberId, String groupInstanceId, String clientId, String clientHost, int rebalanceTimeout,
            int sessionTimeout, String subscription, String assignment) {

        byte[] subscriptionBytes() {
            return Base64.getDecoder().decode(subscription);
        }
    }

    /** What the leader gave to the members. */
    scala.collection.Map<String, byte[]> assignments() {
        Map<String, byte[]> bytes = new LinkedHashMap<>();
        members.forEach(member -> bytes.put(member.memberId(), Base64.getDecoder().decode(member.assignment())));
        return JavaConversions.mapAsScalaMap(bytes);
    }
}
