"""The section about elections: elected protocols, ties, and groups that elect none."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.engine.tables.inputs import kind_of_reason
from rebalance_sim.report.charts import bars, both
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.groups import check_of, problems_by_kind, problems_table
from rebalance_sim.report.page import GROUP, Block, Chart, Check, Column, Level, RunResults, Table, columns
from rebalance_sim.report.text import count, label
from rebalance_sim.tables import ELECTIONS
from rebalance_sim.wording import plural, plural_of

NAME = "elections"
SHOWN_TIES = 15
SHOWN_ERRORS = 20
SHOWN_PROTOCOLS = 15
_OF_A_MEMBER = "a member: "


def by_protocol(elections: DataFrame) -> DataFrame:
    """Count groups and ties by elected protocol, which is null for groups with an error."""
    return (
        elections.groupBy("protocol")
        .agg(F.count("*").alias("groups"), F.count_if("tie").alias("ties"), F.sum("members").alias("members"))
        .orderBy(F.desc("groups"), "protocol")
    )


def errors(elections: DataFrame) -> DataFrame:
    """Count the reasons why groups elect nothing or members are refused, each with its first group."""
    whole = elections.where("error IS NOT NULL").select("cluster", "group_id", kind_of_reason("error").alias("kind"))
    refused = elections.select("cluster", "group_id", F.explode("refused").alias("member"))
    refused = refused.select("cluster", "group_id", F.concat(F.lit(_OF_A_MEMBER), "member.error").alias("kind"))
    return problems_by_kind(whole.unionByName(refused))


def ties(elections: DataFrame) -> DataFrame:
    """Return the groups with a tie, largest first."""
    return elections.where("tie").orderBy(F.desc("members"), "cluster", "group_id")


def results(run: FinishedRun, colours: StrategyColours) -> RunResults:
    """Return the blocks and checks of one run."""
    if not run.rows(ELECTIONS):
        return RunResults()
    elections = run.table(ELECTIONS)
    protocols = by_protocol(elections).collect()
    failed = errors(elections).limit(SHOWN_ERRORS).collect()
    tied = ties(elections).limit(SHOWN_TIES).collect()
    groups = sum(row["groups"] for row in protocols)
    elected = [row for row in protocols if row["protocol"] is not None]
    none = sum(row["groups"] for row in protocols if row["protocol"] is None)
    ties_in_all = sum(row["ties"] for row in protocols)

    blocks: list[Block] = []
    if elected:
        blocks.append(_protocols(elected[:SHOWN_PROTOCOLS], groups, colours))
    if tied:
        head = columns("cluster", GROUP, "members", ("elected", "protocol"), Column("votes"))
        rows = [row.asDict() | {"votes": _votes(row["votes"])} for row in tied]
        caption = f"Groups with a tie, largest first ({len(tied):,} of {count(ties_in_all)})"
        note = "Hash order decides, so another Kafka version may elect another protocol."
        blocks.append(Table.of(caption, head, rows, note))
    if failed:
        blocks.append(problems_table("Groups that elect nothing, and refused members", ("reason", "times"), failed))
    return RunResults(tuple(blocks), tuple(_checks(groups, none, ties_in_all, failed, tied)))


def _protocols(elected: Sequence[Row], groups: int, colours: StrategyColours) -> Chart:
    rows = [
        {
            "label": label(row["protocol"]),
            "value": row["groups"],
            "text": count(row["groups"]) + (f", {plural(row['ties'], 'tie')}" if row["ties"] else ""),
            "short": count(row["groups"]),
            "colour": colours[row["protocol"]],
        }
        for row in elected
    ]
    first = elected[0]
    return Chart(
        "elections",
        f"Most elected: {label(first['protocol'])}, by {count(first['groups'])} of {plural(groups, 'group')}",
        "Groups and ties by elected protocol.",
        **both(bars, rows, "groups"),
        data=Table.of("Groups by protocol", columns("protocol", "groups", "ties", "members"), elected),
    )


def _checks(groups: int, none: int, ties_in_all: int, failed: Sequence[Row], tied: Sequence[Row]) -> Iterator[Check]:
    whole = [row for row in failed if not row["kind"].startswith(_OF_A_MEMBER)]
    what = plural_of(none, "group elects", "groups elect") + " nothing"
    yield check_of(Level.ERROR, none, what, NAME, whole[0] if whole else None)
    what = f"of {plural(groups, 'election')} decided by hash order after a tie"
    yield check_of(Level.WARNING, ties_in_all, what, NAME, tied[0] if tied else None)
    refused = [row for row in failed if row["kind"].startswith(_OF_A_MEMBER)]
    if refused:
        times = sum(row["times"] for row in refused)
        what = plural_of(times, "member") + " refused by the coordinator"
        yield check_of(Level.ERROR, times, what, NAME, refused[0])


def _votes(votes: dict[str, int]) -> str:
    return ", ".join(f"{label(name)} {n:,}" for name, n in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])))
