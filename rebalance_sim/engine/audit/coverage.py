"""How much of a history is about an audited fleet, in words: for the console and the page."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Self

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.audit.past import HOUR_MS
from rebalance_sim.engine.history.stories import AT, within
from rebalance_sim.wording import duration, enumerated, escaped, plural, utc_time

_GROUP = ["cluster", "group_id"]
_NAMED_CLUSTERS = 3


@dataclass(frozen=True)
class Coverage:
    """How much a history has, and how much of it is about the groups of an audit."""

    generations: int
    groups: int
    first_ms: int | None
    last_ms: int | None
    timeless: int
    """Generations without a time."""
    audited: int
    """Groups of the history that are audited."""
    unseen: int
    """Groups that are audited and have no history."""
    elsewhere: int
    """Groups of clusters of which no group is audited."""
    clusters: tuple[str, ...]
    """All clusters of the history."""
    audited_clusters: tuple[str, ...]

    @classmethod
    def of(cls, generations: DataFrame, verdicts: DataFrame) -> Self:
        """Count the groups of ``generations`` and of ``verdicts``."""
        at = F.expr(AT)
        of_groups = generations.groupBy(*_GROUP).agg(
            F.count("*").alias("generations"),
            F.min(at).alias("first_ms"),
            F.max(at).alias("last_ms"),
            F.count_if(at.isNull()).alias("timeless"),
        )
        audited = verdicts.select(*_GROUP, F.lit(True).alias("audited"))
        by_cluster = (
            of_groups.join(audited, _GROUP, "full_outer")
            .groupBy("cluster")
            .agg(
                *(F.sum(name).alias(name) for name in ("generations", "timeless")),
                F.count("generations").alias("groups"),
                F.min("first_ms").alias("first_ms"),
                F.max("last_ms").alias("last_ms"),
                F.count("audited").alias("audited"),
                F.count_if(F.col("audited") & F.col("generations").isNotNull()).alias("both"),
            )
        )
        rows = by_cluster.orderBy("cluster").collect()
        past = [row for row in rows if row["groups"]]
        return cls(
            sum(row["generations"] for row in past),
            sum(row["groups"] for row in past),
            min((row["first_ms"] for row in past if row["first_ms"] is not None), default=None),
            max((row["last_ms"] for row in past if row["last_ms"] is not None), default=None),
            sum(row["timeless"] for row in past),
            sum(row["both"] for row in past),
            sum(row["audited"] - row["both"] for row in rows),
            sum(row["groups"] for row in past if not row["audited"]),
            tuple(row["cluster"] for row in past),
            tuple(row["cluster"] for row in past if row["audited"]),
        )

    @property
    def sentence(self) -> str:
        """How much the history has, without a full stop."""
        numbers = f"{plural(self.generations, 'generation')} of {plural(self.groups, 'group')}"
        first, last = utc_time(self.first_ms), utc_time(self.last_ms)
        times = f", from {first} to {last} UTC" if first and last else ""
        return f"{numbers}{within(self.first_ms, self.last_ms)}{times}"

    def notes(self, read: str | None) -> Iterator[str]:
        """Yield in which respects the history is not that of the audited groups, which were ``read`` then."""
        if self.groups and not self.audited_clusters:
            named = enumerated([escaped(name) for name in self.clusters[:_NAMED_CLUSTERS]])
            yield f"the history is of other clusters ({named}) than the audit, which uses nothing of it"
            return
        if self.elsewhere:
            yield f"{plural(self.elsewhere, 'group')} of the history {_are(self.elsewhere)} of other clusters"
        gone = self.groups - self.elsewhere - self.audited
        if gone:
            yield f"{plural(gone, 'group')} of the history {_are(gone)} not in the audit"
        if self.unseen:
            yield f"{plural(self.unseen, 'audited group has', 'audited groups have')} no history"
        if self.timeless:
            yield f"the time of {plural(self.timeless, 'generation')} is unknown: they are in no calendar"
        if read and self.last_ms is not None:
            older_ms = datetime.fromisoformat(read).timestamp() * 1000 - self.last_ms
            if older_ms > HOUR_MS:
                yield (
                    f"the last generation is {duration(older_ms)} older than the audited groups: none has rebalanced "
                    "since, or the history was read before"
                )


def _are(number: int) -> str:
    return "is" if number == 1 else "are"
