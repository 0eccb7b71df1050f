"""What runs assume about brokers."""

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.commands.brokers import early_access, untested_releases
from rebalance_sim.kafka.brokers import Brokers, Clusters

CLUSTERS = Clusters(Brokers("4.3"), {"old": Brokers("2.8"), "early": Brokers("3.8"), "other": Brokers("3.7.1")})
ASSUMED = "brokers of Kafka {} have the consumer protocol (KIP-848) enabled, which is early access before 4.0"


@pytest.mark.parametrize(
    ("clusters_with_consumers", "releases"),
    [([], []), (["old", "new"], []), (["new", "early"], ["3.8"]), (["early", "other", "early"], ["3.7.1", "3.8"])],
)
def test_elected_consumer_groups_are_early_access_before_4_0(
    spark: SparkSession, clusters_with_consumers: list[str], releases: list[str]
) -> None:
    rows = [("early", "classic"), ("other", "classic"), *((name, "consumer") for name in clusters_with_consumers)]
    elections = spark.createDataFrame(rows, ["cluster", "type"])
    assert early_access(CLUSTERS, ("elected",), elections) == [ASSUMED.format(release) for release in releases]


def test_a_strategy_of_the_coordinator_is_early_access_before_4_0() -> None:
    assert early_access(CLUSTERS, ("range", "server-range"), None) == [ASSUMED.format(r) for r in ("3.7.1", "3.8")]
    assert early_access(CLUSTERS, ("range",), None) == []
    assert early_access(Clusters(), ("server-range",), None) == []


def test_a_release_that_is_not_tested_is_a_warning() -> None:
    clusters = Clusters(Brokers("4.3"), {"next": Brokers("9.9"), "same": Brokers("9.9", offsets_partitions=10)})
    assert untested_releases(clusters) == [
        "Kafka 9.9 is newer than 4.4, the newest tested release, whose rules are used"
    ]
    assert untested_releases(Clusters()) == []
