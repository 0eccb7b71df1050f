"""All tables of one run, taken from rows that are computed once."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property

from pyspark.sql import DataFrame

from rebalance_sim.engine.spark.caching import cached
from rebalance_sim.engine.spark.driver_rows import DriverRows
from rebalance_sim.engine.tables.inputs import union

Transformation = Callable[[DataFrame], DataFrame]


def outcome(name: str) -> Transformation:
    """Return a transformation that takes one output table out of a run's rows.

    Each of those rows has a struct column per output table, of which exactly one is set.
    """

    def taken(rows: DataFrame) -> DataFrame:
        if isinstance(rows, DriverRows):
            return rows.field(name)
        return rows.where(f"{name} IS NOT NULL").select(f"{name}.*")

    return taken


def with_rows(name: str, more: DataFrame) -> Transformation:
    """Return a transformation that takes one output table out of a run's rows, and adds more rows of it."""
    return lambda rows: union([outcome(name)(rows), more])


class Outcomes(Mapping[str, DataFrame]):
    """The output tables of one run by name, as items and as attributes: ``run["costs"]`` is ``run.costs``.

    The rows are cached at the first use of any table, so the run is computed once; ``unpersist`` frees them.
    """

    def __init__(self, rows: DataFrame, tables: Mapping[str, Transformation]) -> None:
        """Take the rows of a run and, by name, how each table follows from them."""
        self._computed = rows
        self._tables = dict(tables)

    @cached_property
    def _rows(self) -> DataFrame:
        return cached(self._computed)

    def staged(self, stage: Transformation) -> "Outcomes":
        """Compute the rows now and keep them where ``stage`` puts them, instead of in Spark's cache."""
        self.__dict__["_rows"] = stage(self._computed)
        return self

    def __getitem__(self, name: str) -> DataFrame:
        return self._tables[name](self._rows)

    def __getattr__(self, name: str) -> DataFrame:
        tables = self.__dict__.get("_tables", {})
        if name in tables:
            return self[name]
        raise AttributeError(f"no table {name!r} in this run; it has {', '.join(tables)}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self._tables]

    def unpersist(self) -> None:
        """Free the cached rows."""
        self._rows.unpersist()
