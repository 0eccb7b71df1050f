"""What other settings would save each group: the same scenario is simulated again under each of them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from rebalance_sim.engine.simulation.simulations import Variation
from rebalance_sim.kafka.assignors import assignors_of
from rebalance_sim.kafka.simulation.scenario import Overrides, Scenario
from rebalance_sim.releases import CoordinatorRules, KafkaVersion
from rebalance_sim.tables import ADVICE

_SHORT_SESSION_MS, _LONG_SESSION_MS = 10_000, 120_000
_LONG_DELAY_MS = 10_000


def variations(scenario: Scenario, version: KafkaVersion) -> tuple[Variation, ...]:
    """Return the scenario under each setting that the Kafka version has."""
    consumers, settings = scenario.consumers, scenario.settings

    def with_consumers(setting: str, value: str, otherwise: Overrides) -> Variation:
        return Variation(setting, value, None, replace(scenario, consumers=otherwise))

    def with_session(timeout_ms: int) -> Variation:
        return with_consumers("session.timeout.ms", str(timeout_ms), replace(consumers, session_timeout_ms=timeout_ms))

    tried = [
        with_session(_SHORT_SESSION_MS),
        with_session(_LONG_SESSION_MS),
        Variation(
            "group.initial.rebalance.delay.ms",
            str(_LONG_DELAY_MS),
            None,
            replace(scenario, settings=replace(settings, group_initial_rebalance_delay_ms=_LONG_DELAY_MS)),
        ),
    ]
    if version.coordinator >= CoordinatorRules.SCALA_2_3:
        tried.insert(0, with_consumers("group.instance.id", "one per consumer", replace(consumers, static=True)))
    plain = replace(scenario, consumers=replace(consumers, protocols=None))
    if "cooperative-sticky" in assignors_of(version):
        tried.append(Variation("partition.assignment.strategy", "cooperative-sticky", "cooperative-sticky", plain))
    if "server-uniform" in assignors_of(version):
        tried.append(Variation("group.protocol", "consumer", "server-uniform", plain))
    return tuple(tried)


def advise(tried: Sequence[Variation]) -> Callable[[DataFrame], DataFrame]:
    """From costs with a column ``variation``, the number of the variation (0: the scenario itself), to advice."""
    return lambda costs: _advise(costs, tried)


def _advise(costs: DataFrame, tried: Sequence[Variation]) -> DataFrame:
    keys = ["cluster", "group_id", "strategy"]
    usual = costs.where("variation = 0 AND error IS NULL").alias("usual")
    other = costs.where("variation > 0 AND error IS NULL").alias("other")
    named = F.array(*[F.struct(F.lit(of.setting).alias("setting"), F.lit(of.value).alias("value")) for of in tried])
    setting = F.element_at(named, F.col("variation"))
    saved = usual.select(*keys, *[F.col(name).alias(f"_{name}") for name in _SAVED]).join(other, keys)
    figures = saved.select(
        *keys,
        setting["setting"].alias("setting"),
        setting["value"].alias("value"),
        "rebalances",
        _fewer("rebalances"),
        "unowned_ms",
        _fewer("unowned_ms"),
        _fewer("stable_ms"),
        _fewer("moved"),
        ((F.col("failed") > 0) | ~F.col("finished")).alias("fails"),
        "variation",
    )
    # A setting with which the rollout fails is never the best, whatever it saves.
    order = ("fails", F.desc("unowned_ms_saved"), "variation")
    place = F.row_number().over(Window.partitionBy(*keys).orderBy(*order))
    best = (place == 1) & (F.col("unowned_ms_saved") > 0) & ~F.col("fails")
    return figures.withColumn("best", best).select(ADVICE.names)


_SAVED = ("rebalances", "unowned_ms", "stable_ms", "moved")


def _fewer(name: str) -> Column:
    return (F.col(f"_{name}") - F.col(name)).alias(f"{name}_saved")
