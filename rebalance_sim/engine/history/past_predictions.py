"""Everything that is predicted of a history: each generation on each basis, and the tables of the misses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.history.backtest import (
    AS_JOINED,
    DIFFERS,
    GENERATION_BEFORE,
    Backtest,
    as_joined,
    from_generation_before,
)
from rebalance_sim.engine.history.misses import MISS_TABLES, Misses
from rebalance_sim.engine.history.partition_counts import described_topics, spans
from rebalance_sim.engine.tables.inputs import REASON, fit, union
from rebalance_sim.engine.tables.outcomes import Outcomes, outcome
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.brokers import Clusters
from rebalance_sim.tables import GENERATION_MEMBERS

_MEMBERS: dict[str, Callable[[DataFrame], DataFrame]] = {
    AS_JOINED: as_joined,
    GENERATION_BEFORE: from_generation_before,
}
BASES = tuple(_MEMBERS)
"""What generations may be predicted from."""
_HISTORY = ["cluster", "group_id", "recreated"]
_KEYS = {"cluster": "cluster", "history_group_id": "group_id", "recreated": "recreated"} | {
    "history_generation": "generation"
}
"""What names a generation among the groups that are predicted, by its name in ``backtest``."""


@dataclass(frozen=True)
class PastPredictions:
    """The members of past generations, and how they are predicted."""

    members: DataFrame
    test: Backtest
    """The back-test on some basis."""

    @classmethod
    def of(
        cls,
        generation_members: DataFrame,
        topics: DataFrame | None,
        clusters: Clusters,
        assignors: Sequence[ConsumerPartitionAssignor],
    ) -> "PastPredictions":
        """Find out how many partitions topics had; ``topics`` are the usable ones of today, if they are known."""
        # A member that cannot be used leaves its generation incomplete; it is not left out of it.
        members = fit(generation_members, GENERATION_MEMBERS).drop(REASON, "_row")
        test = Backtest(clusters, AS_JOINED, spans(members, topics), described_topics(topics), tuple(assignors))
        return cls(members, test)

    def backtest(self, basis: str) -> DataFrame:
        """Return the rows of ``backtest`` on a basis."""
        return replace(self.test, basis=basis)(self.members.transform(_MEMBERS[basis]))

    def misses(self, tested: DataFrame) -> Outcomes:
        """Return the tables of the generations whose result in ``backtest`` is DIFFERS."""
        wrong = tested.where(F.col("result") == DIFFERS)
        of_groups = self.members.join(wrong.select(*_HISTORY).distinct(), _HISTORY, "left_semi")
        rows = []
        for basis, as_groups in _MEMBERS.items():
            found = wrong.where(F.col("basis") == basis).selectExpr(*(f"{of} AS {name}" for name, of in _KEYS.items()))
            members = of_groups.transform(as_groups).join(found, [*_KEYS], "left_semi")
            rows.append(Misses(replace(self.test, basis=basis))(members))
        return Outcomes(union(rows), {table.name: outcome(table.name) for table in MISS_TABLES})
