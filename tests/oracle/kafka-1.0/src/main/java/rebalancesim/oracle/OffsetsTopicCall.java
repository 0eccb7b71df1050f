package rebalancesim.oracle;

import com.google.gson.Gson;
import java.util.List;
import kafka.common.OffsetAndMetadata;
import kafka.common.OffsetMetadata;
import kafka.coordinator.group.GroupMetadata;
import kafka.coordinator.group.GroupMetadataManager;
import kafka.coordinator.group.GroupMetadataManager$;
import kafka.coordinator.group.MemberMetadata;
import kafka.coordinator.group.Stable$;
import org.apache.kafka.common.TopicPartition;
import scala.Option;
import scala.Tuple2;
import scala.collection.immutable.List$;

/** The records of 1.0: offset commits of version 1, groups of version 0 or 1. */
final class OffsetsTopicCall {
    private static final GroupMetadataManager$ MANAGER = GroupMetadataManager$.MODULE$;

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
        TopicPartition partition =
                new TopicPartition(record.key().get("topic").getAsString(), record.key().get("partition").getAsInt());
        return MANAGER.offsetCommitKey(groupId, partition, record.keyVersion());
    }

    static byte[] value(OffsetsTopicRecord record) {
        if (record.type().equals("GroupMetadata")) {
            GroupValue value = new Gson().fromJson(record.value(), GroupValue.class);
            return MANAGER.groupMetadataValue(group(value), value.assignments(), record.valueVersion());
        }
        OffsetValue value = new Gson().fromJson(record.value(), OffsetValue.class);
        OffsetMetadata metadata = new OffsetMetadata(value.offset(), value.metadata());
        return MANAGER.offsetCommitValue(
                new OffsetAndMetadata(metadata, value.commitTimestamp(), value.expireTimestamp()));
    }

    private static GroupMetadata group(GroupValue value) {
        GroupMetadata group = new GroupMetadata("g", Stable$.MODULE$);
        value.members().forEach(member -> group.add(member(value, member)));
        group.protocolType_$eq(Option.apply(value.protocolType()));
        group.generationId_$eq(value.generation());
        group.kafka$coordinator$group$GroupMetadata$$protocol_$eq(Option.apply(value.protocol()));
        group.kafka$coordinator$group$GroupMetadata$$leaderId_$eq(Option.apply(value.leader()));
        return group;
    }

    private static MemberMetadata member(GroupValue group, GroupValue.Member member) {
        scala.collection.immutable.List<Tuple2<String, byte[]>> none = List$.MODULE$.empty();
        return new MemberMetadata(member.memberId(), "g", member.clientId(), member.clientHost(),
                member.rebalanceTimeout(), member.sessionTimeout(), group.protocolType(),
                none.$colon$colon(new Tuple2<>(group.protocol(), member.subscriptionBytes())));
    }
}
