"""Arguments of a wrong type are mistakes of the user, in every public function."""

from collections.abc import Callable
from inspect import isfunction, signature
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_sim import UserError, api
from tests.support.rows import member, members, topics

sim: Any = api
"""Not typed: mypy finds these mistakes as well."""
Call = Callable[[DataFrame, DataFrame], Any]
MISTAKES: dict[str, Call] = {
    "explain_key: key is 5 (int); allowed: bytes or str or None": lambda m, t: sim.explain_key(5, 6),
    "explain_key: partitions is '6' (str); allowed: int": lambda m, t: sim.explain_key("k", "6"),
    "explain_key: partitions is True (bool); allowed: int": lambda m, t: sim.explain_key("k", True),
    "elect: kafka_version is 3.9 (float); allowed: str or Clusters": lambda m, t: sim.elect(kafka_version=3.9),
    "elect: kafka_version is a DataFrame; allowed: str or Clusters; a transformation is made first: rows.transform(": (
        lambda m, t: m.transform(sim.elect)
    ),
    "assign: strategy is a DataFrame; allowed: str; a transformation": sim.assign,
    "assign: topics is 'topics' (str); allowed: DataFrame": lambda m, t: sim.assign("range", "topics"),
    "elect: argument: 'version' is not known (did you mean 'kafka_version'?); allowed: kafka_version": (
        lambda m, t: sim.elect(version="3.9")
    ),
    "predict: strategies is 'range' (str); allowed: a sequence of str": lambda m, t: sim.predict(m, t, "range"),
    "predict: strategies[0] is 1 (int); allowed: str": lambda m, t: sim.predict(m, t, [1]),
    "simulate: seed is 'one' (str); allowed: int": lambda m, t: sim.simulate(m, t, "leave", seed="one"),
    "simulate: argument: 'sede' is not known (did you mean 'seed'?)": lambda m, t: sim.simulate(m, t, "leave", sede=1),
    "explain_assignment: partition is 'orders-1' (str); allowed: (str, int)": (
        lambda m, t: sim.explain_assignment(m, t, "orders-1")
    ),
    "topics_table: topics['t'] is '3' (str); allowed: int or a mapping of str to Any": (
        lambda m, t: sim.topics_table({"t": "3"})
    ),
    "group: group_id is 5 (int); allowed: str": lambda m, t: sim.group({"c": {}}, group_id=5, subscription=["t"]),
    "member_lag: offsets is None (NoneType); allowed: DataFrame": lambda m, t: sim.member_lag(None),
}


@pytest.mark.parametrize("printed", MISTAKES)
def test_a_wrong_argument_is_named(spark: SparkSession, printed: str) -> None:
    given = members(spark, member("a", ["range"], ["t"])), topics(spark, t=3)
    with pytest.raises(UserError) as mistake:
        MISTAKES[printed](*given)
    assert str(mistake.value).startswith(printed)


class Anything:
    """Has none of the types that a public function takes."""


FUNCTIONS = [
    name for name in sim.__all__ if isfunction(getattr(sim, name)) and signature(getattr(sim, name)).parameters
]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_public_function_checks_its_first_argument(name: str) -> None:
    with pytest.raises(UserError, match=f"^{name}: .* is <.*Anything object at .*> \\(Anything\\); allowed: "):
        getattr(sim, name)(Anything())
