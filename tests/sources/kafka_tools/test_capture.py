"""Captures as a whole: what the tables hold, what is rejected and what is assumed."""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.errors import UserError
from rebalance_sim.sources.assumptions import MembersAsStated
from rebalance_sim.sources.kafka_tools.capture import (
    NOT_CAPTURED,
    NOT_LISTED,
    ONE_MORE,
    Capture,
    CaptureTables,
    read_capture,
)
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.tables import MEMBERS, OFFSETS, REJECTS, TOPICS, Table

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
UUID = "4d4391e5-b529-4c02-bb6f-bef6ebc1bf38"
UUID_2 = "5805d4d8-1f39-4520-a0d6-9b1afb8a5785"
UUID_3 = "521c37bb-3012-4062-a059-12566935fb71"

TOPICS_TXT = """\
Topic: orders\tTopicId: cM6v_SyUQWuk9A324MZPIg\tPartitionCount: 3\tReplicationFactor: 1\tConfigs: \n\
\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n\
\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 2\tIsr: \tElr: \tLastKnownElr: \n\
\tTopic: orders\tPartition: 2\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n\
Topic: returns\tTopicId: vCrxrx5eQr26Hdzn9LoZlA\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \n\
\tTopic: returns\tPartition: 0\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: \n"""

OFFSETS_TXT = f"""
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             \
CONSUMER-ID                                HOST            CLIENT-ID
billing         orders          0          2               42              40              \
bill-{UUID}  /127.0.0.1      bill
billing         orders          1          -               -               -               \
bill-{UUID}  /127.0.0.1      bill
billing         orders          2          7               9               2               \
bill-{UUID_2}  /127.0.0.1      bill
billing         returns         0          1               1               0               \
-                                          -               -

GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             \
CONSUMER-ID     HOST            CLIENT-ID
backfill        orders          0          2               42              40              \
-               -               -
"""
MEMBERS_37_TXT = f"""
GROUP           CONSUMER-ID                               HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT
billing         bill-{UUID_2} /127.0.0.1      bill            1               orders(2)
billing         bill-{UUID} /127.0.0.1      bill            2               orders(0,1)
billing         bill-{UUID_3} /127.0.0.1      bill            0               -
"""
MEMBERS_TXT = "\n".join(line.rpartition(" ")[0] for line in MEMBERS_37_TXT.split("\n"))
MEMBERS_39_TXT = MEMBERS_37_TXT.replace("orders(", "(")
STATE_TXT = """
GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS
billing                   127.0.0.1:9092  (0)       roundrobin           Stable          3

GROUP                     COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE           #MEMBERS
backfill                  127.0.0.1:9092  (0)                            Empty           0
"""


class Joined:
    """The rows of files with these texts, without Spark."""

    def __init__(self, *protocols: str, **texts: str) -> None:
        lines = Lines()
        for file, text in texts.items():
            name = file.replace("__", ".")
            lines.add_file(name if "." in name else f"{name}.txt", text.encode())
        tables = CaptureTables(lines, "blue", MembersAsStated(protocols))
        self.topics = rows(TOPICS, tables.topics())
        self.members = rows(MEMBERS, tables.members())
        self.offsets = rows(OFFSETS, tables.offsets())
        self.rejects = rows(REJECTS, tables.rejects())
        self.assumptions = tables.assumptions()
        self.groups_without_members = tables.groups_without_members()

    @property
    def unread_groups(self) -> list[str]:
        """Groups whose members were all rejected."""
        rejected = {row["group_id"] for row in self.rejects if row["table"] == "members" and row["group_id"]}
        return sorted(rejected - {row["group_id"] for row in self.members})

    @property
    def reasons(self) -> list[str]:
        """Table and reason of each reject."""
        return [f"{row['table']}: {row['reason']}" for row in self.rejects]

    def of_members(self, column: str) -> list[Any]:
        """A column of the members table."""
        return [row[column] for row in self.members]


