"""Streams groups that their coordinators describe: the answer that Kafka's classes write, as rows."""

from rebalance_sim.kafka.wire.streams_group_describe import streams_group_describe_response
from rebalance_sim.sources.streams.described_groups import member_rows, subtopology_rows
from tests.support.streams_group_answers import DESCRIBED


def tasks(*names: str) -> list[dict[str, object]]:
    pairs = [name.split("_") for name in names]
    return [{"subtopology": subtopology, "partition": int(partition)} for subtopology, partition in pairs]


def test_members_have_their_targets_and_what_they_have_now() -> None:
    first, second = member_rows(streams_group_describe_response(DESCRIBED), "prod")
    assert first == {
        "cluster": "prod",
        "group_id": "pricing",
        "member_id": "m-1",
        "process_id": "p",
        "instance_id": "i",
        "client_id": "c",
        "host": "/h",
        "active": tasks("0_0"),
        "standby": [],
        "current_active": tasks("0_0", "0_2", "1_1"),
        "current_standby": tasks("1_0", "1_2"),
    }
    assert (second["member_id"], second["standby"], second["current_standby"]) == ("m-2", tasks("1_0", "1_2"), [])


def test_subtopologies_read_their_repartition_topics() -> None:
    """A group whose topology is not ready has none. In the target, one member has a standby task of 1_0."""
    of_group = {"cluster": "prod", "group_id": "pricing", "standby_replicas": 1}
    repartitioned, changelogs = ["pricing-by-product-repartition"], ["pricing-store-changelog"]
    assert list(subtopology_rows(streams_group_describe_response(DESCRIBED), "prod")) == [
        of_group | {"subtopology": "0", "topics": ["quotes"], "stateful": False, "changelogs": []},
        of_group | {"subtopology": "1", "topics": repartitioned, "stateful": True, "changelogs": changelogs},
    ]
