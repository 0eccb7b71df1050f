"""Random histories of groups of every client library, compared with what was done to them and what brokers logged."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS
from tests.support.cases import GOLDEN
from tests.support.cluster.history_score import AFTER, BEFORE, Score, find, label, score, tables
from tests.support.cluster.random_groups import RandomGroup, random_groups
from tests.support.cluster.random_history import play

PAGE = Path(__file__).parents[2] / "docs" / "history.md"
KEPT = ("4.3.1", "3.9.2", "3.3.2")
"""Histories of an hour, in tests/golden/random_history. A broker of 3.3.2 compacted a copy of its records."""


def check(scored: Score) -> None:
    """Every generation is found, at least 95 % of causes are right, and the others unknown."""
    total = scored.total
    assert total["generations"] == total["logged"]
    assert total["wrong"] == 0, scored.problems
    assert total["right"] >= 0.95 * (total["right"] + total["unknown"])
    assert max(map(abs, scored.completed_ms)) < 1000
    assert not scored.total[f"{AS_JOINED}: {DIFFERS}"], scored.problems


@pytest.mark.scale
@pytest.mark.parametrize("version", KEPT)
def test_the_page_has_what_is_found_in_the_kept_histories(spark: SparkSession, version: str) -> None:
    folder = GOLDEN / "random_history" / version
    scored = score(find(spark, folder, BEFORE, version), folder, version)
    check(scored)
    assert tables({version: scored}) in PAGE.read_text()


@pytest.mark.scale
@pytest.mark.parametrize("version", KEPT)
def test_after_compaction_what_is_lost_is_stated(spark: SparkSession, version: str) -> None:
    folder = GOLDEN / "random_history" / version
    scored = score(find(spark, folder, AFTER, version), folder, version)
    total = scored.total
    assert total["generations"] + total["lost"] == total["logged"]
    assert total["lost"] > 0.8 * total["logged"]
    assert total["wrong"] == 0, scored.problems
    assert not total[f"{AS_JOINED}: {DIFFERS}"], scored.problems
    assert [problem for problem in scored.problems if "does not state" in problem] == []


def some_groups(version: str) -> Iterator[RandomGroup]:
    """Return two groups of each library and kind, which together load a machine less than all of them."""
    seen: dict[str, int] = {}
    for group in random_groups(version):
        seen[label(group)] = seen.get(label(group), 0) + 1
        if seen[label(group)] <= 2:
            yield group


@pytest.mark.cluster
@pytest.mark.hunt
@pytest.mark.alone
@pytest.mark.parametrize("version", KEPT)
def test_a_new_history(spark: SparkSession, tmp_path: Path, version: str, request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--seed")
    play(version, list(some_groups(version)), 3, tmp_path, seed=seed, pause_seconds=20)
    check(score(find(spark, tmp_path, BEFORE, version), tmp_path, version))
