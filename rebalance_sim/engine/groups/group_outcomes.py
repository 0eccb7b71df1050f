"""All tables that a run computes for its groups."""

from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame

from rebalance_sim.engine.groups.group_plan import GroupPlan
from rebalance_sim.engine.tables.inputs import rejected, union
from rebalance_sim.engine.tables.outcomes import Outcomes, Transformation, outcome
from rebalance_sim.tables import REJECTS, TOPICS, Table


class GroupOutcomes(Outcomes):
    """The tables of one run by name; rejects are those of the rules and of the input tables."""

    def __init__(
        self,
        plan: GroupPlan,
        names: Iterable[str],
        derived: Mapping[str, Transformation],
        fitted: Mapping[Table, DataFrame],
        used_topics: int | None,
    ) -> None:
        """Take the plan, the names of the tables, the functions that derive some of them, and the fitted inputs."""
        super().__init__(plan.rows(), {name: derived.get(name, outcome(name)) for name in names})
        self.plan = plan
        self.used_topics = used_topics
        """Rows of the topics table that the run used."""
        self._fitted = dict(fitted)
        self._derived = {REJECTS.name, *derived}

    def is_computed(self, name: str) -> bool:
        """Return whether a table is a column of the computed rows as it is."""
        return name in self and name not in self._derived

    def expect_no_rejects_of(self, table: Table) -> None:
        """Skip the search for unusable rows of an input table: there are none."""
        self._fitted.pop(table, None)

    def expect_topics(self, given: int) -> None:
        """Skip the search for unusable rows of the topics table if the run used as many rows as the table has."""
        if given == self.used_topics:
            self.expect_no_rejects_of(TOPICS)

    def __getitem__(self, name: str) -> DataFrame:
        """Return a table."""
        rows = super().__getitem__(name)
        unusable = [rejected(fitted, table) for table, fitted in self._fitted.items()] if name == REJECTS.name else []
        return union([*unusable, rows])
