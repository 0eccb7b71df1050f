"""The past rebalances of an audited fleet: when they were, and whether they would have been predicted."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.coverage import Coverage
from rebalance_sim.engine.audit.past import HOUR_MS
from rebalance_sim.engine.history.backtest import DIFFERS, PREDICTED_FROM, by_basis, score
from rebalance_sim.engine.history.stories import AT
from rebalance_sim.engine.runs.past_runs import HISTORY
from rebalance_sim.report.audits.audited_run import AuditedRun
from rebalance_sim.report.audits.reproduction import miss_command
from rebalance_sim.report.lanes import UNITS
from rebalance_sim.report.page import GROUP, CellType, Column, Lane, LaneTable, Table, columns
from rebalance_sim.report.text import count
from rebalance_sim.tables import BACKTEST, GENERATIONS, VERDICTS
from rebalance_sim.wording import enumerated, plural

SHOWN_DATES = 31
"""Dates of the calendar: the last."""
SHOWN_MISSES = 20
_DAY_MS = 86_400_000
_LAST_MS = 253_402_300_800_000
"""The end of the calendar: the year 10000."""
_MISS = f"result = '{DIFFERS}' OR NOT within_bounds"


@dataclass(frozen=True)
class FleetPast:
    """The past rebalances of a fleet."""

    sentence: str
    notes: tuple[str, ...] = ()
    """What the history lacks, and what of it is about other groups."""
    score: str = ""
    """How often predictions would have been right, in sentences; empty if nothing was predicted."""
    scores: Table | None = None
    misses: Table | None = None
    calendar: LaneTable | None = None


def fleet_past(audited: AuditedRun) -> FleetPast | None:
    """Return the past of the audited clusters; None if the audit read no history."""
    history = audited.history
    if not history:
        unread = audited.run.record["options"].get(HISTORY)
        return FleetPast("The history that the audit read can no longer be read.") if unread else None
    verdicts, generations = audited.run.table(VERDICTS), history[GENERATIONS.name]
    coverage = Coverage.of(generations, verdicts)
    read_by = audited.fleet.run if audited.fleet else audited.run
    sentence, notes = f"{coverage.sentence}.", tuple(coverage.notes(read_by.record.get("started")))
    here = coverage.audited_clusters
    if not here:
        return FleetPast(sentence, notes)
    clusters = verdicts.select("cluster").distinct()
    calendar = _calendar(generations.join(clusters, "cluster", "left_semi"))
    if BACKTEST.name not in history:
        return FleetPast(sentence, notes, calendar=calendar)
    tested = history[BACKTEST.name].join(clusters, "cluster", "left_semi")
    found = {row["basis"]: row for row in tested.transform(score).transform(by_basis).collect()}
    rows = [(text, found[basis]) for basis, text in PREDICTED_FROM.items() if basis in found]
    return FleetPast(
        sentence,
        notes,
        _score(rows, "this cluster's" if len(here) == 1 else "these clusters'"),
        _scores_table(rows) if rows else None,
        _misses(audited, tested, sum(row["differs"] + row["outside_bounds"] for _, row in rows), len(here) > 1),
        calendar,
    )


def _score(rows: Sequence[tuple[str, Row]], whose: str) -> str:
    """Return how often predictions would have been right, how many were not, and how many do not count."""
    if not rows:
        return ""
    of_whose = [f"{whose} last ", *[""] * (len(rows) - 1)]
    parts = [
        f"{count(row['equal'])} of {whole}{count(row['equal'] + row['differs'])} rebalances predicted from {basis}"
        f"{_in_parentheses(row)}"
        for whole, (basis, row) in zip(of_whose, rows, strict=True)
    ]
    missed = sum(row["differs"] + row["outside_bounds"] for _, row in rows)
    misses = f" {plural(missed, 'miss is', 'misses are')} listed:" if missed else ""
    return f"The predictor would have been right in {', and in '.join(parts)}.{misses}"


def _in_parentheses(row: Row) -> str:
    """Return how many predictions took partition counts from the assignment, and how many generations had none.

    >>> of_basis = Row("equal", "known", "not_predictable", "inputs_incomplete")
    >>> _in_parentheses(of_basis(9, 8, 2, 1))
    ' (1 with partition counts taken from the assignment; not counted: 2 not predictable and 1 with incomplete inputs)'
    """
    kinds = (("not_predictable", "not predictable"), ("inputs_incomplete", "with incomplete inputs"))
    left_out = [f"{count(row[name])} {what}" for name, what in kinds if row[name]]
    from_answer = row["equal"] - row["known"]
    notes = [f"{count(from_answer)} with partition counts taken from the assignment"] if from_answer else []
    notes += [f"not counted: {enumerated(left_out)}"] if left_out else []
    return f" ({'; '.join(notes)})" if notes else ""


def _scores_table(rows: Sequence[tuple[str, Row]]) -> Table:
    head = columns(
        *(Column("predicted from"), "generations", "equal", ("different", "differs"), "not predictable"),
        *("outside bounds", "inputs incomplete", ("equal by known counts", "known")),
    )
    cells = [row.asDict() | {"predicted_from": text} for text, row in rows]
    note = (
        "Equal by known counts: other generations show how many partitions each topic had. For the others, that number "
        "is taken from the assignment itself."
    )
    return Table.of("Predictions of past generations, compared with their assignments", head, cells, note)


def _misses(audited: AuditedRun, tested: DataFrame, number: int, has_clusters: bool) -> Table | None:
    """Return the first predictions that were wrong; None if there are none."""
    if not number:
        return None
    order = ("basis", "cluster", "group_id", "recreated", "generation")
    rows = tested.where(_MISS).orderBy(*order).limit(SHOWN_MISSES).collect()
    past = audited.history_run
    head = columns(
        *(("cluster", GROUP) if has_clusters else (GROUP,)),
        *("generation", Column("predicted from"), ("rules", "strategy"), "members", Column("difference")),
        *([Column("see why", CellType.COMMAND)] if past else []),
    )
    cells = [
        row.asDict()
        | {
            "predicted_from": PREDICTED_FROM[row["basis"]],
            "difference": _difference(row),
            "see_why": miss_command(row, past) if past and row["miss"] is not None else None,
        }
        for row in rows
    ]
    more = number - len(rows)
    rest = f"{count(more)} more: the rows of backtest whose result is differs, or whose within_bounds is false."
    return Table.of("Assigned differently from the prediction", head, cells, rest if more else "")


def _difference(row: Row) -> str:
    if row["result"] != DIFFERS:
        return "partitions per member are outside the bounds"
    text, first = f"{count(row['differing'])} of {plural(row['partitions'], 'partition')}", row["first_differing"]
    if first is None:
        return text
    owners = [first[name] or "no member" for name in ("assigned_to", "predicted")]
    return f"{text}, such as {first['topic']}-{first['partition']}: assigned to {owners[0]}, predicted for {owners[1]}"


def _calendar(generations: DataFrame) -> LaneTable | None:
    """Return how many generations each hour had, a lane for each date; None if no time is known."""
    rebalances = generations.where(~F.col("rewritten")).select(F.expr(AT).alias("at"))
    known = rebalances.where((F.col("at") >= 0) & (F.col("at") < _LAST_MS))
    by_hour = known.groupBy(F.expr(f"at div {HOUR_MS}").alias("hour")).count()
    last = by_hour.agg(F.max("hour")).collect()[0][0]
    if last is None:
        return None
    first_shown = (last // 24 - SHOWN_DATES + 1) * 24
    shown = F.when(F.col("hour") >= first_shown, F.col("hour"))
    rows = by_hour.groupBy(shown.alias("hour")).agg(F.sum("count").alias("rebalances")).collect()
    numbers = Counter({row["hour"]: row["rebalances"] for row in rows})
    before = numbers.pop(None, 0)
    most = max(numbers.values())
    dates = range(min(numbers) // 24, last // 24 + 1)
    note = f"The bars are as high as the rebalances that completed in an hour; the highest has {count(most)}."
    if before:
        note += f" {plural(before, 'rebalance')} before {_date(dates[0])} are not shown: the table generations has all."
    return LaneTable(
        "When groups rebalanced: hours of each date, in UTC",
        ("date", "hours from 0 to 24", "how many"),
        tuple((round(100 * hour / 24, 2), str(hour)) for hour in range(0, 25, 6)),
        tuple(_lane_of_date(date, numbers, most) for date in dates),
        note,
    )


def _lane_of_date(date: int, numbers: Counter[int], most: int) -> Lane:
    hours = [numbers[24 * date + hour] for hour in range(24)]
    bars = []
    for hour, number in enumerate(hours):
        left, right = (round(UNITS * place / 24) for place in (hour, hour + 1))
        if number:
            height = -(-10 * number // most)
            bars.append(f"M{left} {10 - height}h{right - left - 4}v{height}h-{right - left - 4}z")
    busiest = max(range(24), key=lambda hour: hours[hour])
    text = plural(sum(hours), "rebalance")
    if sum(hours):
        text += f", most from {busiest} to {busiest + 1} ({count(hours[busiest])})"
    return Lane(_date(date), (("rebalances", "".join(bars)),) if bars else (), text)


def _date(number: int) -> str:
    return f"{datetime.fromtimestamp(number * _DAY_MS // 1000, UTC):%Y-%m-%d}"
