"""Tables whose groups offer many protocols."""

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim.api.groups import balance, elect
from rebalance_sim.api.simulation import costs
from tests.support.rows import member, members, topics

GROUPS, NAMES, MANY = 1000, 200, 80


@pytest.fixture(scope="module")
def fleet(spark: SparkSession) -> DataFrame:
    """Return 1,000 groups that name 200 protocols between them, and one group that offers 80 by itself."""
    rows = [
        member(each, ["range", f"own-{number % NAMES}"], ["t"], group_id=f"g{number}")
        for number in range(GROUPS)
        for each in "ab"
    ]
    rows += [member(each, ["range", *(f"own-{n}" for n in range(MANY - 1))], ["t"], group_id="many") for each in "ab"]
    return members(spark, *rows).coalesce(1).cache()


def test_only_a_group_that_offers_too_many_protocols_is_not_simulated(spark: SparkSession, fleet: DataFrame) -> None:
    found = {row["group_id"]: row for row in fleet.transform(costs("leave", topics(spark, t=4))).collect()}
    assert len(found) == GROUPS + 1
    many = found.pop("many")
    assert (many["error"], many["rebalances"]) == ("the group offers 80 protocols; at most 63 can be simulated", None)
    assert {(row["error"], row["rebalances"], row["stable"]) for row in found.values()} == {(None, 1, True)}


def test_elections_and_assignments_do_not_limit_protocols(spark: SparkSession, fleet: DataFrame) -> None:
    elections = fleet.transform(elect()).collect()
    assert {(row["protocol"], row["members"]) for row in elections} == {("range", 2)}
    assert max(len(row["candidates"]) for row in elections) == MANY
    balances = fleet.transform(balance("elected", topics(spark, t=4))).collect()
    assert {(row["strategy"], row["min"], row["max"], row["error"]) for row in balances} == {("range", 2, 2, None)}
