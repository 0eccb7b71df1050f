"""The content of a page: sections of parts, with charts and small tables."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import DataType

from rebalance_sim.tables import DOUBLE, INPUTS, INT, LONG, OUTPUTS, STRING

Cell = Any
"""A value in a table: text, a number, or None if it is missing."""


class CellType(Enum):
    """The type of the values in a column, which determines how they are shown."""

    TEXT = "text"
    NAME = "name"
    """A name from the fleet, which may contain any characters."""
    COMMAND = "command"
    """A command to copy: it is never cut."""
    COUNT = "count"
    DECIMAL = "decimal"
    SHARE = "share"
    """A fraction, shown in per cent."""
    SECONDS = "seconds"
    """Milliseconds, shown in seconds."""

    @property
    def is_number(self) -> bool:
        """Return whether values are numbers, which are aligned right."""
        return self not in (CellType.TEXT, CellType.NAME, CellType.COMMAND)


@dataclass(frozen=True)
class Column:
    """A column of a table on the page."""

    title: str
    type: CellType = CellType.TEXT
    field: str = ""
    """The name of its values in the rows of a query; if empty, the title with underscores."""

    def value(self, row: Mapping[str, Cell] | Row) -> Cell:
        """Return the value of a row of a query; dots in the name of the field lead into structs, which may be null."""
        found: Cell = row
        for name in (self.field or self.title.replace(" ", "_")).split("."):
            found = None if found is None else found[name]
        return found


MANY_GROUPS = 100
"""Number of groups from which on their distribution is drawn; fewer are listed one by one."""
_NAMES = ("cluster", "group_id", "strategy", "topic", "client", "protocol", "elected", "table")
"""Columns whose values are names from the fleet."""


def _of_type(*types: DataType) -> set[str]:
    """Return the names of the columns of all tables that have one of these types."""
    tables = (*INPUTS.values(), *OUTPUTS.values())
    return {column.name for table in tables for column in table.columns if column.type in types}


_TEXTS, _DECIMALS = _of_type(STRING), _of_type(DOUBLE) - _of_type(INT, LONG)


def _cell_type(field: str) -> CellType:
    """Return the type of a column by its name, as the tables have it; aggregates with other names are counts."""
    name = field.rpartition(".")[2]
    if "_ms" in field:
        return CellType.SECONDS
    if name.endswith("share"):
        return CellType.SHARE
    if name in _TEXTS:
        return CellType.NAME if name in _NAMES else CellType.TEXT
    return CellType.DECIMAL if name in _DECIMALS else CellType.COUNT


def columns(*titles: str | tuple[str, str] | Column, of: CellType | None = None) -> tuple[Column, ...]:
    """Return columns of a query, each given by its title or by title and field; unless given, its name has the type.

    >>> [column.type.value for column in columns("strategy", ("most", "worst.max_lag"), ("mean s", "each_ms.mean"))]
    ['name', 'count', 'seconds']
    """
    return tuple(title if isinstance(title, Column) else _column(title, of) for title in titles)


def names(*titles: str | tuple[str, str]) -> tuple[Column, ...]:
    """Return columns of names from the fleet that no table has, each given by its title or by title and field."""
    return columns(*titles, of=CellType.NAME)


def _column(named: str | tuple[str, str], of: CellType | None) -> Column:
    title, field = named if isinstance(named, tuple) else (named, named.replace(" ", "_"))
    return Column(title, of or _cell_type(field), field)


GROUP = ("group", "group_id")


@dataclass(frozen=True)
class Table:
    """A table with few rows, each with one cell per column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False
    """Whether the reader has to expand it."""

    @classmethod
    def of(
        cls, caption: str, columns: tuple[Column, ...], rows: Iterable[Mapping[str, Cell] | Row], note: str = ""
    ) -> "Table":
        """Return the rows of a query as a table."""
        return cls(caption, columns, tuple(tuple(column.value(row) for column in columns) for row in rows), note)


@dataclass(frozen=True)
class Chart:
    """A chart: Vega-Lite specifications for a wide and a narrow page, a description, and the data as a table."""

    name: str
    title: str
    description: str
    wide: dict[str, Any]
    narrow: dict[str, Any]
    data: Table


@dataclass(frozen=True)
class Lane:
    """The states of one member, or of the group, as a path for each state."""

    name: str | None
    """None for the group."""
    paths: tuple[tuple[str, str], ...]
    text: str
    """How long the lane is in which state."""


@dataclass(frozen=True)
class Alternative:
    """What happens under one setting."""

    title: str
    note: str
    """Its costs."""
    lanes: tuple[Lane, ...]


@dataclass(frozen=True)
class Rollout:
    """What happens to a group under several settings."""

    caption: str
    group: str
    ticks: tuple[tuple[float, str], ...]
    """Positions on the axis in per cent, with labels."""
    alternatives: tuple[Alternative, ...]
    note: str = ""


@dataclass(frozen=True)
class LaneTable:
    """Lanes one below the other on one axis, each with a name and what it shows in words."""

    caption: str
    columns: tuple[str, str, str]
    """Titles of the names, of the axis, and of the words."""
    ticks: tuple[tuple[float, str], ...]
    """Positions on the axis in per cent, with labels."""
    lanes: tuple[Lane, ...]
    note: str = ""


Block = Chart | Table | Rollout | str
"""A component of a part; a string is a paragraph."""


@dataclass(frozen=True)
class Part:
    """The blocks of a section for one run, or for several runs with equal blocks."""

    runs: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    title: str
    about: str
    parts: tuple[Part, ...]
    hypothetical: bool = False
    """Whether it is about hypothetical scenarios, and not about the present state."""


class Level(Enum):
    """The severity of a check's result, most severe first."""

    ERROR = "error"
    WARNING = "warning"
    OK = "ok"


@dataclass(frozen=True)
class Check:
    """The result of one check: a number, a sentence that continues it, and an example."""

    level: Level
    number: str
    what: str
    section: str
    where: tuple[str, ...] = ()
    """Names that identify an example, such as cluster and group."""
    many: bool = False
    """Whether there are more than this example."""
    run: str = ""
    findings: int = 1
    """How many findings it stands for."""


@dataclass(frozen=True)
class RunResults:
    """What a section shows of one run, and the results of its checks."""

    blocks: tuple[Block, ...] = ()
    checks: tuple[Check, ...] = ()


def merge_equal_parts(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Merge the parts of different runs if their blocks are equal."""
    kept: list[Part] = []
    for part in parts:
        for place, earlier in enumerate(kept):
            if earlier.blocks == part.blocks:
                kept[place] = replace(earlier, runs=(*earlier.runs, *part.runs))
                break
        else:
            kept.append(part)
    return tuple(kept)


def number_charts(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Number the charts that have the same name as an earlier one."""
    seen: Counter[str] = Counter()

    def named(block: Block) -> Block:
        if not isinstance(block, Chart):
            return block
        seen[block.name] += 1
        return block if seen[block.name] == 1 else replace(block, name=f"{block.name}-{seen[block.name]}")

    return tuple(
        replace(section, parts=tuple(replace(part, blocks=tuple(map(named, part.blocks))) for part in section.parts))
        for section in sections
    )