def rows(table: Table, values: Iterator[tuple[object, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(table.names, each, strict=True)) for each in values]


def owned(row: dict[str, Any] | Row) -> list[tuple[str, int]] | None:
    return None if row["owned"] is None else [(each["topic"], each["partition"]) for each in row["owned"]]


def test_topics() -> None:
    capture = Joined(topics=TOPICS_TXT)
    columns = ("cluster", "topic", "partitions", "topic_id", "unavailable")
    assert capture.topics == [
        dict.fromkeys(TOPICS.names) | dict(zip(columns, row, strict=True))
        for row in (
            ("blue", "orders", 3, "cM6v_SyUQWuk9A324MZPIg", [1]),
            ("blue", "returns", 1, "vCrxrx5eQr26Hdzn9LoZlA", []),
        )
    ]
    assert capture.rejects == []


def test_a_topic_without_its_partitions() -> None:
    capture = Joined(topics="Topic: orders\tPartitionCount: 3\nTopic: none\tPartitionCount: 0\n")
    assert [(row["topic"], row["unavailable"]) for row in capture.topics] == [("orders", None), ("none", [])]
    sentence = "3 partitions of 1 topic assumed to have a leader: kafka-topics.sh printed no line for them"
    assert sentence in capture.assumptions


def test_topics_that_contradict() -> None:
    text = TOPICS_TXT + "".join(TOPICS_TXT.splitlines(keepends=True)[:2])
    text += "\tTopic: returns\tPartition: 1\tLeader: 1\n\tTopic: unheard\tPartition: 0\tLeader: 1\n"
    assert Joined(topics=text).reasons == [
        "topics: topic 'orders' is listed more than once; topics.txt line 1 is used",
        "topics: partition 0 of topic 'orders' is listed more than once; the first is used",
        "topics: partition 1 is out of range: topic 'returns' has PartitionCount 1",
        "topics: topic 'unheard' has no usable line with its PartitionCount",
    ]


def test_offsets_take_missing_ends_from_get_offsets() -> None:
    capture = Joined(offsets=OFFSETS_TXT, ends="orders:0:50\norders:1:8\nreturns:0:\nreturns:0:7\n")
    found = [tuple(row.values())[1:6] for row in capture.offsets]
    assert found == [
        ("billing", "orders", 0, 2, 42),
        ("billing", "orders", 1, None, 8),
        ("billing", "orders", 2, 7, 9),
        ("billing", "returns", 0, 1, 1),
        ("backfill", "orders", 0, 2, 42),
    ]
    assert "kafka-get-offsets.sh supplies the log end offset of 1 row of offsets" in capture.assumptions
    assert capture.reasons == [
        "end_offsets: partition 0 of topic 'returns' is listed more than once; the first is used"
    ]


def test_topics_have_the_ends_of_get_offsets() -> None:
    capture = Joined(topics=TOPICS_TXT, ends="orders:1:8\norders:0:50\n")
    ends = {row["topic"]: row["end_offsets"] for row in capture.topics}
    assert ends.pop("orders")[:2] == [50, 8]
    assert set(ends.values()) == {None}


def test_members_of_a_group() -> None:
    capture = Joined(members=MEMBERS_37_TXT, offsets=OFFSETS_TXT)
    assert capture.members[0] == dict.fromkeys(MEMBERS.names) | {
        "cluster": "blue",
        "group_id": "billing",
        "member_id": f"bill-{UUID_2}",
        "client_id": "bill",
        "host": "127.0.0.1",
        "protocol_type": "consumer",
        "protocols": ("range", "cooperative-sticky"),
        "subscription": ["orders"],
        "owned": [{"topic": "orders", "partition": 2}],
        "join_order": 0,
        "protocols_assumed": "library default",
    }
    assert capture.of_members("join_order") == [0, 1, 2]
    assert [owned(row) for row in capture.members] == [[("orders", 2)], [("orders", 0), ("orders", 1)], []]
    assert capture.assumptions == [
        "the protocols of 3 members (1 group) are unknown; Java's default, range, cooperative-sticky, is used",
        "the subscription of 3 members (1 group) is unknown; the topics of which their group owns partitions are used",
        "the rack of 3 members (1 group) is unknown: no tool prints client.rack",
        "join order is unknown for 3 members (1 group); the order of members.txt is used. "
        "Predicted leaders and tie-breaks may differ",
        "1 group (backfill) without members: nothing is predicted for them",
        "no output of kafka-topics.sh --describe: the topics table is empty",
    ]


@pytest.mark.parametrize(
    ("texts", "topics"),
    [
        ({"members": MEMBERS_37_TXT, "state": STATE_TXT}, ["orders"]),
        ({"members": MEMBERS_TXT}, ["orders"]),
        ({}, ["orders"]),
        (
            {"members": MEMBERS_37_TXT, "state": STATE_TXT.replace("Stable ", "PreparingRebalance ")},
            ["orders", "returns"],
        ),
        ({"members": MEMBERS_TXT.replace(" 2 ", " 3 ")}, ["orders", "returns"]),
        ({"members": re.sub(r"orders\([0-9,]+\)", "-", MEMBERS_37_TXT)}, ["orders", "returns"]),
    ],
    ids=["verbose", "not verbose", "offsets only", "in a rebalance", "an owner is unknown", "nobody owns anything"],
)
def test_offsets_of_a_topic_without_owner_are_of_an_earlier_subscription(
    texts: dict[str, str], topics: list[str]
) -> None:
    capture = Joined(offsets=OFFSETS_TXT, **texts)
    assert {tuple(row["subscription"]) for row in capture.members} == {tuple(topics)}
    how = "of which their group owns partitions" if len(topics) == 1 else "that their group owns or has offsets for"
    assert any(sentence.endswith(f"is unknown; the topics {how} are used") for sentence in capture.assumptions)


@pytest.mark.parametrize(
    ("text", "because"),
    [
        (MEMBERS_TXT, "--members was run without --verbose"),
        (MEMBERS_39_TXT, "Kafka 3.8 and 3.9 print them without topics"),
    ],
    ids=["not verbose", "topic names lost"],
)
def test_owned_partitions_from_offsets(text: str, because: str) -> None:
    capture = Joined(members=text, offsets=OFFSETS_TXT)
    assert capture.rejects == []
    assert [owned(row) for row in capture.members] == [[("orders", 2)], [("orders", 0), ("orders", 1)], []]
    assert f"owned partitions of 2 members (1 group) are taken from --offsets: {because}" in capture.assumptions


def test_owned_partitions_that_nothing_shows() -> None:
    capture = Joined(members=MEMBERS_39_TXT)
    assert [owned(row) for row in capture.members] == [None, None, []]
    assert capture.of_members("subscription") == [[], [], []]
    assumed = " ".join(capture.assumptions)
    assert "owned partitions of 2 members (1 group) are unknown" in assumed
    assert "subscription of 3 members (1 group) is empty" in assumed
    assert "no output of kafka-consumer-groups.sh --offsets: the offsets table is empty" in assumed


def test_offsets_of_another_moment() -> None:
    fewer = "\n".join(line for line in OFFSETS_TXT.split("\n") if " 1          -" not in line)
    capture = Joined(members=MEMBERS_TXT, offsets=fewer)
    assert [owned(row) for row in capture.members] == [[("orders", 2)], [("orders", 0)], []]
    assert any("partition count of 1 member (1 group) differs" in sentence for sentence in capture.assumptions)


def test_a_member_in_two_files_is_read_once_and_with_its_partitions() -> None:
    capture = Joined(a=MEMBERS_TXT, b=MEMBERS_37_TXT)
    assert [owned(row) for row in capture.members] == [[("orders", 2)], [("orders", 0), ("orders", 1)], []]
    assert [json.loads(row["row"])["file"] for row in capture.rejects] == ["a.txt"] * 3
    assert capture.reasons[0] == "members: the member is listed more than once; b.txt line 3 is used"


BY_ELECTION = "the protocol that their group elected is used"


@pytest.mark.parametrize(
    ("given", "files", "expected", "assumed"),
    [
        ((), {}, ("range", "cooperative-sticky"), "Java's default, range, cooperative-sticky, is used"),
        ((), {"state": STATE_TXT}, ("roundrobin",), BY_ELECTION),
        (("sticky", "range"), {"state": STATE_TXT}, ("sticky", "range"), "those of the option protocols are used"),
    ],
    ids=["default", "elected", "option"],
)
def test_protocols(given: tuple[str, ...], files: dict[str, str], expected: tuple[str, ...], assumed: str) -> None:
    capture = Joined(*given, members=MEMBERS_37_TXT, offsets=OFFSETS_TXT, **files)
    assert capture.of_members("protocols") == [expected] * 3
    assert f"the protocols of 3 members (1 group) are unknown; {assumed}" in capture.assumptions


def test_protocols_of_recognized_libraries() -> None:
    """The names are those of a capture with consumers of many libraries; the others are Java's or configured."""
    kafka_go = "search-indexer@search-indexer-7d9f1 (github.com/segmentio/kafka-go)"
    elected = {
        "pricing-go": ("kgo", "cooperative-sticky"),
        "search-indexer": (kafka_go, "range"),
        "sessionizer": ("rdkafka", "cooperative-sticky"),
        "payments": ("rdkafka", "range"),
        "ledger": ("rdkafka", "roundrobin"),
        "recommender-py": ("aiokafka-0.12.0", "roundrobin"),
        "mailer": ("mailer-1", "RoundRobinAssigner"),
        "orders": ("consumer-orders-1", "range"),
        "starting": ("sarama", ""),
    }
    header = f"{'GROUP':20} {'CONSUMER-ID':110} {'HOST':10} {'CLIENT-ID':70} #PARTITIONS ASSIGNMENT"
    members = [header]
    states = [f"{'GROUP':20} COORDINATOR (ID)      ASSIGNMENT-STRATEGY STATE           #MEMBERS"]
    for group_id, (client_id, strategy) in elected.items():
        members.append(f"{group_id:20} {f'{client_id}-{UUID}':110} {'/10.0.0.1':10} {client_id:70} 0           -")
        states.append(f"{group_id:20} 127.0.0.1:9092  (0)   {strategy:19} Stable          1")
    capture = Joined(members="\n".join(members), state="\n".join(states))
    assert capture.rejects == []
    assert dict(zip(elected, capture.of_members("client_library"), strict=True)) == {
        "pricing-go": "franz-go",
        "search-indexer": "kafka-go",
        "sessionizer": "librdkafka",
        "payments": "librdkafka",
        "ledger": "librdkafka",
        "recommender-py": "aiokafka",
        "mailer": "kafkajs",
        "orders": "java",
        "starting": "sarama",
    }
    assert dict(zip(elected, capture.of_members("protocols"), strict=True)) == {
        "pricing-go": ("cooperative-sticky",),
        "search-indexer": ("range", "roundrobin"),
        "sessionizer": ("cooperative-sticky",),
        "payments": ("range", "roundrobin"),
        "ledger": ("roundrobin",),
        "recommender-py": ("roundrobin",),
        "mailer": ("RoundRobinAssigner",),
        "orders": ("range",),
        "starting": ("range",),
    }
    unknown = "the protocols of {} are unknown; "
    for sentence in (
        unknown.format("1 member (1 group)") + "librdkafka's default, range, roundrobin, is used",
        unknown.format("1 member (1 group)") + "sarama's default, range, is used",
        unknown.format("3 members (3 groups)") + BY_ELECTION,
    ):
        assert sentence in capture.assumptions
    assert not any("Java's default" in sentence for sentence in capture.assumptions)


def test_the_option_protocols_comes_before_defaults_of_libraries() -> None:
    capture = Joined("sticky", members=MEMBERS_37_TXT.replace(" bill ", " kgo  "))
    assert capture.of_members("client_library") == ["franz-go"] * 3
    assert capture.of_members("protocols") == [("sticky",)] * 3


def test_defaults_of_a_library_that_consumers_csv_names() -> None:
    consumers = "group_id,client_id,client_library\nbilling,bill,librdkafka\n"
    capture = Joined(members=MEMBERS_37_TXT, consumers__csv=consumers)
    assert capture.of_members("protocols") == [("range", "roundrobin")] * 3


STATIC_TXT = f"""
GROUP           CONSUMER-ID                                 GROUP-INSTANCE-ID HOST            CLIENT-ID       \
#PARTITIONS     ASSIGNMENT
billing         till-1-{UUID} till-1            /127.0.0.1      bill            1               orders(0)
billing         till-2-{UUID} till-2            /127.0.0.1      bill            1               orders(1)
billing         bill-{UUID}                     /127.0.0.1      bill            0               -
"""


def test_consumers_csv_supplies_what_no_tool_prints() -> None:
    consumers = (
        "group_id,client_id,protocols,subscription,rack,instance_id,client_library,client_version\n"
        "billing,bill,sticky;range,orders;returns,rack-a,,sarama,1.43.0\n"
        "billing,bill,range,,rack-b,till-2,,\n"
    )
    capture = Joined("roundrobin", members=STATIC_TXT, consumers__csv=consumers)
    assert capture.rejects == []
    assert capture.of_members("instance_id") == ["till-1", "till-2", None]
    assert capture.of_members("protocols") == [("sticky", "range"), ("range",), ("sticky", "range")]
    assert capture.of_members("subscription") == [["orders", "returns"], ["orders"], ["orders", "returns"]]
    assert capture.of_members("rack") == ["rack-a", "rack-b", "rack-a"]
    assert capture.of_members("client_library") == ["sarama", None, "sarama"]
    assert capture.of_members("client_version") == ["1.43.0", None, "1.43.0"]
    assert capture.of_members("client_evidence") == ["consumers.csv", None, "consumers.csv"]
    assert not any(sentence.startswith(("protocols", "rack")) for sentence in capture.assumptions)
    assert any(sentence.startswith("the subscription of 1 member (1 group)") for sentence in capture.assumptions)


def test_consumers_csv_may_say_the_same_for_several_members() -> None:
    consumers = "group_id,client_id,protocols\n" + "billing,bill,sticky\n" * 3
    capture = Joined(members=MEMBERS_37_TXT, consumers__csv=consumers)
    assert capture.of_members("protocols") == [("sticky",)] * 3
    assert capture.rejects == []


def test_rows_of_consumers_csv_that_are_of_no_use() -> None:
    consumers = (
        "group_id,client_id,protocols,instance_id\n"
        "billing,bill,sticky,\nbilling,bill,range,\nbilling,app,range,\nelsewhere,bill,range,\nbilling,bill,range,till-9\n"
    )
    capture = Joined(members=MEMBERS_37_TXT, consumers__csv=consumers)
    assert capture.of_members("protocols") == [("sticky",)] * 3
    assert capture.reasons == [
        "consumers: this client has another row in consumers.csv line 2, which is used",
        "consumers: no member of group 'billing' has client_id 'app'",
        "consumers: no member of group 'elsewhere' has client_id 'bill'",
        "consumers: no member of group 'billing' with client_id 'bill' has instance_id 'till-9'",
    ]
    everyone = "group_id,client_id,instance_id\nbilling,bill,till-1\nbilling,bill,till-2\nbilling,bill,\n"
    without_dynamic = STATIC_TXT.replace(f"billing         bill-{UUID} ", "other           bill-1" + " " * 36)
    assert Joined(members=without_dynamic, consumers__csv=everyone).reasons == [
        "consumers: every member with this client_id has a row with its instance_id"
    ]


# --- groups of KIP-848 ---

VERBOSE_4_TXT = f"""
GROUP           CONSUMER-ID                               HOST            CLIENT-ID       #PARTITIONS     \
CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT
billing         bill-{UUID} /127.0.0.1      bill            1               \
@               orders:0             -               -
"""
UNIFORM_TXT = STATE_TXT.replace("roundrobin", "uniform   ")
KIP_848_ID = "8XYk0V8BRZCMtoYgMwwEoA"
LIST_TXT = "GROUP                     TYPE                 STATE\nbilling                   {}             Stable\n"
DEFAULT = ["range", "cooperative-sticky"]
ONE_UUID_TXT = MEMBERS_TXT.replace(f"bill-{UUID}", KIP_848_ID + " " * 19)
SERVER = "the group's current assignor is used"
SERVER_DEFAULT = "the coordinator's default, server-uniform, is used"
KIP_848_CASES: dict[str, tuple[dict[str, str], list[list[str]], str | None]] = {
    "member epoch": ({"members": VERBOSE_4_TXT.replace("@", "4")}, [["server-uniform"]], SERVER_DEFAULT),
    "no member epoch": ({"members": VERBOSE_4_TXT.replace("@", "-")}, [DEFAULT], None),
    "no member epoch, but an assignor of that name": (
        {"members": VERBOSE_4_TXT.replace("@", "-"), "state": UNIFORM_TXT},
        [["uniform"]],
        None,
    ),
    "assignor": ({"members": MEMBERS_TXT, "state": UNIFORM_TXT}, [["server-uniform"]] * 3, SERVER),
    "state": (
        {
            "members": MEMBERS_TXT,
            "state": STATE_TXT.replace("roundrobin", "range     ").replace("Stable     ", "Reconciling"),
        },
        [["server-range"]] * 3,
        SERVER,
    ),
    "type": ({"members": MEMBERS_TXT, "list": LIST_TXT.format("Consumer")}, [["server-uniform"]] * 3, SERVER_DEFAULT),
    "another type": (
        {"members": MEMBERS_TXT, "state": UNIFORM_TXT, "list": LIST_TXT.format("Classic ")},
        [["uniform"]] * 3,
        None,
    ),
    "member id": ({"members": ONE_UUID_TXT}, [DEFAULT, ["server-uniform"], DEFAULT], SERVER_DEFAULT),
    "none": ({"members": MEMBERS_TXT, "state": STATE_TXT}, [["roundrobin"]] * 3, None),
}


@pytest.mark.parametrize(("files", "protocols", "assumed"), KIP_848_CASES.values(), ids=KIP_848_CASES)
def test_groups_of_kip_848(files: dict[str, str], protocols: list[list[str]], assumed: str | None) -> None:
    consumers = "group_id,client_id,subscription\nbilling,bill,orders\n"
    capture = Joined(consumers__csv=consumers, **files)
    assert [[*each] for each in capture.of_members("protocols")] == protocols
    # The group of one member is listed with three by --state.
    assert {each["reason"] for each in capture.rejects} <= {ONE_MORE}
    used = [each[each.index("; ") + 2 :] for each in capture.assumptions if each.endswith((SERVER, SERVER_DEFAULT))]
    assert used == ([] if assumed is None else [assumed])


def mixed(upgraded: dict[str, str]) -> str:
    """Members of a group of KIP-848, as 4.x prints them with --verbose."""
    header = (
        "GROUP           CONSUMER-ID                               HOST            CLIENT-ID       #PARTITIONS     "
        "CURRENT-EPOCH   CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   UPGRADED\n"
    )
    lines = [
        f"billing         {member_id:<41} /127.0.0.1      bill            1               "
        f"4               orders:{n}             4               orders:{n}            {flag}\n"
        for n, (member_id, flag) in enumerate(upgraded.items())
    ]
    return "".join([header, *lines])


def test_members_that_migrate() -> None:
    """What the tool says of a member counts before its id, and the option is for those of the classic protocol."""
    members = mixed({f"bill-{UUID}": "false", KIP_848_ID: "true", f"bill-{UUID_2}": "true"})
    capture = Joined("roundrobin", members=members, state=UNIFORM_TXT)
    found = [[*each] for each in capture.of_members("protocols")]
    assert found == [["roundrobin"], ["server-uniform"], ["server-uniform"]]
    assert [owned(row) for row in capture.members] == [[("orders", 0)], [("orders", 1)], [("orders", 2)]]
    by_id = Joined(members=ONE_UUID_TXT)
    assert any(
        each.startswith("2 members (1 consumer-protocol group) assumed to use the classic protocol")
        for each in by_id.assumptions
    )


def test_assignors_of_the_coordinator_in_consumers_csv() -> None:
    """They are the members' preferred assignors; a list of classic protocols dates from before the migration."""
    members = MEMBERS_TXT.replace("bill   ", "one    ", 1)
    both = "group_id,client_id,protocols\nbilling,bill,server-range\nbilling,one,sticky\n"
    capture = Joined(members=members, state=UNIFORM_TXT, consumers__csv=both)
    found = [[*each] for each in capture.of_members("protocols")]
    assert found == [["server-uniform"], ["server-range"], ["server-range"]]
    assert capture.rejects == []


# --- groups without members, or on the way to others ---


def test_groups_without_members() -> None:
    members = MEMBERS_37_TXT + "\nConsumer group 'idle' has no active members.\n"
    capture = Joined(members=members, offsets=OFFSETS_TXT, state=STATE_TXT.replace("backfill", "resting "))
    assert capture.groups_without_members == ["backfill", "idle", "resting"]
    assert "3 groups (backfill, idle, resting) without members: nothing is predicted for them" in capture.assumptions


def test_groups_whose_members_were_not_captured() -> None:
    state = STATE_TXT.replace("backfill", "shop    ").replace("  0\n", "  2\n")
    capture = Joined(members=MEMBERS_37_TXT, state=state, offsets=OFFSETS_TXT.replace("billing", "payment"))
    assert (capture.groups_without_members, capture.unread_groups) == (["backfill"], ["shop"])
    assert "1 group (shop) missing from the output of --members, but --state shows members" in capture.assumptions
    (reject,) = capture.rejects
    assert [reject[name] for name in ("table", "group_id", "reason")] == ["members", "shop", NOT_CAPTURED]
    assert json.loads(reject["row"])["text"].startswith("shop ")
    found = {row["member_id"] for row in capture.members if row["group_id"] == "payment"}
    assert found == {f"bill-{UUID}", f"bill-{UUID_2}"}


MORE_SHOWN = "state or offsets show more members than were read, perhaps because the commands ran at different times"


@pytest.mark.parametrize("shown", [{"state": STATE_TXT}, {"offsets": OFFSETS_TXT}], ids=["state", "offsets"])
def test_a_group_that_has_lost_one_of_its_member_lines(shown: dict[str, str]) -> None:
    lost = "\n".join(line for line in MEMBERS_37_TXT.split("\n") if f"bill-{UUID_2}" not in line)
    capture = Joined(members=lost, **shown)
    assert len(capture.members) == 2
    assert f"members of 1 group (billing) may be missing: {MORE_SHOWN}" in capture.assumptions
    (reject,) = capture.rejects
    assert [reject[name] for name in ("table", "group_id")] == ["members", "billing"]
    assert reject["reason"] == (ONE_MORE if "state" in shown else NOT_LISTED)
    complete = Joined(members=MEMBERS_37_TXT, **shown)
    assert complete.rejects == []
    assert not any(MORE_SHOWN in sentence for sentence in complete.assumptions)


def test_a_group_whose_member_lines_are_broken_is_not_without_members() -> None:
    capture = Joined(members=MEMBERS_37_TXT.replace("orders(", "orders[)"), offsets=OFFSETS_TXT)
    assert capture.groups_without_members == ["backfill"]
    assert len(capture.members) == 1
    assert len(capture.rejects) == 2


@pytest.mark.parametrize("state", ["PreparingRebalance", "CompletingRebalance"])
def test_groups_in_a_rebalance(state: str) -> None:
    members = MEMBERS_37_TXT + "\nWarning: Consumer group 'shop' is rebalancing.\n"
    capture = Joined(members=members, state=STATE_TXT.replace("Stable         ", state))
    change = "members and owned partitions may be about to change"
    assert f"2 groups (billing, shop) in the middle of a rebalance; {change}" in capture.assumptions
    assert capture.of_members("group_state") == [state] * 3


# --- files ---

MEMBERS_20_TXT = "\n".join(line[16:] for line in MEMBERS_37_TXT.split("\n"))
OFFSETS_20_TXT = "\n".join(line[16:] for line in OFFSETS_TXT.partition("\n\n")[0].split("\n"))


def test_before_2_3_the_file_names_the_group() -> None:
    capture = Joined(my__group__members__txt=MEMBERS_20_TXT, my__group__txt=OFFSETS_20_TXT)
    assert capture.rejects == []
    assert set(capture.of_members("group_id")) == {"my.group"}
    assert {row["group_id"] for row in capture.offsets} == {"my.group"}
    assert (
        "2 files without a GROUP column: the group is taken from messages in the file or its name, such as "
        "my.group for my.group.members.txt" in capture.assumptions
    )


def test_before_2_3_a_message_names_the_group() -> None:
    text = "Warning: Consumer group 'web shop' is rebalancing.\n" + MEMBERS_20_TXT
    assert set(Joined(members=text).of_members("group_id")) == {"web shop"}


def test_before_2_3_nothing_may_name_the_group() -> None:
    capture = Joined(members=MEMBERS_20_TXT)
    assert capture.members == []
    advice = "name the file GROUP.members.txt, GROUP.offsets.txt or GROUP.txt"
    assert capture.reasons == [f"members: no GROUP column (Kafka before 2.3); {advice}"] * 3


def test_a_file_of_no_known_kind_is_one_reject() -> None:
    capture = Joined(members=MEMBERS_37_TXT, notes__md="\n# Notes\n\nWhat we did.\n")
    row = '{"file": "notes.md", "line": 2, "text": "# Notes"}'
    reject = {"table": "file", "cluster": "blue", "group_id": None, "row": row}
    assert capture.rejects == [reject | {"reason": "the file is not the output of a supported tool"}]


def test_one_file_may_hold_everything() -> None:
    capture = Joined(all=TOPICS_TXT + OFFSETS_TXT + STATE_TXT + MEMBERS_37_TXT + "orders:1:8\n")
    assert (len(capture.topics), len(capture.offsets), len(capture.members)) == (2, 5, 3)
    assert capture.rejects == []


def test_errors_of_the_tools_are_reported() -> None:
    text = "Error: Consumer group 'gone' does not exist.\n[2026-03-01 10:00:00,1] WARN x (y)\n" + MEMBERS_37_TXT
    capture = Joined(members=text, empty="\n\n")
    assert capture.rejects == []
    assert capture.assumptions[-2:] == [
        "no content in empty.txt",
        "the tools printed 1 error; parts of the cluster may be missing. members.txt line 1: "
        "Error: Consumer group 'gone' does not exist.",
    ]


# --- with Spark ---


@pytest.fixture
def directory(tmp_path: Path) -> Callable[..., str]:
    """Write files into a directory."""

    def write(**texts: str | bytes) -> str:
        for file, text in texts.items():
            content = text if isinstance(text, bytes) else text.encode()
            (tmp_path / f"{file}.txt").write_bytes(content)
        return str(tmp_path)

    return write


def test_tables_have_the_schemas_that_they_promise(spark: SparkSession, directory: Callable[..., str]) -> None:
    capture = read_capture(spark, directory(members=MEMBERS_37_TXT), cluster="blue", protocols=["sticky"])
    tables = {TOPICS: capture.topics, MEMBERS: capture.members, OFFSETS: capture.offsets, REJECTS: capture.rejects}
    for table, frame in tables.items():
        assert frame.schema == table.schema
    assert [(row.cluster, row.protocols) for row in capture.members.collect()] == [("blue", ["sticky"])] * 3
    assert capture.topics.count() == capture.offsets.count() == capture.rejects.count() == 0


def test_file_names_and_encodings(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "wörk & 100%.members.txt").write_bytes(MEMBERS_20_TXT.encode("utf-16"))
    (tmp_path / "b=c.log").write_bytes(b"\xef\xbb\xbf" + OFFSETS_TXT.replace("\n", "\r\n").encode())
    (tmp_path / "c.bin").write_bytes(b"\x00\xff\x1f\x8b")
    capture = read_capture(spark, str(tmp_path))
    assert {row.group_id for row in capture.members.collect()} == {"wörk & 100%", "billing"}
    assert capture.offsets.count() == 5
    (reject,) = capture.rejects.collect()
    assert json.loads(reject.row)["file"] == "c.bin"


def test_hidden_files_are_named(spark: SparkSession, directory: Callable[..., str]) -> None:
    capture = read_capture(spark, directory(members=MEMBERS_37_TXT, _old=MEMBERS_37_TXT))
    assert "files whose names begin with _ or . are skipped: _old.txt" in capture.assumptions


def test_order_of_files_is_that_of_their_names(spark: SparkSession, directory: Callable[..., str]) -> None:
    files = {f"m{number:02}": MEMBERS_37_TXT.replace("bill-", f"b{number:02}--") for number in range(20)}
    capture = read_capture(spark, directory(**files))
    ids = [row.member_id for row in capture.members.orderBy("join_order").collect()]
    assert [member_id[:3] for member_id in ids] == [f"b{number // 3:02}" for number in range(60)]


def test_an_error_of_the_tools_is_why_members_are_missing(spark: SparkSession, directory: Callable[..., str]) -> None:
    """Printed by 4.3.1 to a user who may list all groups and describe some."""
    error = (
        "Error: Executing consumer group command failed due to org.apache.kafka.common.errors."
        "GroupAuthorizationException: FindCoordinator request for groupId `CoordinatorKey(idValue='g2', type=GROUP)` "
    )
    with pytest.raises(UserError, match=r"no members of groups \(members.txt line 2: Error: Executing .*idValue='g2'"):
        read_capture(spark, directory(members=f"\n{error}failed due to authorization failure\n"))


def test_members_are_needed(spark: SparkSession, directory: Callable[..., str]) -> None:
    path = directory(offsets=OFFSETS_TXT.replace("bill-", "    -").replace(UUID, "").replace(UUID_2, ""))
    with pytest.raises(UserError, match=r"no members of groups; .*--all-groups --members --verbose") as raised:
        read_capture(spark, path)
    assert path in str(raised.value)


def test_a_directory_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot read the capture .*missing"):
        read_capture(spark, str(tmp_path / "missing"))


@pytest.mark.parametrize("protocols", [[], [""], "range"])
def test_protocols_must_be_a_list_of_names(spark: SparkSession, protocols: list[str]) -> None:
    with pytest.raises(UserError, match="protocols: expected a list"):
        read_capture(spark, "anywhere", protocols=protocols)


# --- what real brokers printed ---


@pytest.fixture(scope="module", params=["4.3.1", "3.9.2"])
def example(request: pytest.FixtureRequest, spark: SparkSession) -> tuple[Capture, dict[str, Any]]:
    """A capture of a real cluster, and what the cluster's own records say."""
    path = EXAMPLES / f"kafka-{request.param}"
    truth: dict[str, Any] = json.loads(path.with_name(f"{path.name}.truth.json").read_text())
    return read_capture(spark, str(path)), truth["groups"]


def test_real_members(example: tuple[Capture, dict[str, Any]]) -> None:
    capture, truth = example
    found = defaultdict(set)
    for row in capture.members.collect():
        found[row.group_id].add(row.member_id)
    assert found == {group: set(each["join_order"]) for group, each in truth.items()}


def test_real_owned_partitions(example: tuple[Capture, dict[str, Any]]) -> None:
    capture, truth = example
    stable = {group: each for group, each in truth.items() if each["state"] == "Stable"}
    assert len(stable) > 15
    found = {row.member_id: owned(row) for row in capture.members.collect() if row.group_id in stable}
    expected = {
        member_id: sorted((topic, partition) for topic, partition in partitions)
        for each in stable.values()
        for member_id, partitions in each["assignments"].items()
    }
    assert found == expected


def test_real_rejects(example: tuple[Capture, dict[str, Any]]) -> None:
    capture, _ = example
    assert capture.rejects.isEmpty()


def test_real_assumptions(example: tuple[Capture, dict[str, Any]]) -> None:
    capture, truth = example
    assumed = "\n".join(capture.assumptions)
    assert capture.groups_without_members == ["backfill", "nightly-export", "visitors"]
    assert "1 group (mid-rebalance) in the middle of a rebalance" in assumed
    assert "3 groups (backfill, nightly-export, visitors) without members" in assumed
    has_kip848 = any(each["type"] == "consumer" for each in truth.values())
    assert assumed.count("preferred assignor of") == has_kip848
    assert ("the preferred assignor of 3 members (1 consumer-protocol group) is unknown" in assumed) == has_kip848
