"""Groups as Spark sends them to its workers."""

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from rebalance_sim.engine.groups.group_batches import GroupBatch, collect_members
from tests.support.rows import member, members


def test_a_large_group_sends_the_subscriptions_of_equal_neighbours_once(spark: SparkSession) -> None:
    lists = [["orders"], ["orders", "payments"], [], None, ["payments"]]
    of_small = [lists[number % 5] for number in range(20)]
    of_large = [lists[number // 40] for number in range(200)]
    rows = [
        member(f"m{number:03}", ["range"], [], group_id=group_id, join_order=number) | {"subscription": subscription}
        for group_id, given in (("large", of_large), ("small", of_small))
        for number, subscription in enumerate(given)
    ]
    nested = collect_members(members(spark, *rows).coalesce(1), ("join_order", "member_id", "subscription"))
    sent = nested.orderBy("group_id").toArrow().combine_chunks().to_batches()[0]
    with_names = np.array([bool(each.get("subscription")) for group in sent["members"].to_pylist() for each in group])
    assert with_names.sum() == 3 + 12
    batch = GroupBatch.of(sent)
    assert batch.column("subscription").to_pylist() == of_large + of_small
    of_members, distinct = batch.lists("subscription")
    assert len(distinct) == len(lists)
    assert pa.array(distinct).take(pa.array(of_members)).to_pylist() == of_large + of_small
