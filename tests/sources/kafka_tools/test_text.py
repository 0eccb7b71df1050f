"""What single lines of the tools' output say."""

from dataclasses import replace
from typing import Any

import pytest

from rebalance_sim.sources.kafka_tools.contents import (
    BadLine,
    ConsumerLine,
    Content,
    EndOffsetLine,
    HeaderLine,
    MemberLine,
    Notice,
    NoticeLine,
    OffsetLine,
    PartitionLine,
    StateLine,
    ToolOutput,
    TopicLine,
)
from rebalance_sim.sources.kafka_tools.listed_groups import GroupLine
from rebalance_sim.sources.kafka_tools.text import read_lines, survey

UUID = "4d4391e5-b529-4c02-bb6f-bef6ebc1bf38"


def contents(text: str) -> list[Content]:
    """All but the headers."""
    found = [line.content for line in read_lines(text.splitlines(keepends=True))]
    return [content for content in found if not isinstance(content, HeaderLine)]


def only(text: str) -> Content:
    (content,) = contents(text)
    return content


def reason(text: str) -> str:
    bad = only(text)
    assert isinstance(bad, BadLine)
    return bad.reason


# --- kafka-topics --describe ---

TOPICS = {
    "1.0 to 2.3": ("Topic:orders\tPartitionCount:12\tReplicationFactor:1\tConfigs:", TopicLine("orders", None, 12)),
    "2.4 to 2.7": (
        "Topic: orders\tPartitionCount: 12\tReplicationFactor: 1\tConfigs: retention.ms=5,cleanup.policy=compact",
        TopicLine("orders", None, 12),
    ),
    "2.8 on": (
        "Topic: page.views_2\tTopicId: cM6v_SyUQWuk9A324MZPIg\tPartitionCount: 4\tReplicationFactor: 1\tConfigs: ",
        TopicLine("page.views_2", "cM6v_SyUQWuk9A324MZPIg", 4),
    ),
    "marked for deletion": (
        "Topic: old\tPartitionCount: 1\tReplicationFactor: 1\tConfigs: \tMarkedForDeletion: true",
        TopicLine("old", None, 1),
    ),
    "tabs pasted as spaces": (
        "Topic: orders    TopicId: cM6v_SyUQWuk9A324MZPIg    PartitionCount: 3    ReplicationFactor: 2   Configs:",
        TopicLine("orders", "cM6v_SyUQWuk9A324MZPIg", 3),
    ),
    "partition": (
        "\tTopic: orders\tPartition: 3\tLeader: 1\tReplicas: 1,2\tIsr: 1,2",
        PartitionLine("orders", 3, has_leader=True),
    ),
    "partition of 4.x": (
        "\tTopic: orders\tPartition: 3\tLeader: 1\tReplicas: 1\tIsr: 1\tElr: \tLastKnownElr: ",
        PartitionLine("orders", 3, has_leader=True),
    ),
    "partition on the move": (
        "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 1,2\tIsr: 1\tAdding Replicas: 2\tRemoving Replicas: ",
        PartitionLine("orders", 0, has_leader=True),
    ),
    "no leader": (
        "\tTopic: orders\tPartition: 0\tLeader: none\tReplicas: 1\tIsr: ",
        PartitionLine("orders", 0, has_leader=False),
    ),
    "no leader, by ZooKeeper": (
        "\tTopic: orders\tPartition: 0\tLeader: -1\tReplicas: 1\tIsr: ",
        PartitionLine("orders", 0, has_leader=False),
    ),
}


# --- kafka-consumer-groups --describe --offsets ---

