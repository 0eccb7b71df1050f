package rebalancesim.oracle;

import com.google.gson.Gson;
import java.util.List;
import java.util.Optional;
import kafka.api.ApiVersion;
import kafka.api.ApiVersion$;
import kafka.common.OffsetAndMetadata;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadata$;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.coordinator.group.GroupMetadataManager$;
import kafka.coordinator.group.MemberMetadata;
import kafka.coordinator.group.Stable$;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.utils.Time;
import scala.Option;
import scala.Tuple2;
import scala.collection.JavaConversions;
import scala.collection.immutable.List$;

/** The records of 2.3, which inter.broker.protocol.version decides the version of: offset commits 1 to 3, groups 0 to 3. */
final class OffsetsTopicCall {
    private static final GroupMetadataManager$ MANAGER = GroupMetadataManager$.MODULE$;
    /** The first release that writes the version of the index. */
    private static final List<String> GROUPS_SINCE = List.of("0.10.0", "0.11.0", "2.1", "2.3");
    private static final List<String> OFFSETS_SINCE = List.of("", "2.0", "2.1-IV0", "2.3");
    private static final long NEVER = -1;

    private OffsetsTopicCall() {
    }

    static List<OffsetsTopicAnswers.Formatter> formatters() {
        return List.of(
                new GroupMetadataManager.OffsetsMessageFormatter()::writeTo,
                new GroupMetadataManager.GroupMetadataMessageFormatter()::writeTo);
    }

    static byte[] key(OffsetsTopicRecord record) {
        String groupId = record.key().get("group").getAsString();
        if (record.type().equals("GroupMetadata")) {
            return MANAGER.groupMetadataKey(groupId);
        }
        return MANAGER.offsetCommitKey(groupId,
                new TopicPartition(record.key().get("topic").getAsString(), record.key().get("partition").getAsInt()));
    }

    static byte[] value(OffsetsTopicRecord record) {
        if (record.type().equals("GroupMetadata")) {
            GroupValue value = new Gson().fromJson(record.value(), GroupValue.class);
            return MANAGER.groupMetadataValue(
                    group(value), value.assignments(), version(GROUPS_SINCE.get(record.valueVersion())));
        }
        OffsetValue value = new Gson().fromJson(record.value(), OffsetValue.class);
        Option<Object> expires =
                value.expireTimestamp() == NEVER ? Option.empty() : Option.apply(value.expireTimestamp());
        Optional<Integer> leaderEpoch =
                value.leaderEpoch() < 0 ? Optional.empty() : Optional.of(value.leaderEpoch());
        return MANAGER.offsetCommitValue(
                new OffsetAndMetadata(value.offset(), leaderEpoch, value.metadata(), value.commitTimestamp(), expires),
                version(OFFSETS_SINCE.get(record.valueVersion())));
    }

    private static ApiVersion version(String name) {
        return ApiVersion$.MODULE$.apply(name);
    }

    private static GroupMetadata group(GroupValue value) {
        return GroupMetadata$.MODULE$.loadGroup("g", Stable$.MODULE$, value.generation(), value.protocolType(),
                value.protocol(), value.leader(), Option.apply(value.currentStateTimestamp()),
                JavaConversions.collectionAsScalaIterable(
                        value.members().stream().map(member -> member(value, member)).toList()),
                Time.SYSTEM);
    }

    private static MemberMetadata member(GroupValue group, GroupValue.Member member) {
        scala.collection.immutable.List<Tuple2<String, byte[]>> none = List$.MODULE$.empty();
        return new MemberMetadata(member.memberId(), "g", Option.apply(member.groupInstanceId()), member.clientId(),
                member.clientHost(), member.rebalanceTimeout(), member.sessionTimeout(), group.protocolType(),
                none.$colon$colon(new Tuple2<>(group.protocol(), member.subscriptionBytes())));
    }
}
