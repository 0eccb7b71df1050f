"""What ``--dry-run`` prints."""

from argparse import Namespace
from collections.abc import Iterable, Mapping

from pyspark.sql.types import DataType

from rebalance_sim.commands.configuration import DEFAULT
from rebalance_sim.commands.summary import columns
from rebalance_sim.engine.planned_runs import DryRun, Input
from rebalance_sim.engine.run_folders import RECORD
from rebalance_sim.tables import Column
from rebalance_sim.versions import kafka_version

_LONGEST = 4096
"""Paths are told as they are."""


def plan(run: DryRun, options: Namespace) -> list[str]:
    """Lay out inputs, steps, outputs and options of a job that writes tables."""
    would = [
        *(line for given in run.inputs for line in _input(given)),
        *(["  (no row has been looked at: also what only some rows need is told)"] if run.inputs else []),
        *_version(options),
        *(f"  - {step}" for step in run.steps),
    ]
    return laid_out(run, options, would, run.counts.get("out", {}), f" as {run.output_format}")


def laid_out(run: DryRun, options: Namespace, would: Iterable[str], outputs: Iterable[str], how: str = "") -> list[str]:
    """Lay out what a job would do, the outputs that it would write, and its options."""
    return [
        f"{run.job} would",
        *would,
        f"and write{how} into {run.out} ({'replaces what is there' if run.replaces else 'nothing finished is there'})",
        *(f"  {name}" for name in outputs),
        f"  {RECORD}",
        *(f"assuming: {assumption}" for assumption in run.assumptions),
        "options",
        *_options(run.options, options.sources),
    ]


def _input(given: Input) -> list[str]:
    """Tell the columns of a table that are used, those that are made up for, and those that are not used."""
    types = {field.name: field.dataType for field in given.schema}
    used = [_used(column, types[column.name]) for column in given.table.columns if column.name in types]
    missing = [f"{column.name} {_default(column)}" for column in given.table.columns if column.name not in types]
    other = [name for name in types if name not in given.table.names]
    told = {"columns": used, "not there, taken as": missing, "not used": other}
    return [
        f"  read {given.table.name} from {given.path} ({given.source})",
        *(f"      {what}: {', '.join(names)}" for what, names in told.items() if names),
    ]


def _used(column: Column, given: DataType) -> str:
    wanted = column.type.simpleString()
    return f"{column.name} {given.simpleString()}" + ("" if given == column.type else f" (as {wanted})")


def _default(column: Column) -> str:
    return "null" if column.default is None else repr(column.default)


def _version(options: Namespace) -> list[str]:
    if "kafka_version" not in options:
        return []
    rules = kafka_version(options.kafka_version)
    return [f"  go by the rules of Kafka {options.kafka_version}, whose assignors are {', '.join(rules.assignors)}"]


def _options(values: Mapping[str, object], sources: Mapping[str, str]) -> list[str]:
    """Lay out the options with where they come from: first what was chosen, then the defaults."""
    rows = [
        (name.replace("_", "-"), _shown(value), sources[name])
        for name, value in sorted(values.items(), key=lambda item: sources[item[0]] == DEFAULT)
    ]
    return columns(("option", "value", "from"), rows, _LONGEST)


def _shown(value: object) -> str:
    """Show a value as files have it."""
    return "-" if value is None or value == "" else str(value).lower() if isinstance(value, bool) else str(value)
