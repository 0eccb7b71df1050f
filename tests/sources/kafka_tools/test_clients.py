"""The client of a member, by consumers.csv or by the output of the tools."""

from typing import Any

import pytest

from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.clients.stated import StatedClient
from rebalance_sim.sources.kafka_tools.clients import known_client
from rebalance_sim.sources.kafka_tools.contents import ConsumerLine

UUID = "626467ba-04a1-4547-b401-ba8570c1dca1"
Client = tuple[str | None, str | None]
NOTHING = (None, None)


def shown(columns: dict[str, Any]) -> tuple[str | None, ...]:
    return tuple(columns[name] for name in ("client_library", "client_version", "client_evidence"))


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
    assert shown(known_client(Signs("orders", f"{client_id}-{UUID}", client_id), consumer, StatedClient())) == expected


def test_members_without_a_row_of_consumers_csv() -> None:
    found = known_client(Signs("orders", f"kgo-{UUID}", "kgo"), None, StatedClient())
    assert shown(found) == ("franz-go", None, "client id")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (NOTHING, ("sarama", "1.43", "clients file")),
        (("kafkajs", None), ("kafkajs", None, "consumers.csv")),
        ((None, "1.40"), ("sarama", "1.40", "clients file, consumers.csv")),
    ],
)
def test_consumers_csv_comes_before_the_clients_file(given: Client, expected: tuple[str | None, ...]) -> None:
    consumer = ConsumerLine("orders", "app", None, None, None, None, *given)
    stated = StatedClient(library="sarama", release="1.43", team="red", revoke_ms=1500)
    found = known_client(Signs("orders", f"app-{UUID}", "app"), consumer, stated)
    assert shown(found) == expected
    assert (found["team"], found["start_ms"], found["revoke_ms"]) == ("red", None, 1500)
