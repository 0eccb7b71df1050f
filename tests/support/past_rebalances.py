"""Output folders of ``history`` with a few groups that rebalance again and again."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS, EQUAL, GENERATION_BEFORE, NOT_PREDICTABLE
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.tables import BACKTEST, GENERATIONS, PREVENTION
from tests.support.finished_runs import write_run

GENERATIONS_OF_GROUP = 24
"""Within an hour, so that each group has the finding."""
DAY_MS = 86_400_000
LAST_MS = 20_000 * DAY_MS
"""2024-10-04, 00:00 UTC, when the first group rebalances last; each further one does so a day before the one before."""
_APART_MS = 120_000
Key = tuple[str, str]


def write_history(spark: SparkSession, folder: Path, groups: Sequence[Key]) -> str:
    """Write the past of groups, which are given by cluster and id; members and rules have the names of their groups."""
    tables = {
        GENERATIONS: [row for place, key in enumerate(groups) for row in _generations(key, place)],
        BACKTEST: [row for key in groups for row in _tested(key)],
        PREVENTION: [_prevented(key, possible=possible) for key in groups for possible in (True, False)],
    }
    return write_run(spark, folder, "history", tables)


def _generations(key: Key, place: int) -> Iterator[dict[str, Any]]:
    cluster, name = key
    for number in range(GENERATIONS_OF_GROUP):
        is_back = number % 2 == 0
        at_ms = LAST_MS - place * DAY_MS - (GENERATIONS_OF_GROUP - 1 - number) * _APART_MS
        cause = Cause.FIRST_SEEN if number == 0 else Cause.RESTARTED if is_back else Cause.LEFT
        changes = {"joined": 2 * (number == 0), "left": int(not is_back), "restarted": int(is_back and number > 0)}
        yield {
            "cluster": cluster,
            "group_id": name,
            "recreated": 0,
            "generation": number,
            "completed_at_ms": at_ms,
            "type": "classic",
            "rewritten": False,
            "members": 1 + is_back,
            **changes,
            "replaced": 0,
            "moved": 3,
            "moved_back": 2,
            "skipped": 0,
            "complete": number > 0,
            # After every sixth generation, a partition is read again.
            "commits_compared": 12 * (number > 0),
            "rewound": int(number % 6 == 5),
            "rewound_records": 100 * (number % 6 == 5),
            "downtime_ms": 1_500 if number > 0 else None,
            "cause": str(cause),
            "cause_member": name,
            "evidence": f"member {name} left or timed out",
        }


def _tested(key: Key) -> Iterator[dict[str, Any]]:
    """Yield what was predicted of a group: from what its members sent, one miss and one that is outside its bounds."""
    cluster, name = key
    columns = {"cluster": cluster, "group_id": name, "recreated": 0, "strategy": name, "members": 2, "partitions": 12}
    miss = {"miss": f"{cluster}/{name}/0/1/as joined", "first_differing": (name, 5, name, None)}
    for number in range(1, GENERATIONS_OF_GROUP):
        unpredictable = {"result": NOT_PREDICTABLE, "within_bounds": number == 3}
        result = {1: {"result": DIFFERS, "differing": 3} | miss, 2: unpredictable, 3: unpredictable}
        found = result.get(number, {"result": EQUAL, "differing": 0})
        yield columns | {"generation": number, "basis": AS_JOINED, "partition_counts": "known"} | found
        equal = {"basis": GENERATION_BEFORE, "result": EQUAL, "partition_counts": "from the answer", "differing": 0}
        yield columns | {"generation": number} | equal


def _prevented(key: Key, possible: bool) -> dict[str, Any]:
    cluster, name = key
    setting = ("group.instance.id", "one per consumer") if possible else ("session.timeout.ms", "120000")
    figures = {"episodes": 1, "generations": 23, "rebalances": 23, "rebalances_saved": 20, "failing": 0}
    return {
        "cluster": cluster,
        "group_id": name,
        "setting": setting[0],
        "value": setting[1],
        **figures,
        "unowned_ms": 9_000,
        "unowned_ms_saved": -1_500,
        "possible": possible,
    }
