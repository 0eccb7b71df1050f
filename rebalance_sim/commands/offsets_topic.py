"""``fleet --offsets-topic``: the input tables from ``__consumer_offsets``."""

from argparse import Namespace
from collections import Counter
from collections.abc import Mapping

from pyspark.sql import DataFrame

from rebalance_sim.commands.rejects import write_rejects
from rebalance_sim.commands.summary import columns, print_summary, summarise_run
from rebalance_sim.engine.inputs import format_of
from rebalance_sim.engine.runs import Run
from rebalance_sim.sources.offsets_topic import RECORD, REJECTED, SUPERSEDED, USED, OffsetsTopic
from rebalance_sim.sources.offsets_topic_dump import read_where
from rebalance_sim.tables import INPUTS, MEMBERS, OFFSETS, OUTPUTS, TOPICS


def run_offsets_topic(run: Run, options: Namespace, properties: Mapping[str, str]) -> None:
    """Make topics, members and offsets; each record is decoded once."""

    def stage(decoded: DataFrame) -> DataFrame:
        run.begin([*INPUTS, *OUTPUTS])
        run.tell("decoding the records")
        return run.stage(decoded)

    told = read_where(
        run.spark,
        options.offsets_topic,
        properties=properties,
        topics=_topics(run, options.topics),
        protocols=options.protocols.split(",") if options.protocols else None,
        cluster=options.cluster,
        stage=stage,
    )
    run.assumptions = told.assumptions
    tables = {TOPICS.name: told.topics, MEMBERS.name: told.members, OFFSETS.name: told.offsets}
    for name, rows in tables.items():
        run.write(name, rows)
    _count(run, told, write_rejects(run, told.rejects, options.on_bad_input))
    run.finish()
    written = ", ".join(f"{run.counts['out'][name]:,} {name}" for name in tables)
    print_summary([f"made {written}", *_summarise_records(told.records), *summarise_run(run)])


def _topics(run: Run, path: str | None) -> DataFrame | None:
    return None if path is None else run.read(TOPICS, path, format_of(path, "parquet"))


def _count(run: Run, told: OffsetsTopic, rejected: Counter[str]) -> None:
    """Put records and members on record: each is used or rejected."""
    given = sum(sum(of_type.values()) for of_type in told.records.values())
    kept = sum(sum(of_type.values()) - of_type.get(REJECTED, 0) for of_type in told.records.values())
    run.count_rows(RECORD, given, kept, rejected[RECORD])
    run.count_rows(MEMBERS.name, told.members_given, run.counts["out"][MEMBERS.name], rejected[MEMBERS.name])
    run.counts["records"] = told.records


def _summarise_records(records: dict[str, dict[str, int]]) -> list[str]:
    """Lay out how many records there are of each type and status."""
    if not records:
        return []
    there = {status for of_type in records.values() for status in of_type}
    statuses = [*(each for each in (USED, SUPERSEDED) if each in there), *sorted(there - {USED, SUPERSEDED})]
    rows = [
        (name, *(f"{of_type[status]:,}" if status in of_type else "" for status in statuses))
        for name, of_type in records.items()
    ]
    return ["", *columns(("record", *statuses), rows)]