OFFSETS_1_0 = (
    "TOPIC                          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG        "
    "CONSUMER-ID                                       HOST                           CLIENT-ID\n"
)
OFFSETS_2_3 = (
    "GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG             "
    "CONSUMER-ID     HOST            CLIENT-ID\n"
)
# test_layouts.py reads back rows of every layout. Here is what it does not write, and rows that older releases printed.
OFFSETS = {
    "1.0": (
        OFFSETS_1_0 + "orders                         0          20              42              22         "
        f"app-{UUID}          /127.0.0.1                     app\n",
        OffsetLine(None, ("orders", 0), 20, 42, f"app-{UUID}", "127.0.0.1", "app"),
    ),
    "1.0, a member without partitions": (
        OFFSETS_1_0 + "-                              -          -               -               -          "
        f"app-{UUID}          /127.0.0.1                     app\n",
        OffsetLine(None, None, None, None, f"app-{UUID}", "127.0.0.1", "app"),
    ),
    "1.0, consumers by ZooKeeper": (
        "TOPIC                          PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG        CONSUMER-ID\n"
        "orders                         0          20              42              22         g_host-1-ab\n",
        OffsetLine(None, ("orders", 0), 20, 42, "g_host-1-ab"),
    ),
    "-1 for no offset": (
        OFFSETS_2_3 + "backfill        orders          1          -1              21              -               "
        "-               -               -\n",
        OffsetLine("backfill", ("orders", 1), None, 21, None),
    ),
    "padding lost": (
        "GROUP TOPIC PARTITION CURRENT-OFFSET LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID\n"
        f"backfill orders 1 2 21 19 app-{UUID} /127.0.0.1 my app\n",
        OffsetLine("backfill", ("orders", 1), 2, 21, f"app-{UUID}", "127.0.0.1", "my app"),
    ),
    "tabs": (
        "GROUP\tTOPIC\tPARTITION\tCURRENT-OFFSET\tLOG-END-OFFSET\tLAG\tCONSUMER-ID\tHOST\tCLIENT-ID\n"
        "backfill\torders\t1\t2\t21\t19\t-\t-\t-\n",
        OffsetLine("backfill", ("orders", 1), 2, 21, None),
    ),
}


# --- kafka-consumer-groups --describe --state ---

STATES = {
    "1.1 to 2.2": (
        "COORDINATOR (ID)          ASSIGNMENT-STRATEGY       STATE                #MEMBERS\n"
        "127.0.0.1:9092 (0)        range                     Stable               3\n",
        StateLine(None, "range", "Stable", 3, None),
    ),
    "2.3 to 3.9, group, coordinator and strategy wider than their columns": (
        "GROUP                                         COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE"
        "           #MEMBERS\n"
        "billing of all the shops (blue) and the rest of it broker-1.eu-west.kafka.example:9092  (11) "
        "com.example.OurOwnAssignor Stable          3\n",
        StateLine(
            "billing of all the shops (blue) and the rest of it", "com.example.OurOwnAssignor", "Stable", 3, None
        ),
    ),
    "4.x, a state of KIP-848": (
        "GROUP           COORDINATOR (ID)          ASSIGNMENT-STRATEGY  STATE                #MEMBERS\n"
        "backfill        127.0.0.1:47987  (1)      range                Reconciling          2\n",
        StateLine("backfill", "range", "Reconciling", 2, is_kip848=True),
    ),
}


# --- kafka-consumer-groups --describe --members ---


def member(client: str = "app", **fields: Any) -> MemberLine:
    """A member of billing without partitions, unless the fields say otherwise."""
    line = MemberLine("billing", f"{client}-{UUID}", None, client, "127.0.0.1", 0, None, False, None, None)
    return replace(line, **fields)


MEMBERS = {
    "1.1 to 2.2 --verbose": (
        "CONSUMER-ID                              HOST            CLIENT-ID       #PARTITIONS     ASSIGNMENT\n"
        f"app-{UUID} /127.0.0.1      app             3               a(0), b.c(1,12)\n",
        member(group_id=None, partitions=3, assignment=(("a", 0), ("b.c", 1), ("b.c", 12))),
    ),
    "a character that Java counts twice": (
        "GROUP           CONSUMER-ID                                   HOST            CLIENT-ID       #PARTITIONS\n"
        f"billing         🚀 wörker-{UUID} /127.0.0.1      🚀 wörker       0               \n",
        member(client="🚀 wörker"),
    ),
    "trailing spaces cut off": (
        "GROUP           CONSUMER-ID                              HOST            CLIENT-ID       #PARTITIONS\n"
        f"billing         app-{UUID} /127.0.0.1      app             2\n",
        member(partitions=2),
    ),
}


