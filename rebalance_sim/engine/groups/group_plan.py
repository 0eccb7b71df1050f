"""What a run computes of every group: a function of batches of groups, and the groups."""

from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from rebalance_sim.engine.spark.driver_rows import BatchFunction, map_batches


@dataclass(frozen=True)
class GroupPlan:
    """Groups, and the function that is applied to batches of them."""

    groups: DataFrame
    """The groups as ``collect_members`` nests them, with columns of further tables if the function needs some."""
    columns: tuple[str, ...]
    """Columns of the members table that the function needs; none if it needs other tables too."""
    function: BatchFunction
    schema: StructType
    """Columns of the rows that the function returns."""

    def rows(self) -> DataFrame:
        """Apply the function to all groups."""
        return map_batches(self.groups, self.function, self.schema)
