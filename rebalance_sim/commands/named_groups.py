"""Groups that an option names: which there are, and the most similar ids for one that does not exist."""

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.errors import UserError

_SIMILAR = 3


def unknown_group(option: str, group: str, groups: DataFrame) -> UserError:
    """Return the error for a group that does not exist; ``groups`` has the column ``group_id``."""
    by_distance = F.levenshtein(F.col("group_id"), F.lit(group)), F.col("group_id")
    nearest = groups.select("group_id").distinct().orderBy(*by_distance).limit(_SIMILAR).collect()
    there = f"; similar: {', '.join(repr(row['group_id']) for row in nearest)}" if nearest else "; there are no groups"
    return UserError(f"{option}: group {group!r} does not exist{there}")


def members_of_group(members: DataFrame, cluster: str | None, group: str | None) -> DataFrame:
    """Return the members of the one group that --cluster and --group name.

    Raises UserError if there is none, or if there are several because an option is missing.
    """
    rows = members if cluster is None else members.where(F.col("cluster") == cluster)
    chosen = rows if group is None else rows.where(F.col("group_id") == group)
    found = chosen.select("cluster", "group_id").distinct().orderBy("cluster", "group_id").limit(_SIMILAR).collect()
    if not found and group is not None:
        raise unknown_group("--group", group, rows)
    if not found:
        raise UserError("members: there are no groups" + ("" if cluster is None else f" in cluster {cluster!r}"))
    if len(found) > 1:
        option, column = ("--group", "group_id") if group is None else ("--cluster", "cluster")
        several = ", ".join(dict.fromkeys(repr(row[column]) for row in found))
        raise UserError(f"{option}: needed to choose one of several, such as {several}")
    return chosen


def of_group(rows: DataFrame, group: Row) -> DataFrame:
    """Return the rows about the group of another row."""
    return rows.where((F.col("cluster") == group["cluster"]) & (F.col("group_id") == group["group_id"]))
