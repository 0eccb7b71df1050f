"""The names of replicas."""

import pytest

from rebalance_sim.kafka.workloads import workload

KAFKA_GO = "indexer@{} (github.com/segmentio/kafka-go)"


@pytest.mark.parametrize(
    ("client_id", "instance_id", "expected"),
    [
        # Pods of a Deployment, with ReplicaSet hashes of eight to ten letters.
        ("orders-api-5d8f7b9c6-4xk2p", None, "orders-api"),
        ("orders-api-77bc4d6d5d-zq9mw", None, "orders-api"),
        (KAFKA_GO.format("orders-api-77bc4d6d5d-zq9mw"), None, "orders-api"),
        # Pods of a StatefulSet; instance ids come first.
        ("kafka-consumer", "orders-0", "orders"),
        ("orders-10", None, "orders"),
        ("orders_2", None, "orders"),
        ("consumer-orders-2", "till-17", "till"),
        # Replicas of neither.
        ("orders", None, None),
        ("orders-eu", "orders-us", None),
        (KAFKA_GO.format("orders-host"), None, None),
        # Vowels are not in generated names.
        ("orders-backend-store", None, None),
        (None, None, None),
        ("", "", None),
        ("-1", None, None),
    ],
)
def test_replicas_have_a_workload(client_id: str | None, instance_id: str | None, expected: str | None) -> None:
    assert workload(client_id, instance_id) == expected
