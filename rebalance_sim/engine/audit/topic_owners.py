"""Topics of which several members on one host own all partitions that are owned now."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rebalance_sim.engine.tables.arrow import list_offsets


def topics_on_one_host(members: pa.ListArray) -> pa.Table:
    """Return ``group, topic, host, owners, partitions`` of the members of groups, which are numbered by their place."""
    flat = members.flatten()
    owned = flat.field("owned")
    of_owned = pa.array(np.repeat(np.arange(len(flat)), np.diff(list_offsets(owned))))
    groups = pa.array(np.repeat(np.arange(len(members)), np.diff(list_offsets(members))))
    partitions, hosts = owned.flatten(), flat.field("host").take(of_owned)
    rows = pa.table(
        {
            "group": groups.take(of_owned),
            "topic": partitions.field("topic"),
            "partition": partitions.field("partition"),
            "member_id": flat.field("member_id").take(of_owned),
            "host": hosts,
            "is_unknown": pc.equal(hosts, "").fill_null(True),
        }
    )
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
