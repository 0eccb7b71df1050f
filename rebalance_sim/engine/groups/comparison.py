"""Compare strategies over the fleet, and where another strategy would change most."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType

from rebalance_sim.engine.groups.comparison_rows import QUIRKS
from rebalance_sim.engine.tables.percentiles import QUANTILES, percentiles
from rebalance_sim.tables import CHANGES, DISTRIBUTIONS, FIGURES

LARGEST = 10
"""Number of gains, and of losses, that are listed for each strategy."""
BEST = "optimum"
"""Name of the optimum in the column of strategies."""

_GROUP = ("cluster", "group_id")
_FIGURES_OF_BEST = ("stddev", "idle_members", "moved")
_FIGURES = (
    *_FIGURES_OF_BEST,
    "topic_spread",
    "unassigned",
    *QUIRKS,
    "revoked",
    "excess_max",
    "excess_stddev",
    "excess_moved",
)
_EXACT_SUM = DecimalType(28, 9)
"""Unlike sums of doubles, decimal sums do not depend on the order of rows."""


def strategies_long(comparison: DataFrame) -> DataFrame:
    """From a comparison to one row per group and strategy, with the figures of ``strategies`` as columns.

    >>> from rebalance_sim import compare
    >>> compared = members.transform(compare(topics, ["range", "sticky"]))
    >>> compared.transform(strategies_long).select("strategy", "min", "max", "excess_max", "excess_moved").show()
    +--------+---+---+----------+------------+
    |strategy|min|max|excess_max|excess_moved|
    +--------+---+---+----------+------------+
    |   range|  1|  2|         0|           0|
    |  sticky|  1|  2|         0|           0|
    +--------+---+---+----------+------------+
    <BLANKLINE>
    """
    return comparison.select("*", F.explode("strategies").alias("strategy", "figures")).select(
        *[name for name in comparison.columns if name != "strategies"], "strategy", "figures.*"
    )


def distributions(comparison: DataFrame) -> DataFrame:
    """From a comparison to the distribution of each strategy's figures over the groups.

    The distributions are exact and independent of partitioning; sums round each group's figure to nine decimals.

    >>> from rebalance_sim import compare
    >>> deviations = members.transform(compare(topics)).transform(distributions).where("figure = 'stddev'")
    >>> deviations.where("strategy = 'optimum'").select("groups", "mean", "p50", "max").show()
    +------+----+---+---+
    |groups|mean|p50|max|
    +------+----+---+---+
    |     1| 0.5|0.5|0.5|
    +------+----+---+---+
    <BLANKLINE>
    """
    best = F.create_map(F.lit(BEST), F.struct(*[_figure_of_best(name).alias(name) for name in FIGURES]))
    figures = F.array(*[_distribution(name) for name in _FIGURES])
    return (
        comparison.withColumn("strategies", F.map_concat("strategies", best))
        .transform(strategies_long)
        .groupBy("strategy")
        .agg(figures.alias("figures"))
        .select("strategy", F.inline("figures"))
        .where((F.col("strategy") != BEST) | F.col("figure").isin(*_FIGURES_OF_BEST))
        .select(*DISTRIBUTIONS.names)
    )


def changes(largest: int = LARGEST) -> Callable[[DataFrame], DataFrame]:
    """From a comparison to the groups that would gain or lose most by each strategy, compared with the elected one.

    Left out are groups that elect no protocol or one that is not compared, and groups where one of the two assignments
    does not assign every partition to exactly one subscribed member.

    >>> from rebalance_sim import compare
    >>> members.transform(compare(topics)).transform(changes()).count()
    0
    """
    by_size = Window.partitionBy("strategy", "change").orderBy(
        F.abs(F.col("stddev") - F.col("elected_stddev")).desc(),
        F.when(F.col("change") == "gain", -_moves_more()).otherwise(_moves_more()).desc(),
        *_GROUP,
    )
    return lambda comparison: (
        comparison.transform(against_elected)
        .where("change IS NOT NULL")
        .withColumn("rank", F.row_number().over(by_size))
        .where(F.col("rank") <= largest)
        .select(*CHANGES.names)
    )


def against_elected(comparison: DataFrame) -> DataFrame:
    """From a comparison to ``strategies_long`` with ``change``: gain, loss, or null for neither.

    ``elected_stddev`` and ``elected_moved`` are those of the elected protocol. ``change`` is null if one of the two
    assignments has no excess over the optimum (see ``comparison_rows``).
    """
    before = F.col("strategies")[F.col("elected")]
    comparable = F.col("excess_stddev").isNotNull() & F.col("elected_excess").isNotNull()
    improvement = F.col("elected_stddev") - F.col("stddev")
    gain = (improvement > 0) | ((improvement == 0) & (_moves_more() < 0))
    loss = (improvement < 0) | ((improvement == 0) & (_moves_more() > 0))
    return (
        comparison.withColumn("elected_stddev", before["stddev"])
        .withColumn("elected_moved", before["moved"])
        .withColumn("elected_excess", before["excess_stddev"])
        .transform(strategies_long)
        .withColumn("change", F.when(comparable & gain, "gain").when(comparable & loss, "loss"))
        .drop("elected_excess")
    )


def _figure_of_best(name: str) -> Column:
    if name in _FIGURES_OF_BEST:
        return F.col(f"optimum.{name}")
    return F.lit(None).cast(FIGURES[name])


def _distribution(figure: str) -> Column:
    value = F.col(figure)
    groups = F.count(value)
    total = F.sum(value.cast(_EXACT_SUM)).cast("double")
    found = percentiles(figure)
    return F.struct(
        F.lit(figure).alias("figure"),
        groups.alias("groups"),
        (F.count("*") - groups).alias("missing"),
        F.count_if(value == 0).alias("zero"),
        total.alias("total"),
        F.try_divide(total, groups).alias("mean"),
        F.min(value).cast("double").alias("min"),
        *[found[name].alias(name) for name in QUANTILES],
        F.max(value).cast("double").alias("max"),
    )


def _moves_more() -> Column:
    return F.col("moved") - F.col("elected_moved")
