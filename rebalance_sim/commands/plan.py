"""The plan that ``--dry-run`` prints."""

from argparse import Namespace
from collections.abc import Iterable, Mapping

from pyspark.sql.types import DataType

from rebalance_sim.commands.configuration import DEFAULT
from rebalance_sim.commands.console import Line, Table
from rebalance_sim.engine.runs.assumed import grouped_lines
from rebalance_sim.engine.runs.planned_runs import DryRun, Input
from rebalance_sim.engine.runs.run_files import RECORD
from rebalance_sim.releases import kafka_version
from rebalance_sim.tables import Column


def plan(run: DryRun, options: Namespace) -> list[Line]:
    """Return inputs, rules, steps, outputs and options of a job that writes tables."""
    inputs = [line for given in run.inputs for line in _input(given)]
    inputs += ["  (columns checked; no rows read)"] if inputs else []
    rules = []
    if "kafka_version" in options:
        assignors = ", ".join(kafka_version(options.kafka_version).assignors)
        rules = [f"rules: Kafka {options.kafka_version} (assignors: {assignors})"]
    steps = ["steps", *(f"  {step}" for step in run.steps)] if run.steps else []
    return plan_lines(run, options, [*inputs, *rules, *steps], run.counts.get("out", {}))


def plan_lines(run: DryRun, options: Namespace, work: Iterable[str], outputs: Iterable[str]) -> list[Line]:
    """Return the plan of a job: its work, the outputs that it would write, and its options."""
    replaced = "replaces the finished run there" if run.replaces else "no finished run there"
    return [
        f"dry run of {run.job}: nothing is written",
        "inputs",
        *work,
        f"outputs in {run.out} ({replaced})",
        *(f"  {name}" for name in outputs),
        f"  {RECORD}",
        *grouped_lines(run.assumptions),
        "options",
        _options(run.options, options.sources),
    ]


def _input(given: Input) -> list[str]:
    """Return the columns of a table that are used, replaced by defaults, and ignored."""
    types = {field.name: field.dataType for field in given.schema}
    used = [_used(column, types[column.name]) for column in given.table.columns if column.name in types]
    defaults = {column.name: column.default for column in given.table.columns if column.name not in types}
    missing = [f"{name} {'null' if default is None else repr(default)}" for name, default in defaults.items()]
    other = [name for name in types if name not in given.table.names]
    columns_by_use = {"columns": used, "missing, defaults used": missing, "ignored": other}
    return [
        f"  {given.table.name}: {given.path} ({given.source})",
        *(f"      {use}: {', '.join(names)}" for use, names in columns_by_use.items() if names),
    ]


def _used(column: Column, given: DataType) -> str:
    wanted = column.type.simpleString()
    return f"{column.name} {given.simpleString()}" + ("" if given == column.type else f" (as {wanted})")


def _options(values: Mapping[str, object], sources: Mapping[str, str]) -> Table:
    """Return the options with their sources: first those that were given, then the defaults."""
    rows = [
        (name.replace("_", "-"), _shown(value), sources[name])
        for name, value in sorted(values.items(), key=lambda item: sources[item[0]] == DEFAULT)
    ]
    return Table(("option", "value", "from"), rows)


def _shown(value: object) -> str:
    """Return a value as it is written in a file."""
    return "-" if value is None or value == "" else str(value).lower() if isinstance(value, bool) else str(value)
