"""Groups of any type in the output of Kafka's tools.

All texts but those of 4.4 were printed by the tools of 4.3.1, with more spaces at the ends of lines. Those of
kafka-share-groups of 4.1, 4.2 and 4.4 have the same columns, except that 4.1 prints no LAG.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rebalance_sim.sources.assumptions import NOTHING_STATED
from rebalance_sim.sources.kafka_tools.capture import ONE_MORE, CaptureTables
from rebalance_sim.sources.kafka_tools.lines import Lines
from rebalance_sim.tables import LISTED_GROUPS, MEMBERS, OFFSETS, REJECTS, Table

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"
GROUPS = """\
GROUP                TYPE                 PROTOCOL
flink-job            Classic
stopped-queue        Share                share
fraud                Streams              streams
work queue           Share                share
billing              Classic              consumer
"""
LIST = """\
GROUP                     TYPE                 STATE
flink-job                 Classic              Empty
billing                   Classic              Stable
"""
LIST_STATE = """\
GROUP           STATE
stopped-queue   Empty
work queue      Stable
"""
SHARE = """\

GROUP           TOPIC           PARTITION  START-OFFSET  LAG
stopped-queue   returns         0          -             -
stopped-queue   returns         1          -             -

GROUP           TOPIC           PARTITION  START-OFFSET  LAG
work queue      orders          0          0             0
"""
SHARE_VERBOSE = """\

GROUP           TOPIC           PARTITION  LEADER-EPOCH  START-OFFSET  LAG
work queue      orders          0          0             0             0
"""
SHARE_NO_OFFSETS = "\nShare group 'stopped-queue' has no offset information.\n"
SHARE_MEMBERS = """\

Share group 'stopped-queue' has no active members.

GROUP           CONSUMER-ID            HOST            CLIENT-ID              #PARTITIONS  ASSIGNMENT
work queue      2Xi3l3M8R5yUdgK4RMwqbA /127.0.0.1      console-share-consumer 2            orders:0,1
work queue      NQ8YoGZvRFKHF_voRd7T3g /127.0.0.1      console-share-consumer 2            orders:2,3
"""
SHARE_MEMBERS_VERBOSE = """\

GROUP           CONSUMER-ID            HOST            CLIENT-ID              #PARTITIONS  MEMBER-EPOCH  ASSIGNMENT
work queue      2Xi3l3M8R5yUdgK4RMwqbA /127.0.0.1      console-share-consumer 2            3             orders:0,1
work queue      GSLKXR7cTjupoif3zMEUQQ /127.0.0.1      console-share-consumer 0            3
"""
SHARE_STATE = """\

Share group 'stopped-queue' has no active members.

GROUP           COORDINATOR (ID)          STATE           #MEMBERS
stopped-queue   127.0.0.1:59487  (1)      Empty           0

GROUP           COORDINATOR (ID)          STATE           #MEMBERS
work queue      127.0.0.1:59487  (1)      Stable          2
"""
SHARE_STATE_VERBOSE = """\

