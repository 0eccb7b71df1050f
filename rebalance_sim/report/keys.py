"""The sections about producers: hot partitions, heavy keys, and keys that more partitions would move."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.engine.runs.finished_runs import FinishedRun
from rebalance_sim.report.charts import bars, both, stacked_bars
from rebalance_sim.report.colours import PLACEHOLDERS
from rebalance_sim.report.page import Block, CellType, Chart, Check, Column, Level, RunResults, Table, columns, names
from rebalance_sim.report.text import count, label, share
from rebalance_sim.tables import KEY_FINDINGS, PARTITION_GROWTH, PARTITION_LOAD, TOPICS_AT_RISK
from rebalance_sim.wording import key_text, plural, plural_of

SKEW, GROWTH = "skew", "growth"
SHOWN_TOPICS = 12
SHOWN_PARTITIONS = 40
"""Partitions shown of the topic with the hottest one."""
SHOWN_FINDINGS = 40
HOT = 2
"""Multiple of a balanced share from which on a partition is a warning."""
_OF = ("client", "cluster", "topic")
_KEY, _OTHERS = "heaviest key", "other keys"


def hottest(partition_load: DataFrame) -> DataFrame:
    """Return the hottest partition of each topic and client library, hottest first."""
    figures = ("partition", "records", "share", "imbalance")
    of_one = F.struct(*figures, F.try_element_at("heaviest_keys", F.lit(1)).alias("key"))
    return (
        partition_load.groupBy(*_OF)
        .agg(
            F.count("*").alias("partitions"),
            F.max_by(of_one, F.struct(F.col("imbalance"), -F.col("partition"))).alias("hottest"),
        )
        .select(*_OF, "partitions", "hottest.*")
        .orderBy(F.desc("imbalance"), *_OF)
    )


def partitions_of(partition_load: DataFrame, topic: Row) -> DataFrame:
    """Return the partitions of one topic and client library, hottest first."""
    matches = [F.col(name).eqNullSafe(F.lit(topic[name])) for name in _OF]
    first = F.try_element_at("heaviest_keys", F.lit(1))["records"]
    return (
        partition_load.where(matches[0] & matches[1] & matches[2])
        .select("partition", "records", "imbalance", F.coalesce(first, F.lit(0)).alias("of_the_key"))
        .orderBy(F.desc("imbalance"), "partition")
    )


def skew(run: FinishedRun) -> RunResults:
    """Return the blocks and checks of one run about hot partitions and keys."""
    if not run.rows(PARTITION_LOAD):
        return RunResults()
    load = run.table(PARTITION_LOAD)
    topics = hottest(load.where("imbalance IS NOT NULL")).limit(SHOWN_TOPICS).collect()
    odd = run.table(KEY_FINDINGS) if run.rows(KEY_FINDINGS) else None
    blocks: list[Block] = []
    checks: list[Check] = []
    if topics:
        blocks += [_hottest_chart(topics), _partitions_chart(topics[0], partitions_of(load, topics[0]))]
        worst = topics[0]
        level = Level.WARNING if worst["imbalance"] >= HOT else Level.OK
        what = f"the balanced share in partition {worst['partition']} of topic {label(worst['topic'])}{_because(worst)}"
        where = (worst["cluster"], worst["topic"])
        checks.append(Check(level, f"{worst['imbalance']:.1f} ×", what, SKEW, where))
    if odd is not None:
        found = odd.orderBy(F.desc_nulls_last("records"), *_OF, "finding").limit(SHOWN_FINDINGS).collect()
        caption = f"Findings about keys ({len(found):,} of {run.rows(KEY_FINDINGS):,})"
        blocks.append(Table.of(caption, columns(*_OF, ("finding", "description")), found))
        first = found[0]
        what = plural_of(run.rows(KEY_FINDINGS), "finding", "findings") + " about keys"
        where = (first["cluster"], first["topic"])
        checks.append(Check(Level.WARNING, count(run.rows(KEY_FINDINGS)), what, SKEW, where, many=True))
    if run.rows(TOPICS_AT_RISK):
        blocks.append(_at_risk(run.table(TOPICS_AT_RISK)))
        checks += _risk_checks(run.table(TOPICS_AT_RISK))
    return RunResults(tuple(blocks), tuple(checks))


def _because(worst: Row) -> str:
    """Return which key makes a partition hot, to be added to a sentence."""
    key = worst["key"]
    if not key or not worst["records"]:
        return ""
    return f": key {label(key_text(key['key']))} has {share(key['records'], worst['records'])} of its records"


def _hottest_chart(topics: Sequence[Row]) -> Chart:
    rows = [
        {
            "label": label(row["topic"], str(row["partition"]), row["client"]),
            "value": row["imbalance"],
            "text": f"{row['imbalance']:.2f}",
            "colour": PLACEHOLDERS["second" if row["imbalance"] >= HOT else "plain"],
        }
        for row in topics
    ]
    head = columns(
        *("topic", "client", "cluster", ("hottest partition", "partition"), "partitions", "records"),
        *(
            ("share of bytes", "share"),
            "imbalance",
            Column("heaviest key", CellType.NAME),
            ("its records", "key.records"),
        ),
    )
    shown = [row.asDict() | {"heaviest_key": _key(row["key"] and row["key"]["key"])} for row in topics]
    worst = topics[0]
    return Chart(
        "skew-topics",
        f"Partition {worst['partition']} of {label(worst['topic'])}: {worst['imbalance']:.1f} times its balanced share",
        "The hottest partition of each topic and client library, as a multiple of its balanced share. The dashed line "
        "is the balanced share.",
        **both(bars, rows, "multiple of the balanced share of the topic's bytes", reference=1),
        data=Table.of("Hottest partitions", head, shown),
    )


def _partitions_chart(topic: Row, partitions: DataFrame) -> Chart:
    hot = partitions.limit(SHOWN_PARTITIONS).collect()
    in_order = sorted(hot, key=lambda row: row["partition"])
    parts = [
        {"label": str(row["partition"]), "part": part, "value": records}
        for row in in_order
        for part, records in ((_KEY, row["of_the_key"]), (_OTHERS, row["records"] - row["of_the_key"]))
    ]
    colours = {_KEY: PLACEHOLDERS["second"], _OTHERS: PLACEHOLDERS["rest"]}
    worst = hot[0]
    part = share(worst["of_the_key"], worst["records"])
    head = columns("partition", "records", ("of the heaviest key", "of_the_key"), "imbalance")
    shown_part = (
        "" if topic["partitions"] <= len(hot) else f" Its {len(hot)} hottest of {topic['partitions']:,} are shown."
    )
    return Chart(
        "skew-partitions",
        f"{label(topic['topic'])}, {label(topic['client'])}: one key has {part} of partition {worst['partition']}",
        "Records by partition of the topic with the hottest partition, and those with each partition's heaviest key."
        + shown_part,
        **both(stacked_bars, parts, colours, "records, by partition"),
        data=Table.of("Records by partition", head, in_order),
    )


def _at_risk(topics: DataFrame) -> Table:
    order = (F.desc("keys_split"), F.desc("keys_conflicting"), "cluster", "topic")
    rows = topics.orderBy(*order).limit(SHOWN_FINDINGS).collect()
    numbers = {"conflicting": "keys_conflicting", "shared by clients": "keys_shared", "split": "keys_split"}
    records = ("records of split keys", "records_split")
    head = columns("cluster", "topic", *names("clients"), "keys", *numbers.items(), records)
    shown = [row.asDict() | {"clients": ", ".join(row["clients"])} for row in rows]
    return Table.of("Topics whose client libraries place keys differently", head, shown)


def _risk_checks(topics: DataFrame) -> Iterator[Check]:
    found = topics.agg(
        F.sum("keys_split").alias("keys"),
        F.count_if(F.col("keys_split") > 0).alias("topics"),
        F.max_by(F.struct("cluster", "topic"), F.struct("keys_split", "cluster", "topic")).alias("first"),
    ).first()
    if found and found["keys"]:
        what = plural_of(found["keys"], "key is", "keys are") + " split across partitions: clients that write topic "
        what += f"{label(found['first']['topic'])} hash keys differently"
        yield Check(Level.ERROR, count(found["keys"]), what, SKEW, tuple(found["first"]), many=found["topics"] > 1)


def growth(run: FinishedRun) -> RunResults:
    """Return the blocks and checks of one run about keys that move when topics grow."""
    if not run.rows(PARTITION_GROWTH):
        return RunResults()
    table = run.table(PARTITION_GROWTH).where("partitions <> partitions_after")
    most = table.orderBy(F.desc("keys_moved"), *_OF).limit(SHOWN_TOPICS).collect()
    if not most:
        return RunResults(("No topic of this run changes its number of partitions.",))
    rows = [
        {
            "label": label(row["topic"], row["client"]),
            "value": row["keys_moved_share"] or 0,
            "text": f"{share(row['keys_moved'], row['keys'])}, {row['partitions']:,} to {row['partitions_after']:,}",
            "short": share(row["keys_moved"], row["keys"]),
            "colour": PLACEHOLDERS["plain"],
        }
        for row in most
    ]
    head = columns(
        *(*_OF, "partitions", ("new partitions", "partitions_after"), "keys", "keys moved", "records"),
        *("records moved", "imbalance", ("new imbalance", "imbalance_after")),
    )
    first = most[0]
    what = f"of {plural(first['keys'], 'key')} would move with {first['partitions_after']:,} partitions"
    moved = share(first["keys_moved"], first["keys"])
    chart = Chart(
        "growth",
        f"{moved} of the keys of {label(first['topic'])} would move with {first['partitions_after']:,} partitions",
        "Share of a topic's distinct keys that would go to another partition. Existing records are not moved.",
        **both(bars, rows, "share of the keys that would move", ticks="%"),
        data=Table.of("Keys and records that would move", head, most),
    )
    check = Check(Level.WARNING, count(first["keys_moved"]), what, GROWTH, (first["cluster"], first["topic"]))
    return RunResults((chart,), (check,))


def _key(key: bytes | None) -> str | None:
    return None if key is None else key_text(key)