# --- the other kinds ---

OTHERS = {
    "kafka-get-offsets": ("orders:3:42\n", EndOffsetLine("orders", 3, 42)),
    "kafka-get-offsets, no leader": ("orders:3:\n", EndOffsetLine("orders", 3, None)),
    "kafka-get-offsets up to 1.1 --offsets 2": ("orders:3:42,0\n", EndOffsetLine("orders", 3, 42)),
    "--list --type": (
        "GROUP                     TYPE                 STATE               \n"
        "web shop                  Consumer             Stable              \n",
        GroupLine("web shop", "consumer", state="Stable"),
    ),
    "kafka-groups --list": (
        "GROUP                     TYPE                 PROTOCOL            \n"
        "connectors                Classic              connect             \n",
        GroupLine("connectors", "classic", "connect"),
    ),
    "kafka-groups --list, offsets only": (
        "GROUP                     TYPE                 PROTOCOL            \n"
        "backfill                  Classic                                  \n",
        GroupLine("backfill", "classic", ""),
    ),
    "kafka-groups --list, another type": (
        "GROUP                     TYPE                 PROTOCOL            \n"
        "queue                     Share                share               \n",
        GroupLine("queue", "share", "share"),
    ),
    "consumers.csv": (
        "group_id,client_id,protocols,subscription,rack,instance_id\n"
        'web shop,"wörker: 2, spare",range;cooperative-sticky,page.views; alerts,rack-a,till-1\n',
        ConsumerLine(
            "web shop",
            "wörker: 2, spare",
            "till-1",
            ("range", "cooperative-sticky"),
            ("page.views", "alerts"),
            "rack-a",
        ),
    ),
    "consumers.csv with what is needed": (
        "client_id,group_id,protocols\napp,billing,\n",
        ConsumerLine("billing", "app", None, None, None, None),
    ),
}


LINES = [*TOPICS.items(), *OFFSETS.items(), *STATES.items(), *MEMBERS.items(), *OTHERS.items()]


@pytest.mark.parametrize(("text", "expected"), [line for _, line in LINES], ids=[layout for layout, _ in LINES])
def test_lines(text: str, expected: Content) -> None:
    assert only(text) == expected


# --- what is no data ---

NOTICES = {
    "Consumer group 'a 'b' c' has no active members.": NoticeLine(Notice.NO_MEMBERS, "a 'b' c"),
    "Warning: Consumer group 'billing' is rebalancing.": NoticeLine(Notice.REBALANCING, "billing"),
    "Error: Consumer group 'gone' does not exist.": NoticeLine(Notice.ERROR, None),
    "Error: Executing consumer group command failed due to null": NoticeLine(Notice.ERROR, None),
    "Error while executing topic command : Timed out": NoticeLine(Notice.ERROR, None),
    "Skip getting offsets for topic-partition orders-1 due to error: no leader": NoticeLine(Notice.ERROR, None),
    "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.TimeoutException: x": None,
    "Caused by: org.apache.kafka.common.errors.TimeoutException": None,
    "\tat java.base/java.util.concurrent.CompletableFuture.reportGet(CompletableFuture.java:396)": None,
    "\t... 11 more": None,
    "[2026-03-01 10:00:00,123] WARN [AdminClient clientId=adminclient-1] Connection lost (o.a.k.NetworkClient)": None,
    "2026-03-01T10:00:00.123Z main WARN No log4j 2 configuration file found": None,
    "SLF4J: Class path contains multiple SLF4J bindings.": None,
    "OpenJDK 64-Bit Server VM warning: Sharing is only supported for boot loader classes": None,
    "Picked up JAVA_TOOL_OPTIONS: -Xmx1g": None,
    "Note: This will not show information about old Zookeeper-based consumers.": None,
}