GROUP           COORDINATOR (ID)          STATE           GROUP-EPOCH  ASSIGNMENT-EPOCH  #MEMBERS
work queue      127.0.0.1:59487  (1)      Stable          3            3                 2
"""
STREAMS = """\
GROUP           TOPIC           PARTITION  OFFSET-LAG
fraud           orders          0          0
fraud           orders          1          0
"""
STREAMS_VERBOSE = """\
GROUP           TOPIC           PARTITION  CURRENT-OFFSET  LEADER-EPOCH    LOG-END-OFFSET  OFFSET-LAG
fraud           orders          0          4               0               9               5
fraud           orders          1          -               -               6               6
"""
STREAMS_MEMBERS = """\
GROUP           MEMBER                 PROCESS                              CLIENT-ID                       ASSIGNMENTS
fraud           VMCVaTcCQfe8dR1E4byyvg e5955518-4313-4ec0-8abe-0dcff5b80f59 fraud-2-StreamThread-1-consumer \
ACTIVE: 0:[1,3];
fraud           5YWvzoPjRtCU1jm8Vh-9Ng 22af0615-2804-4bf0-9d93-a6abf9675ef4 fraud-1-StreamThread-1-consumer \
ACTIVE: 0:[0,2];
"""
STREAMS_MEMBERS_VERBOSE = """\
GROUP           TARGET-ASSIGNMENT-EPOCH   TOPOLOGY-EPOCH MEMBER                 MEMBER-PROTOCOL MEMBER-EPOCH    \
PROCESS                              CLIENT-ID                       ASSIGNMENTS
fraud           4                         0              VMCVaTcCQfe8dR1E4byyvg streams         4               \
e5955518-4313-4ec0-8abe-0dcff5b80f59 fraud-2-StreamThread-1-consumer ACTIVE: 0:[1,3]; TARGET-ACTIVE: 0:[1,3];
"""
STREAMS_STATE = """\
GROUP           COORDINATOR (ID)          STATE                     #MEMBERS
fraud           127.0.0.1:59487 (1)       Stable                    2
"""
STREAMS_STATE_VERBOSE = """\
GROUP           COORDINATOR (ID)          STATE                     GROUP-EPOCH     TARGET-ASSIGNMENT-EPOCH   #MEMBERS
fraud           127.0.0.1:59487 (1)       Stable                    4               4                         2
"""
STREAMS_STATE_4_4 = """\
GROUP           COORDINATOR (ID)          ASSIGNOR        STATE                     #MEMBERS
fraud           127.0.0.1:59487 (1)       sticky          Stable                    2
"""
STREAMS_STATE_VERBOSE_4_4 = """\
GROUP           COORDINATOR (ID)          ASSIGNOR        STATE                     GROUP-EPOCH     \
TARGET-ASSIGNMENT-EPOCH   #MEMBERS
fraud           127.0.0.1:59487 (1)                       Stable                    4               \
4                         2
"""
STREAMS_EMPTY = "\nError: Streams group 'fraud' has no active members.\n"
BILLING = """\
GROUP           CONSUMER-ID                                           HOST            CLIENT-ID        #PARTITIONS
billing         console-consumer-8ba7e59f-5320-4f5d-93a0-07725da1d7bf /127.0.0.1      console-consumer 2
"""

Listed = tuple[str | None, str | None, str | None, int | None]


class Joined:
    """The rows of files with these texts, without Spark."""

    def __init__(self, *texts: str) -> None:
        lines = Lines()
        for number, text in enumerate(texts):
            lines.add_file(f"{number}.txt", text.encode())
        tables = CaptureTables(lines, "blue", NOTHING_STATED)
        self.rows = _rows(MEMBERS, tables.members())
        self.members = [row["member_id"] for row in self.rows]
        self.types = {row["member_id"]: row["protocol_type"] for row in self.rows}
        self.offsets = _rows(OFFSETS, tables.offsets())
        self.streams = list(tables.streams_members())
        listed = _rows(LISTED_GROUPS, tables.listed_groups())
        self.listed: dict[str, Listed] = {
            str(row["group_id"]): (row["type"], row["protocol_type"], row["state"], row["members"]) for row in listed
        }
        rejects = _rows(REJECTS, tables.rejects())
        self.rejects = [row["reason"] for row in rejects]
        self.rejected_tables = {row["table"] for row in rejects}
        self.assumptions = tables.assumptions()
        self.groups_without_members = tables.groups_without_members()


def _rows(table: Table, values: Iterator[tuple[object, ...]]) -> list[dict[str, Any]]:
    return [dict(zip(table.names, each, strict=True)) for each in values]


QUEUE, STOPPED, FRAUD = "work queue", "stopped-queue", "fraud"
CASES: dict[str, tuple[str, dict[str, Listed]]] = {
    "kafka-groups --list": (
        GROUPS,
        {
            "billing": ("classic", "consumer", None, None),
            "flink-job": ("classic", "", None, None),
            FRAUD: ("streams", "streams", None, None),
            STOPPED: ("share", "share", None, None),
            QUEUE: ("share", "share", None, None),
        },
    ),
    "kafka-consumer-groups --list --type --state": (
        LIST,
        {"billing": ("classic", None, "Stable", None), "flink-job": ("classic", None, "Empty", None)},
    ),
    "kafka-share-groups --list --state": (
        LIST_STATE,
        {STOPPED: (None, None, "Empty", None), QUEUE: (None, None, "Stable", None)},
    ),
    "kafka-share-groups --describe": (
        SHARE,
        {STOPPED: ("share", None, None, None), QUEUE: ("share", None, None, None)},
    ),
    "kafka-share-groups --describe --verbose": (SHARE_VERBOSE, {QUEUE: ("share", None, None, None)}),
    "kafka-share-groups --describe without offsets": (SHARE_NO_OFFSETS, {STOPPED: ("share", None, None, None)}),
    "kafka-share-groups --members": (
        SHARE_MEMBERS,
        {STOPPED: ("share", None, None, 0), QUEUE: ("share", None, None, 2)},
    ),
    "kafka-share-groups --members --verbose": (SHARE_MEMBERS_VERBOSE, {QUEUE: ("share", None, None, 2)}),
    # Neither its columns nor its rows differ from those of kafka-streams-groups.
    "kafka-share-groups --state": (
        SHARE_STATE,
        {STOPPED: ("share", None, "Empty", 0), QUEUE: (None, None, "Stable", 2)},
    ),
    "kafka-share-groups --state --verbose": (SHARE_STATE_VERBOSE, {QUEUE: ("share", None, "Stable", 2)}),
    "kafka-streams-groups --describe": (STREAMS, {FRAUD: ("streams", None, None, None)}),
    "kafka-streams-groups --describe --verbose": (STREAMS_VERBOSE, {FRAUD: ("streams", None, None, None)}),
    "kafka-streams-groups --members": (STREAMS_MEMBERS, {FRAUD: ("streams", None, None, 2)}),
    "kafka-streams-groups --members --verbose": (STREAMS_MEMBERS_VERBOSE, {FRAUD: ("streams", None, None, 1)}),
    "kafka-streams-groups --state": (STREAMS_STATE, {FRAUD: (None, None, "Stable", 2)}),
    "kafka-streams-groups --state --verbose": (STREAMS_STATE_VERBOSE, {FRAUD: ("streams", None, "Stable", 2)}),
    "kafka-streams-groups --state, 4.4": (STREAMS_STATE_4_4, {FRAUD: ("streams", None, "Stable", 2)}),
    "kafka-streams-groups --state --verbose, 4.4": (STREAMS_STATE_VERBOSE_4_4, {FRAUD: ("streams", None, "Stable", 2)}),
    "kafka-streams-groups of an empty group": (STREAMS_EMPTY, {FRAUD: ("streams", None, None, 0)}),
}


@pytest.mark.parametrize(("text", "listed"), CASES.values(), ids=CASES)
def test_each_output_names_its_groups(text: str, listed: dict[str, Listed]) -> None:
    for printed in (text, "".join(f"{line}    \n" for line in text.splitlines())):
        found = Joined(printed)
        assert found.listed == listed
        # The members of streams groups are in a table of their own.
        share_members = (listed[QUEUE][3] or 0) if "#PARTITIONS" in text else 0
        assert (len(found.members), found.rejects) == (share_members, [])


# Of two columns that may be blank, one cannot be told from the other.
TABLES = {name: case for name, case in CASES.items() if "GROUP " in case[0] and case[0] != GROUPS}


@pytest.mark.parametrize(("text", "listed"), TABLES.values(), ids=TABLES)
def test_indented_rows_name_the_same_groups(text: str, listed: dict[str, Listed]) -> None:
    found = Joined("".join(f"    {line.rstrip()}\n" for line in text.splitlines()))
    assert (found.listed, found.rejects) == (listed, [])


def test_all_outputs_together() -> None:
    found = Joined(*(text for text, _ in CASES.values() if text != STREAMS_EMPTY))
    assert found.listed == {
        "billing": ("classic", "consumer", "Stable", None),
        "flink-job": ("classic", "", "Empty", None),
        FRAUD: ("streams", "streams", "Stable", 2),
        STOPPED: ("share", "share", "Empty", 0),
        QUEUE: ("share", "share", "Stable", 2),
    }
    assert found.groups_without_members == ["flink-job"]
    others = f"1 group ({STOPPED}) of type share or streams"
    assert f"{others}: no assignment is predicted for them" in found.assumptions
    assert "1 group (billing) listed, but not described: nothing is predicted for them" in found.assumptions


def test_committed_offsets_of_streams_groups_are_read() -> None:
    found = Joined(STREAMS_VERBOSE)
    shown = [(row["topic"], row["partition"], row["committed"], row["end"]) for row in found.offsets]
    assert shown == [("orders", 0, 4, 9), ("orders", 1, None, 6)]
    assert not any("the offsets table is empty" in sentence for sentence in found.assumptions)


def test_a_share_member_without_partitions_is_no_consumer() -> None:
    """Without MEMBER-EPOCH, its row is also one that kafka-consumer-groups 3.x could have printed."""
    idle = SHARE_MEMBERS.replace("2            orders:0,1", "0            ")
    found = Joined(idle, BILLING)
    assert found.listed[QUEUE] == ("share", None, None, 2)
    assert found.types == {
        "2Xi3l3M8R5yUdgK4RMwqbA": "share",
        "NQ8YoGZvRFKHF_voRd7T3g": "share",
        "console-consumer-8ba7e59f-5320-4f5d-93a0-07725da1d7bf": "consumer",
    }


def test_groups_of_brokers_without_types_are_listed() -> None:
    listed = GROUPS.replace("Classic", "       ").replace("Share  ", "       ").replace("Streams", "       ")
    found = Joined(listed)
    assert found.listed["billing"] == (None, "consumer", None, None)
    assert (len(found.listed), found.rejects) == (5, [])


def test_a_member_without_a_group_column_is_rejected() -> None:
    found = Joined("\n".join(line[16:] for line in SHARE_MEMBERS.splitlines() if line.startswith(("GROUP", QUEUE))))
    assert found.rejects == ["no GROUP column, which kafka-share-groups prints"] * 2


# --- Share groups with members ---

SHARED = {file.name: file.read_text() for file in (EXAMPLES / "share-4.3.1").iterdir()}
WORKERS = {
    "7UqiK49VQDSrIXMZSy9mmg": ["jobs:2", "jobs:3"],
    "JdEPOnAWQli2xSxDLJEI8Q": ["jobs:0", "jobs:1", "jobs:5"],
    "j-qeHX8dSm-t8Q3rVkbu7g": ["jobs:4", "jobs:6"],
}
"""What the broker of the example had assigned."""


def test_members_of_share_groups_have_what_the_coordinator_assigned() -> None:
    found = Joined(*SHARED.values())
    assert found.rejects == []
    workers = {row["member_id"]: row for row in found.rows if row["group_id"] == "workers"}
    owned = {id_: [f"{each['topic']}:{each['partition']}" for each in row["owned"]] for id_, row in workers.items()}
    assert owned == WORKERS
    shown = ("client_id", "host", "protocols", "subscription", "generation", "join_order", "group_state")
    assert [workers["7UqiK49VQDSrIXMZSy9mmg"][name] for name in shown] == [
        *("workers-2", "127.0.0.1", ("share-simple",), ["jobs"], 5, None, "Stable")
    ]
    assert found.listed == {
        "senders": ("share", "share", "Stable", 3),
        "stopped": ("share", "share", "Empty", 0),
        "workers": ("share", "share", "Stable", 3),
    }


def test_the_target_of_share_members_is_assumed_unless_the_epochs_are_equal() -> None:
    def assumed(*texts: str) -> list[str]:
        return [each for each in Joined(*texts).assumptions if "target assignment of" in each]

    sentence = "the target assignment of 6 members (2 groups) of share groups is unknown"
    without_state = [text for name, text in SHARED.items() if name != "state.txt"]
    assert assumed(*SHARED.values()) == []
    assert [each.partition(":")[0] for each in assumed(*without_state)] == [sentence]
    newer = SHARED["state.txt"].replace("5            5 ", "6            6 ")
    assert [each.partition(":")[0] for each in assumed(*without_state, newer)] == [sentence]


def test_a_share_member_reads_the_topics_of_which_its_group_has_partitions_or_that_consumers_csv_names() -> None:
    """Offsets of other topics are those of an earlier subscription, unless no member has a partition."""
    other_topic = SHARED["offsets.txt"].replace(
        "workers         jobs            6", "workers         mails           0"
    )
    consumers = "group_id,client_id,protocols,subscription\nworkers,workers-1,range,jobs;logs\n"
    found = Joined(SHARED["members.txt"], other_topic, consumers)
    topics = {row["client_id"]: row["subscription"] for row in found.rows if row["group_id"] == "workers"}
    assert topics == {"workers-1": ["jobs", "logs"], "workers-2": ["jobs"], "workers-3": ["jobs"]}
    without = re.sub(r"\d( +5 +)jobs:[0-9,]+", r"0\1", SHARED["members.txt"])
    assert {
        tuple(row["subscription"]) for row in Joined(without, other_topic).rows if row["group_id"] == "workers"
    } == {("jobs", "mails")}
    assert {row["protocols"] for row in found.rows} == {("share-simple",)}


def test_a_missing_member_of_a_share_group_is_rejected() -> None:
    lost = "\n".join(line for line in SHARED["members.txt"].splitlines() if "workers-3" not in line)
    found = Joined(lost, SHARED["state.txt"])
    assert found.rejects == [ONE_MORE]
    assert any(each.startswith("members of 1 group (workers) may be missing") for each in found.assumptions)


def test_of_two_lines_of_a_share_member_the_one_with_its_epoch_is_used() -> None:
    for texts in ((SHARE_MEMBERS, SHARE_MEMBERS_VERBOSE), (SHARE_MEMBERS_VERBOSE, SHARE_MEMBERS)):
        found = Joined(*texts)
        assert {row["member_id"][:2]: row["generation"] for row in found.rows} == {"2X": 3, "NQ": None, "GS": 3}
        assert len(found.rejects) == 1


def test_a_line_of_a_share_member_that_cannot_be_read_is_rejected() -> None:
    found = Joined(
        SHARED["members.txt"].replace("2            5             jobs:2,3", "3            5             jobs:2,3")
    )
    assert found.rejects == ["the assignment has 2 partitions, but #PARTITIONS is 3"]


# --- Streams groups with members ---

TOTALS = {file.name: file.read_text() for file in (EXAMPLES / "streams-4.3.1").iterdir()}
ROLES = ("active", "standby", "current_active", "current_standby")
OLD = """\
GROUP           TARGET-ASSIGNMENT-EPOCH   TOPOLOGY-EPOCH MEMBER                 MEMBER-PROTOCOL MEMBER-EPOCH    \
PROCESS                              CLIENT-ID                       ASSIGNMENTS
fraud           5                         0              VMCVaTcCQfe8dR1E4byyvg streams         4               \
e5955518-4313-4ec0-8abe-0dcff5b80f59 fraud-2-StreamThread-1-consumer \
ACTIVE: 0:[1,3]; 1:[0]; STANDBY: 1:[2]; WARMUP: 1:[3]; TARGET-ACTIVE: 0:[1]; TARGET-STANDBY: 1:[2,0];
fraud           5                         0              5YWvzoPjRtCU1jm8Vh-9Ng streams         5               \
22af0615-2804-4bf0-9d93-a6abf9675ef4 fraud-1-StreamThread-1-consumer
"""
"""Members whose tasks change; the second, which has just joined, has none."""


def tasks_of(found: Joined) -> dict[str, dict[str, list[str]]]:
    """Return the tasks by member and role."""
    return {
        row["member_id"]: {role: [f"{task['subtopology']}_{task['partition']}" for task in row[role]] for role in ROLES}
        for row in found.streams
    }


def test_members_of_streams_groups_have_their_tasks_and_their_target() -> None:
    found = Joined(OLD)
    assert tasks_of(found) == {
        "VMCVaTcCQfe8dR1E4byyvg": {
            "active": ["0_1"],
            "standby": ["1_2", "1_0"],
            "current_active": ["0_1", "0_3", "1_0"],
            "current_standby": ["1_2", "1_3"],
        },
        "5YWvzoPjRtCU1jm8Vh-9Ng": {role: [] for role in ROLES},
    }
    first = found.streams[0]
    assert [first.get(name) for name in ("cluster", "group_id", "process_id", "client_id", "host", "protocol")] == [
        *("blue", FRAUD, "e5955518-4313-4ec0-8abe-0dcff5b80f59", "fraud-2-StreamThread-1-consumer", None, None)
    ]
    assert found.rejects == []
    assert found.assumptions[0].startswith("the topology of 1 group (fraud) is not in the output of kafka-streams-")


def test_the_target_of_streams_members_is_assumed_without_verbose() -> None:
    """Of two lines of a member, the one with the target is used."""
    sentence = "the target assignment of 2 members (1 group) of streams groups is unknown"
    found = Joined(STREAMS_MEMBERS)
    assert tasks_of(found)["VMCVaTcCQfe8dR1E4byyvg"]["active"] == ["0_1", "0_3"]
    assert [each.partition(",")[0] for each in found.assumptions if "target" in each] == [sentence]
    for texts in ((STREAMS_MEMBERS, OLD), (OLD, STREAMS_MEMBERS)):
        both = Joined(*texts)
        assert tasks_of(both)["VMCVaTcCQfe8dR1E4byyvg"]["active"] == ["0_1"]
        assert [each.partition(";")[0] for each in both.rejects] == ["the member is listed more than once"] * 2
        assert not any("target" in each for each in both.assumptions)


def test_a_missing_member_of_a_streams_group_is_rejected() -> None:
    found = Joined(STREAMS_MEMBERS, re.sub(r"2$", "3", STREAMS_STATE_VERBOSE.rstrip()))
    assert (found.rejects, found.rejected_tables) == ([ONE_MORE], {"streams_members"})
    assert found.listed == {FRAUD: ("streams", None, "Stable", 3)}
    assert any(each.startswith("members of 1 group (fraud) may be missing") for each in found.assumptions)


@pytest.mark.parametrize("tasks", ["ACTIVE: 0:[1,3]", "ACTIVE 0:[1];", "OTHER: 0:[1];", "ACTIVE: 0:[99999999];"])
def test_a_line_with_other_tasks_is_rejected(tasks: str) -> None:
    found = Joined(STREAMS_MEMBERS.replace("ACTIVE: 0:[1,3];", tasks))
    assert len(found.streams) == 1
    assert len(found.rejects) == 1
    assert found.rejected_tables == {"streams_members"}


def test_members_of_the_example_have_what_the_coordinator_assigned() -> None:
    found = Joined(*TOTALS.values())
    assert found.rejects == []
    tasks = tasks_of(found)
    assert [len(tasks), *(len(row.get("host") or "") for row in found.streams)] == [3, 0, 0, 0]
    for role, expected in (("active", 8), ("standby", 4)):
        assert len({task for of in tasks.values() for task in of[role]}) == expected
        assert all(of[role] == of[f"current_{role}"] for of in tasks.values())
    states = {"stopped": ("Empty", 0), "totals": ("Stable", 3)}
    assert found.listed == {name: ("streams", "streams", *state) for name, state in states.items()}
