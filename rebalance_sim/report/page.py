"""What a page is made of: sections of parts, with charts and tables of small rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

Cell = Any
"""A value of a table's row: text, a number, or None where there is none."""


class Kind(Enum):
    """What the values of a column are, which says how they are shown."""

    TEXT = "text"
    NAME = "name"
    """A name that the fleet has given: any text at all."""
    COUNT = "count"
    DECIMAL = "decimal"
    SHARE = "share"
    """Of 1, shown in per cent."""
    SECONDS = "seconds"
    """Given in milliseconds."""

    @property
    def is_number(self) -> bool:
        """Whether values stand at the right of their column."""
        return self not in (Kind.TEXT, Kind.NAME)


@dataclass(frozen=True)
class Column:
    """A column of a table."""

    title: str
    kind: Kind = Kind.TEXT


CLUSTER, GROUP, STRATEGY = Column("cluster", Kind.NAME), Column("group", Kind.NAME), Column("strategy", Kind.NAME)
TOPIC, CLIENT = Column("topic", Kind.NAME), Column("client", Kind.NAME)


def counts(*titles: str) -> tuple[Column, ...]:
    """Make columns of counts."""
    return tuple(Column(title, Kind.COUNT) for title in titles)


@dataclass(frozen=True)
class Table:
    """A table of few rows, each with a cell for every column."""

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    folded: bool = False
    """Whether it is only seen when it is asked for."""


@dataclass(frozen=True)
class Chart:
    """A chart: a Vega-Lite specification for a wide and for a narrow page, and what it shows in words and rows."""

    name: str
    title: str
    told: str
    wide: dict[str, Any]
    narrow: dict[str, Any]
    data: Table


Block = Chart | Table | str
"""What a part is made of; a text is a paragraph."""


@dataclass(frozen=True)
class Part:
    """What a section says of one run, or of several of which it says the same."""

    runs: tuple[str, ...]
    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    title: str
    about: str
    parts: tuple[Part, ...]


class Level(Enum):
    """How much something matters; what matters most comes first."""

    WRONG = "wrong"
    LOOK = "look"
    FINE = "fine"


@dataclass(frozen=True)
class Check:
    """One thing that was looked at: how often it was found, and where most."""

    level: Level
    number: str
    what: str
    section: str
    where: tuple[str, ...] = ()
    """Names that lead to it, such as cluster and group."""
    many: bool = False
    """Whether it is in other places, too."""
    run: str = ""


@dataclass(frozen=True)
class Findings:
    """What a topic of the page has found in one run."""

    blocks: tuple[Block, ...] = ()
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True)
class Page:
    """The whole page."""

    title: str
    sections: tuple[Section, ...]
    checks: tuple[Check, ...] = field(default=())


def same_told_once(parts: Sequence[Part]) -> tuple[Part, ...]:
    """Put parts together that say the same of different runs."""
    kept: list[Part] = []
    for part in parts:
        for place, earlier in enumerate(kept):
            if earlier.blocks == part.blocks:
                kept[place] = replace(earlier, runs=(*earlier.runs, *part.runs))
                break
        else:
            kept.append(part)
    return tuple(kept)


def numbered(sections: Sequence[Section]) -> tuple[Section, ...]:
    """Number the charts whose name an earlier one has."""
    seen: Counter[str] = Counter()

    def named(block: Block) -> Block:
        if not isinstance(block, Chart):
            return block
        seen[block.name] += 1
        return block if seen[block.name] == 1 else replace(block, name=f"{block.name}-{seen[block.name]}")

    return tuple(
        replace(
            section,
            parts=tuple(replace(part, blocks=tuple(map(named, part.blocks))) for part in section.parts),
        )
        for section in sections
    )