@pytest.mark.parametrize(("text", "expected"), NOTICES.items())
def test_notices(text: str, expected: Content | None) -> None:
    assert only(text) == (expected or NoticeLine(Notice.OTHER, None))
    table = "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
    assert only(table + text) == only(text)


def test_a_data_row_is_data_even_if_it_begins_like_a_log_line() -> None:
    row = only(
        "GROUP                              CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     \n"
        "[2026-03-01 10:00:00,123] WARN me  app-1           /127.0.0.1      app             0               \n"
    )
    assert isinstance(row, MemberLine)
    assert row.group_id == "[2026-03-01 10:00:00,123] WARN me"


# --- what is wrong with a line ---

MEMBERS_HEADER = (
    "GROUP           CONSUMER-ID     HOST            CLIENT-ID       #PARTITIONS     CURRENT-EPOCH   "
    "CURRENT-ASSIGNMENT   TARGET-EPOCH    TARGET-ASSIGNMENT   \n"
)
WRONG_OFFSETS = {
    "billing         orders          3": "3 columns, the header has 9: GROUP TOPIC PARTITION CURRENT-OFFSET "
    "LOG-END-OFFSET LAG CONSUMER-ID HOST CLIENT-ID",
    "billing         orders          x          1 2 1 - - -": "PARTITION is 'x', not a number",
    "billing         orders          -          1 2 1 - - -": "PARTITION is '-', not a number",
    "billing         orders          -3         1 2 1 - - -": "PARTITION is '-3', negative",
    "billing         orders          3          -7 2 1 - - -": "CURRENT-OFFSET is '-7', negative",
    f"billing         orders          3          {2**63} 2 1 - - -": f"CURRENT-OFFSET is '{2**63}'; the largest "
    f"allowed value is {2**63 - 1}",
    f"billing         orders          {'9' * 5000} 1 2 1 - - -": f"PARTITION is '{'9' * 77}...'; the largest allowed "
    "value is 999999",
    "billing         or/ders         3          1 2 1 - - -": "TOPIC is 'or/ders', not a topic name",
}
WRONG_MEMBERS = {
    "billing         app-1           /127.0.0.1      app": "4 columns, the header has 9: GROUP CONSUMER-ID HOST "
    "CLIENT-ID #PARTITIONS CURRENT-EPOCH CURRENT-ASSIGNMENT TARGET-EPOCH TARGET-ASSIGNMENT",
    "billing app-1 /127.0.0.1 app 2 - a:0,x - -": "the assignment contains 'a:0,x'; expected partitions of a topic",
    "billing app-1 /127.0.0.1 app 2 - a(0,1 - -": "the assignment contains 'a(0,1'; expected partitions of a topic",
    "billing app-1 /127.0.0.1 app 3 - a:0,1 - -": "the assignment has 2 partitions, but #PARTITIONS is 3",
    "billing app-1 /127.0.0.1 app 2 - a:0,0 - -": "the assignment lists a partition twice",
}
WRONG = {
    **{OFFSETS_2_3 + row: expected for row, expected in WRONG_OFFSETS.items()},
    **{MEMBERS_HEADER + row: expected for row, expected in WRONG_MEMBERS.items()},
    "GROUP CONSUMER-ID HOST CLIENT-ID #PARTITIONS ASSIGNMENT\nbilling app-1 /127.0.0.1 app 2 a(0), (1)\n": (
        "the assignment names the topics of only some partitions"
    ),
    "Topic: orders\tReplicationFactor: 1": "neither a topic (PartitionCount) nor a partition (Partition, Leader)",
    "Topic: orders\tPartitionCount: many\tReplicationFactor: 1": "PartitionCount is 'many', not a number",
    "Topic: orders\tPartitionCount: 1000001\tReplicationFactor: 1": (
        "PartitionCount is '1000001'; the largest allowed value is 1000000"
    ),
    "\tTopic: orders\tPartition: 0\tLeader: x\tReplicas: 1\tIsr: ": "Leader is 'x', not a number",
    "orders:x:3": "the partition is 'x', not a number",
    "orders:0:-3": "the offset is '-3', negative",
    "or/ders:0:3": "'or/ders' is not a topic name",
    "some words": "no header precedes the line",
    "GROUP                          TOPIC                          PARTITION  NEW-OFFSET     ": (
        "no supported tool prints the columns 'GROUP TOPIC PARTITION NEW-OFFSET'"
    ),
    "group_id,client_id,protocols\nbilling,app\n": "2 columns, the header has 3",
    "group_id,client_id,protocols\n,app,range\n": "group_id is empty",
    'group_id,client_id,protocols\nbilling,app,"range,sticky"\n': "protocols is 'range,sticky'; ';' separates names",
    'group_id,client_id\nbilling,"app\n': "not a line of CSV: unexpected end of data",
    "group_id,client_id,protocol\n": (
        "unknown column 'protocol'; allowed: group_id, client_id, protocols, subscription, rack, instance_id, "
        "client_library, client_version"
    ),
}


