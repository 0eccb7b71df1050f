"""How much longer a fleet takes whose groups follow the rules of many releases and libraries than a uniform one."""

import statistics

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.engine.groups.prediction import ELECTED, Prediction
from rebalance_sim.engine.tables.topic_metadata import TopicMetadata
from rebalance_sim.kafka.brokers import Brokers, Clusters
from rebalance_sim.tables import ASSIGNMENTS, ELECTIONS
from tests.benchmarks.rounds import seconds

_RELEASES = (
    *("0.11.0", "1.0", "1.1", "2.0", "2.1", "2.2", "2.3", "2.4", "2.5", "2.6", "2.7", "2.8"),
    *("3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9", "4.0", "4.3"),
)
"""Of the brokers of one cluster each."""
_LIBRARIES = ("java", "sarama", "franz-go", "kafka-go", "librdkafka", "aiokafka")
_LIMIT = 1.15


def bench_mixed_fleet(fleet: tuple[DataFrame, DataFrame], groups: int, rounds: int) -> None:
    """Elect and assign groups whose leaders use ``range`` of every release and library, and groups that are alike."""
    topics, members = fleet
    number = F.crc32("group_id")
    cluster = F.format_string("c%d", number % len(_RELEASES))
    libraries = F.array(*map(F.lit, _LIBRARIES))
    library = F.get(libraries, F.floor(number / len(_RELEASES)) % len(_LIBRARIES))
    clusters = topics.sparkSession.range(len(_RELEASES)).select(F.format_string("c%d", "id").alias("cluster"))
    in_all = topics.drop("cluster").crossJoin(F.broadcast(clusters)).select(*topics.columns).persist()
    alike = members.withColumn("cluster", cluster).withColumn("protocols", F.array(F.lit("range"))).persist()
    metadata = TopicMetadata.of(in_all)
    brokers = {f"c{place}": Brokers(release) for place, release in enumerate(_RELEASES)}

    def predict(rows: DataFrame, named: dict[str, Brokers]) -> DataFrame:
        outputs = (ELECTIONS.name, ASSIGNMENTS.name)
        return Prediction(outputs, Clusters(Brokers(), named), (ELECTED,), metadata)(rows)

    mixed = alike.withColumn("client_library", library).persist()
    times = seconds(
        {
            "uniform": lambda: predict(alike, dict.fromkeys(brokers, Brokers("4.0"))),
            "mixed": lambda: predict(mixed, brokers),
        },
        rounds,
    )
    ratio = statistics.median(mine / theirs for mine, theirs in zip(times["mixed"], times["uniform"], strict=True))
    medians = {name: statistics.median(of) for name, of in times.items()}
    print(f"\n{groups:,} groups x 5 members x 24 partitions, elected, in {len(_RELEASES)} clusters")
    print(f"  uniform {medians['uniform']:.2f} s, mixed {medians['mixed']:.2f} s: {ratio:.2f} x (limit {_LIMIT})")
