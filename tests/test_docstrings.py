"""The examples in docstrings give the results shown."""

import doctest
import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

import pytest
from pyspark.sql import SparkSession

import rebalance_sim

pytestmark = pytest.mark.setup
MODULES = [module.name for module in pkgutil.walk_packages(rebalance_sim.__path__, "rebalance_sim.")]


def examples(module: ModuleType) -> list[doctest.DocTest]:
    return [test for test in doctest.DocTestFinder().find(module) if test.examples]


@pytest.mark.parametrize("name", ["rebalance_sim", *MODULES])
def test_docstring_examples_hold(name: str, spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parents[1])
    predefined = {
        "spark": spark,
        "topics": spark.sql("SELECT 'orders' topic, 3 partitions"),
        "members": spark.sql(
            "SELECT * FROM VALUES ('group', 'c1', array('range', 'roundrobin'), array('orders')), "
            "('group', 'c2', array('roundrobin', 'range'), array('orders')) "
            "AS members(group_id, member_id, protocols, subscription)"
        ),
        "offsets": spark.sql(
            "SELECT 'group' group_id, 'orders' topic, * FROM VALUES (0, 30, 50), (1, 5, 15), (2, 0, 10) "
            "AS offsets(partition, committed, end)"
        ),
        "records": spark.sql(
            "SELECT 'orders' topic, 10 value_bytes, * FROM VALUES ('TT0124', 'java-3.3'), ('TT0124', 'java-3.3'), "
            "('TT0124', 'librdkafka'), ('A5', 'librdkafka') AS records(key, client)"
        ),
    }
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE)
    for test in examples(importlib.import_module(name)):
        test.globs |= predefined
        assert runner.run(test).failed == 0, test.name


def test_modules_have_examples() -> None:
    assert sum(len(examples(importlib.import_module(name))) for name in MODULES) > 10
