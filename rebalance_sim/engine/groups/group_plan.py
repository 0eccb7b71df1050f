"""The computation of a run: groups, and a function that is applied to batches of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rebalance_sim.engine.groups.whole_groups import by_group, nested_groups
from rebalance_sim.engine.spark.driver_rows import BatchFunction, map_batches


@dataclass(frozen=True)
class GroupPlan:
    """Groups, and the function that is applied to batches of them."""

    rows_of_groups: DataFrame
    """The members as ``by_group`` brings them together; or groups, with columns of further tables."""
    function: BatchFunction
    """A function of batches of groups with their members nested."""
    schema: StructType
    """Columns of the rows that the function returns."""
    columns: tuple[str, ...] = ()
    """Columns of the members table that the function needs; none if it needs other tables too."""

    @classmethod
    def of_members(
        cls, members: DataFrame, columns: Sequence[str], function: BatchFunction, schema: StructType
    ) -> "GroupPlan":
        """Return the plan for groups that are given by a fitted members table alone."""
        return cls(by_group(members, columns), function, schema, tuple(columns))

    def rows(self) -> DataFrame:
        """Apply the function to all groups."""
        columns, function = self.columns, self.function
        nesting = (lambda batches: function(nested_groups(batches, columns))) if columns else function
        return map_batches(self.rows_of_groups, nesting, self.schema)
