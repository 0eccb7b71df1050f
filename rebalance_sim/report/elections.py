"""What a page says of elections: which protocols, how many ties, and where none is elected."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.finished_runs import FinishedRun
from rebalance_sim.engine.inputs import kind_of_reason
from rebalance_sim.report.charts import bars, both
from rebalance_sim.report.colours import StrategyColours
from rebalance_sim.report.page import CLUSTER, GROUP, Block, Chart, Check, Column, Findings, Kind, Level, Table, counts
from rebalance_sim.report.text import count, label, plural, plural_of
from rebalance_sim.tables import ELECTIONS

NAME = "elections"
SHOWN_TIES = 15
SHOWN_ERRORS = 20
SHOWN_PROTOCOLS = 15
_OF_A_MEMBER = "a member: "


def by_protocol(elections: DataFrame) -> DataFrame:
    """Count groups and ties by the protocol that is elected; those with an error have none."""
    return (
        elections.groupBy("protocol")
        .agg(F.count("*").alias("groups"), F.count_if("tie").alias("ties"), F.sum("members").alias("members"))
        .orderBy(F.desc("groups"), "protocol")
    )


def errors(elections: DataFrame) -> DataFrame:
    """Count by kind why nothing is elected, or why members are refused, each with the first group of its kind."""
    whole = elections.where("error IS NOT NULL").select("cluster", "group_id", kind_of_reason("error").alias("kind"))
    refused = elections.select("cluster", "group_id", F.explode("inadmissible").alias("member"))
    refused = refused.select("cluster", "group_id", F.concat(F.lit(_OF_A_MEMBER), "member.error").alias("kind"))
    return (
        whole.unionByName(refused)
        .groupBy("kind")
        .agg(F.count("*").alias("times"), F.min(F.struct("cluster", "group_id")).alias("first"))
        .orderBy(F.desc("times"), "kind")
    )


def ties(elections: DataFrame) -> DataFrame:
    """Put the ties of the largest groups first."""
    return elections.where("tie").orderBy(F.desc("members"), "cluster", "group_id")


def findings(run: FinishedRun, colours: StrategyColours) -> Findings:
    """Say what a run tells of elections."""
    if not run.rows(ELECTIONS):
        return Findings()
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
        shown = tuple(
            (row["cluster"], row["group_id"], row["members"], row["protocol"], _votes(row["votes"])) for row in tied
        )
        head = (CLUSTER, GROUP, *counts("members"), Column("elected", Kind.NAME), Column("votes"))
        note = "Hash order decides, so another version of Kafka may elect another protocol."
        blocks.append(Table(f"Ties: {len(tied):,} of {count(ties_in_all)}, largest groups first", head, shown, note))
    if failed:
        head = (Column("why"), *counts("times"), Column("first cluster", Kind.NAME), Column("first group", Kind.NAME))
        shown = tuple((row["kind"], row["times"], *row["first"]) for row in failed)
        blocks.append(Table("Groups that elect nothing, and members that are refused", head, shown))
    return Findings(tuple(blocks), tuple(_checks(groups, none, ties_in_all, failed, tied)))


def _protocols(elected: Sequence[Row], groups: int, colours: StrategyColours) -> Chart:
    rows = [
        {
            "label": label(row["protocol"]),
            "value": row["groups"],
            "text": count(row["groups"]) + (f", {count(row['ties'])} tied" if row["ties"] else ""),
            "short": count(row["groups"]),
            "colour": colours[row["protocol"]],
        }
        for row in elected
    ]
    first = elected[0]
    head = (Column("protocol", Kind.NAME), *counts("groups", "by a tie", "members"))
    return Chart(
        "elections",
        f"{label(first['protocol'])} is elected most: by {count(first['groups'])} of {plural(groups, 'group')}",
        "Groups by the protocol that they elect, and how many of them by a tie.",
        **both(bars(rows, "groups")),
        data=Table("Groups by protocol", head, tuple(tuple(row) for row in elected)),
    )


def _checks(groups: int, none: int, ties_in_all: int, failed: Sequence[Row], tied: Sequence[Row]) -> Iterator[Check]:
    whole = [row for row in failed if not row["kind"].startswith(_OF_A_MEMBER)]
    where = tuple(whole[0]["first"]) if whole else ()
    yield Check(
        Level.WRONG if none else Level.FINE, count(none), plural_of(none, "group elects", "groups elect") + " nothing",
        NAME, where, many=none > 1,
    )  # fmt: skip
    where = (tied[0]["cluster"], tied[0]["group_id"]) if tied else ()
    told = f"of {plural(groups, 'election')} decided by hash order after a tie"
    yield Check(Level.LOOK if ties_in_all else Level.FINE, count(ties_in_all), told, NAME, where, many=ties_in_all > 1)
    refused = [row for row in failed if row["kind"].startswith(_OF_A_MEMBER)]
    if refused:
        times = sum(row["times"] for row in refused)
        told = plural_of(times, "member is", "members are") + " refused by the coordinator"
        yield Check(Level.WRONG, count(times), told, NAME, tuple(refused[0]["first"]), many=times > 1)


def _votes(votes: dict[str, int]) -> str:
    return ", ".join(f"{label(name)} {n:,}" for name, n in sorted(votes.items(), key=lambda vote: (-vote[1], vote[0])))
