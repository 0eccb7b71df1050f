"""
Compare what ``history`` finds in the topic of a random history with the truth, by client library.

    python -m tests.support.cluster.history_score out/hour --kafka 4.3.1

prints the comparison of the records before and after compaction, and all causes that are wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim import backtest
from rebalance_sim.engine.history.backtest import AS_JOINED, DIFFERS, EQUAL, GENERATION_BEFORE, NOT_PREDICTABLE
from rebalance_sim.kafka.history.causes import Cause
from rebalance_sim.sources.assumptions import MembersAsStated
from rebalance_sim.sources.clients_file import read_clients
from rebalance_sim.sources.offsets_topic.history import read_history
from rebalance_sim.sources.offsets_topic.reading import Reading
from tests.support.cluster.history_truth import SUFFIX, TrueGeneration, Verdict, done_lines, true_generations
from tests.support.cluster.random_groups import RandomGroup, random_groups

Row = dict[str, Any]
BEFORE, AFTER = "before.parquet", "after.parquet"
"""The records before and after compaction."""
SEVERAL, CONSUMER_PROTOCOL = "several in one group", "consumer protocol"
FIRST = "first"
"""Generations before which the program knows none."""
_BY_LEAVE_GROUP = "by LeaveGroup"


@dataclass(frozen=True)
class Found:
    """What the program finds in a dump."""

    generations: list[Row]
    members: list[Row]
    predictions: list[Row]
    rejected: int


@dataclass
class Score:
    """How much of it is right."""

    counts: defaultdict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    """By library."""
    problems: list[str] = field(default_factory=list)
    completed_ms: list[int] = field(default_factory=list)
    """Times of the records less those of the logs, when all members had joined."""
    assigned_ms: list[int] = field(default_factory=list)
    """The same of the time from then until the leader had assigned."""

    @property
    def total(self) -> Counter[str]:
        return sum(self.counts.values(), Counter[str]())


def find(spark: SparkSession, folder: Path, dump: str, version: str) -> Found:
    """Read a dump as an owner does who knows the libraries of the clients."""
    with TemporaryDirectory() as name:
        stated = MembersAsStated(clients=read_clients(str(_clients_file(folder, version, Path(name) / "clients.yaml"))))
    topics = spark.read.json(str(folder / "topics.json"))
    read = read_history([spark.read.parquet(str(folder / dump))], Reading(as_stated=stated), topics=topics)
    members, predictions = read.generation_members.persist(), list[Row]()
    for basis in (AS_JOINED, GENERATION_BEFORE):
        tested = members.transform(backtest(topics, version, basis=basis))
        predictions += [row.asDict(recursive=True) for row in tested.collect()]
    return Found(
        [row.asDict(recursive=True) for row in read.generations.collect()],
        [row.asDict() for row in members.select("group_id", "member_id", "instance_id", "client_id").collect()],
        predictions,
        read.rejects.count(),
    )


def score(found: Found, folder: Path, version: str) -> Score:
    """Compare with the truth."""
    groups = {group.name: group for group in random_groups(version)}
    truth, result = _truth(found, folder, groups), Score()
    ended_ms = max(each.assigned_ms for of_group in truth.values() for each in of_group)
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    incomplete: defaultdict[str, list[int]] = defaultdict(list)
    for row in found.generations:
        if row["complete"] is False:
            incomplete[row["group_id"]].append(row["record_offset"])
        if row["rewritten"]:
            result.counts[label(groups[row["group_id"]])]["rewritten"] += 1
        elif (row["members"] or row["generation"]) and row["recorded_at_ms"] <= ended_ms + _WRITTEN_AFTER_MS:
            rows[row["group_id"]].append(row)
    for name, true in truth.items():
        counts = result.counts[label(groups[name])]
        counts["logged"] += len(true)
        pairs, unlogged = _matched(rows[name], true)
        result.problems += [f"{name}: {number} is not in the logs" for number in unlogged]
        _compare(name, pairs, true, counts, result)
        counts["incomplete"] += len(incomplete[name])
        counts["lost"] += len(true) - len(pairs)
        counts["lost after the last"] += len(true) - 1 - (pairs[-1][1] if pairs else -1)
        result.problems += [f"{name} {text}" for text in _unstated(pairs, incomplete[name])]
    for prediction in found.predictions:
        counts = result.counts[label(groups[prediction["group_id"]])]
        counts[f"{prediction['basis']}: {prediction['result']}"] += 1
        counts[f"{prediction['basis']}: outside bounds"] += prediction["within_bounds"] is False
        if prediction["result"] == DIFFERS:
            which = f"{prediction['group_id']} {prediction['generation']} ({prediction['strategy']})"
            result.problems.append(f"{which}: {prediction['differing']} partitions differ, {prediction['basis']}")
    return result


def label(group: RandomGroup) -> str:
    """Return the row of the table to which a group belongs."""
    if group.is_of_consumers:
        return CONSUMER_PROTOCOL
    return group.libraries[0] if len(group.libraries) == 1 else SEVERAL


def _truth(found: Found, folder: Path, groups: Mapping[str, RandomGroup]) -> dict[str, list[TrueGeneration]]:
    of_consumers = {
        row["member_id"]: row["instance_id"] or row["client_id"]
        for row in found.members
        if groups[row["group_id"]].is_of_consumers
    }
    return true_generations(folder, of_consumers, [group.name for group in groups.values() if group.is_static])


def _matched(rows: Sequence[Row], truth: Sequence[TrueGeneration]) -> tuple[list[tuple[Row, int]], list[int]]:
    """Return rows with the places of their generations in the truth, in order, and the numbers of the others.

    A group that was deleted counts from 1 again.
    """
    places: defaultdict[int, list[int]] = defaultdict(list)
    for place, each in enumerate(truth):
        places[each.number].append(place)
    pairs, unlogged = [], []
    for row in rows:
        same = places.get(row["generation"], [])
        if not same:
            unlogged.append(row["generation"])
            continue
        pairs.append((row, min(same, key=lambda place: abs(truth[place].assigned_ms - row["recorded_at_ms"]))))
    return sorted(pairs, key=itemgetter(1)), unlogged


def _compare(
    name: str, pairs: Sequence[tuple[Row, int]], truth: Sequence[TrueGeneration], counts: Counter[str], result: Score
) -> None:
    is_cut = False
    for row, place in pairs:
        true = truth[place]
        is_cut |= row["complete"] is False
        counts["generations"] += 1
        if row["completed_at_ms"] is not None:
            result.completed_ms.append(row["completed_at_ms"] - true.stable_ms)
            if row["members"]:
                found_ms = row["recorded_at_ms"] - row["completed_at_ms"]
                result.assigned_ms.append(found_ms - (true.assigned_ms - true.stable_ms))
        if row["cause"] == Cause.FIRST_SEEN:
            counts[FIRST] += 1
            continue
        verdict = verdict_of(row, true, is_cut=is_cut)
        counts[verdict.value] += 1
        if verdict == Verdict.WRONG:
            result.problems.append(f"{name} {true.number}: {row['cause']} ({row['evidence']}), but {true.evidence}")


def verdict_of(row: Row, true: TrueGeneration, *, is_cut: bool) -> Verdict:
    """Return whether a cause is right. To say that a member left which timed out is wrong, too.

    ``is_cut`` says whether the row says of earlier records that they are missing: a member that was there before them
    has joined then.
    """
    if row["cause"] == Cause.UNKNOWN:
        return Verdict.UNKNOWN
    left_wrongly = _BY_LEAVE_GROUP in row["evidence"] and any(
        member_id[:-SUFFIX] in true.timed_out for member_id in row["left_ids"]
    )
    causes = true.causes | ({Cause.JOINED} if is_cut and Cause.RESTARTED in true.causes else set())
    return Verdict.RIGHT if row["cause"] in causes and not left_wrongly else Verdict.WRONG


def _unstated(pairs: Sequence[tuple[Row, int]], incomplete: Sequence[int]) -> Iterator[str]:
    """Yield which generations of the truth are not in the dump without a row that says so, by offsets of such rows."""
    before, last_offset = -1, -1
    for row, place in pairs:
        missing, offset = place - before - 1, row["record_offset"]
        if missing and not any(last_offset < each <= offset for each in incomplete):
            yield f"{row['generation']}: does not state that {missing} generations are missing"
        before, last_offset = place, offset


def _clients_file(folder: Path, version: str, out: Path) -> Path:
    """Write what the owner knows: which library each client is of."""
    clients = {(each["group"], each["client"]) for each in done_lines(folder) if each["client"]}
    entries = []
    for group in random_groups(version):
        if len(group.libraries) == 1:
            entries.append({"group": group.name, "library": group.libraries[0]})
            continue
        for name in sorted(client for of_group, client in clients if of_group == group.name):
            library = group.libraries[int(name.rpartition("-")[2]) % len(group.libraries)]
            entries.append({"group": group.name, "client_id": name, "library": library})
    # JSON is YAML, too.
    out.write_text(json.dumps({"clients": entries}))
    return out


def tables(scores: Mapping[str, Score]) -> str:
    """Return the comparison by library, of each of several releases, in Markdown."""
    lines = []
    for version, each in scores.items():
        lines += [f"Kafka {version}:", "", *_table(each), ""]
    return "\n".join(lines)


_WRITTEN_AFTER_MS = 100
"""The most between the line about an assignment in a log and its record."""
_COLUMNS = {
    "generations": "generations",
    "causes right": Verdict.RIGHT,
    "`unknown`": Verdict.UNKNOWN,
    "wrong": Verdict.WRONG,
    "`as joined`: equal": f"{AS_JOINED}: {EQUAL}",
    "differs": f"{AS_JOINED}: {DIFFERS}",
    "not predictable": f"{AS_JOINED}: {NOT_PREDICTABLE}",
    "`generation before`: equal": f"{GENERATION_BEFORE}: {EQUAL}",
    "differs ": f"{GENERATION_BEFORE}: {DIFFERS}",
    "not predictable ": f"{GENERATION_BEFORE}: {NOT_PREDICTABLE}",
}


def _table(score: Score) -> list[str]:
    heads = ["library", *(name.strip() for name in _COLUMNS)]
    rows = [*sorted(score.counts.items()), ("all", score.total)]
    return [
        f"| {' | '.join(heads)} |",
        f"|{'---|' * len(heads)}",
        *(f"| {name} | {' | '.join(f'{counts[key]:,}' for key in _COLUMNS.values())} |" for name, counts in rows),
    ]


def durations(score: Score) -> list[str]:
    """Return how far the times of records are from those of the logs."""
    return [
        f"all members joined: {spread(score.completed_ms)}",
        f"from then until the leader had assigned: {spread(score.assigned_ms)}",
    ]


def spread(errors: Sequence[int]) -> str:
    """Return errors as text."""
    ordered = sorted(errors)
    return f"median {median(ordered):.0f} ms, from {ordered[0]:,} to {ordered[-1]:,} ms ({len(ordered):,} generations)"


def report(folder: Path, version: str) -> str:
    """Return how much is right, before and after compaction, and all that is not."""
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = SparkSession.builder.master("local[1]").config("spark.sql.shuffle.partitions", 1).getOrCreate()
    lines = []
    for dump in (BEFORE, AFTER):
        result = score(find(spark, folder, dump, version), folder, version)
        lines += [tables({f"{version}, {dump}": result}), str(dict(result.total)), *durations(result), *result.problems]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kafka", default="4.3.1")
    given = parser.parse_args()
    print(report(given.folder, given.kafka))


if __name__ == "__main__":
    main()
