"""The client of a member, by consumers.csv or by the output of the tools."""

import pytest

from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.sources.kafka_tools.clients import known_client
from rebalance_sim.sources.kafka_tools.contents import ConsumerLine

UUID = "626467ba-04a1-4547-b401-ba8570c1dca1"
Client = tuple[str | None, str | None]
NOTHING = (None, None)


@pytest.mark.parametrize(
    ("client_id", "given", "expected"),
    [
        ("app", NOTHING, (None, None, None)),
        ("aiokafka-0.12.0", NOTHING, ("aiokafka", "0.12.0", "client id")),
        ("aiokafka-0.12.0", ("aiokafka", None), ("aiokafka", "0.12.0", "consumers.csv")),
        ("aiokafka-0.12.0", ("aiokafka", "0.13.0"), ("aiokafka", "0.13.0", "consumers.csv")),
        ("aiokafka-0.12.0", ("kafka-python", None), ("kafka-python", None, "consumers.csv")),
        ("aiokafka-0.12.0", (None, "0.13.0"), ("aiokafka", "0.13.0", "client id, consumers.csv")),
        ("app", (None, "3.9.0"), (None, "3.9.0", "consumers.csv")),
    ],
)
def test_consumers_csv_comes_first(client_id: str, given: Client, expected: tuple[str | None, ...]) -> None:
    consumer = ConsumerLine("orders", client_id, None, None, None, None, *given)
    assert known_client(Signs("orders", f"{client_id}-{UUID}", client_id), consumer) == expected


def test_members_without_a_row_of_consumers_csv() -> None:
    assert known_client(Signs("orders", f"kgo-{UUID}", "kgo"), None) == ("franz-go", None, "client id")
