"""Topics by who owns their partitions now: members, and hosts on which several members own all of them."""

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.tables.arrow import list_of_items


def topics_on_one_host(members: pa.ListArray) -> pa.Table:
    """Return ``group, topic, host, owners, partitions`` of the members of groups, which are numbered by their place."""
    rows = _owned(members)
    rows = rows.append_column("is_unknown", pc.equal(rows["host"], "").fill_null(True))
    summed = rows.group_by(["group", "topic"]).aggregate(
        [
            *[(name, "count_distinct") for name in ("host", "member_id", "partition")],
            *[("host", "one"), ("is_unknown", "any")],
        ]
    )
    on_one = pc.and_(pc.equal(summed["host_count_distinct"], 1), pc.invert(summed["is_unknown_any"]))
    found = summed.filter(pc.and_(on_one, pc.greater(summed["member_id_count_distinct"], 1)))
    return pa.table(
        {
            **{name: found[name] for name in ("group", "topic")},
            "host": found["host_one"],
            "owners": found["member_id_count_distinct"],
            "partitions": found["partition_count_distinct"],
        }
    )


def topics_by_member(members: pa.ListArray) -> pa.Table:
    """Return ``group, member_id, topic, partitions`` of the members of groups, which are numbered by their place."""
    keys = ["group", "member_id", "topic"]
    counted = _owned(members).group_by(keys).aggregate([("partition", "count_distinct")])
    return counted.rename_columns([*keys, "partitions"])


def _owned(members: pa.ListArray) -> pa.Table:
    """Return a row for each owned partition: ``group, topic, partition, member_id, host``."""
    flat = members.flatten()
    owned = flat.field("owned")
    of_owned = pa.array(list_of_items(owned))
    groups = pa.array(list_of_items(members))
    partitions = owned.flatten()
    return pa.table(
        {
            "group": groups.take(of_owned),
            "topic": partitions.field("topic"),
            "partition": partitions.field("partition"),
            "member_id": flat.field("member_id").take(of_owned),
            "host": flat.field("host").take(of_owned),
        }
    )
