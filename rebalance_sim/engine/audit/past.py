"""What the history of groups adds to an audit: how often and why each rebalanced, and what would have prevented it."""

from collections.abc import Mapping

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.history.prevention import SAVES
from rebalance_sim.engine.history.stories import AT, stories
from rebalance_sim.engine.spark.driver_rows import no_rows
from rebalance_sim.tables import CLASSIC, GENERATIONS, PREVENTION

_GROUP = ["cluster", "group_id"]
_PREVENTED = ("setting", "value", "rebalances", "rebalances_saved", "unowned_ms_saved")
HOUR_MS = 3_600_000


def last_hours(history: Mapping[str, DataFrame]) -> DataFrame:
    """From the tables of a history to one row per classic group: the hour before its last generation.

    Beside the columns of ``stories`` a row has the number of ``rebalances`` since the first generation of that hour,
    those that never became stable included, the last ``generation``, and ``prevented``: settings that its clients have
    and that would have prevented rebalances, with the rebalances of its whole history.
    """
    of_group = Window.partitionBy(*_GROUP)
    in_order = of_group.orderBy("recreated", "generation")
    classic = history[GENERATIONS.name].where((F.col("type") == CLASSIC) & ~F.col("rewritten"))
    timed = classic.withColumn("at", F.expr(AT))
    recent = (
        timed.withColumn("last_at", F.max("at").over(of_group))
        .where(F.col("at") >= F.col("last_at") - HOUR_MS)
        .withColumn("since_first", F.row_number().over(in_order) > 1)
    )
    counted = recent.groupBy(*_GROUP).agg(
        F.sum(F.when(F.col("since_first"), 1 + F.coalesce("skipped", F.lit(0))).otherwise(0)).alias("rebalances"),
        F.max(F.struct("recreated", "generation"))["generation"].alias("generation"),
    )
    return recent.transform(stories).join(counted, _GROUP).join(_prevented(history), _GROUP, "left")


def _prevented(history: Mapping[str, DataFrame]) -> DataFrame:
    """Return the settings that would have prevented rebalances, by group; none if the past was not simulated."""
    nothing = no_rows(history[GENERATIONS.name].sparkSession, PREVENTION.schema)
    found = history.get(PREVENTION.name, nothing)
    return found.where(SAVES).groupBy(*_GROUP).agg(F.collect_list(F.struct(*_PREVENTED)).alias("prevented"))