@pytest.mark.parametrize(("text", "expected"), WRONG.items(), ids=[text[-50:] for text in WRONG])
def test_wrong_lines(text: str, expected: str) -> None:
    assert reason(text) == expected


def test_a_wrong_row_still_tells_its_group() -> None:
    text = OFFSETS_2_3 + "web shop        orders          x          1 2 1 - - -\n"
    assert only(text) == BadLine(ToolOutput.OFFSETS, "web shop", "PARTITION is 'x', not a number")


def test_rows_after_an_unknown_table_do_not_count_to_the_table_before() -> None:
    text = OFFSETS_2_3 + "GROUP TOPIC PARTITION NEW-OFFSET\nbilling orders 1 5\n"
    assert [type(content) for content in contents(text)] == [BadLine, BadLine]


def test_each_group_has_a_header_of_its_own() -> None:
    text = (
        "\nGROUP   CONSUMER-ID HOST       CLIENT-ID #PARTITIONS\na       a 1         /127.0.0.1 a         1\n"
        "\nGROUP       CONSUMER-ID     HOST       CLIENT-ID #PARTITIONS\n"
        "bb b        b 2 3 4         /127.0.0.1 b 2       1\n"
    )
    rows = [content for content in contents(text) if isinstance(content, MemberLine)]
    found = [(row.group_id, row.member_id, row.client_id) for row in rows]
    assert found == [("a", "a 1", "a"), ("bb b", "b 2 3 4", "b 2")]


# --- files ---

FILES = {
    "": (False, None),
    "\n  \r\n": (False, None),
    '{"kafka": 1}\n': (False, (1, '{"kafka": 1}')),
    "\nGROUP TOPIC PARTITION NEW-OFFSET\n": (False, (2, "GROUP TOPIC PARTITION NEW-OFFSET")),
    "orders:1:2\n": (True, (1, "orders:1:2")),
    "group_id,client_id\n": (True, (1, "group_id,client_id")),
    "what?\nTopic: a\tPartitionCount: 1\n": (True, (1, "what?")),
    "Consumer group 'a' has no active members.\n": (True, (1, "Consumer group 'a' has no active members.")),
}


@pytest.mark.parametrize(("text", "expected"), FILES.items())
def test_survey(text: str, expected: tuple[bool, tuple[int, str] | None]) -> None:
    found = survey(text.splitlines(keepends=True))
    assert (found.known, found.first) == expected


def test_survey_finds_the_groups_that_messages_name() -> None:
    text = OFFSETS_2_3 + "Consumer group 'a' has no active members.\nWarning: Consumer group 'b' is rebalancing.\n"
    assert survey(text.splitlines()).noticed_groups == {"a", "b"}
