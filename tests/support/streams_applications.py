"""Cases of Kafka Streams' task assignors, answered by the rules as Kafka's classes answer them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rebalance_sim.kafka.streams.application_batch import (
    AssignmentConfigs,
    Client,
    PartitionRacks,
    TaskAssignment,
    applications,
)
from rebalance_sim.kafka.streams.applications import ACTIVE, STANDBY, Applications
from rebalance_sim.kafka.streams.assignors import assign_tasks
from rebalance_sim.kafka.streams.leader import GroupAnswer, StreamsGroup, assign_groups
from rebalance_sim.kafka.streams.threads import ThreadAssignments, assign_threads
from rebalance_sim.kafka.streams.topology import Subtopology, Topology
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.wire.streams_protocol import TaskId, decode_assignment_info, encode_assignment_info
from rebalance_sim.releases import KafkaStreamsRules, KafkaVersion
from tests.support.streams_wire import printed_assignment

JsonObject = dict[str, Any]
PROBING_AT = 601_000
"""The oracle's clock and the interval of probing rebalances."""


def assigned_by_rules(cases: Sequence[JsonObject], rules: KafkaStreamsRules) -> list[JsonObject]:
    """Return what the rules answer to cases that may be for several assignors."""
    answers: dict[str, JsonObject] = {}
    for assignor in sorted({case["config"]["assignor"] for case in cases}):
        own = [case for case in cases if case["config"]["assignor"] == assignor]
        answers |= _of_assignor(assignor, own, rules)
    return [answers[case["id"]] for case in cases]


def expected(answer: JsonObject) -> JsonObject:
    """Return an answer of Kafka's classes as the rules give it."""
    if "error" in answer:
        return {"error": answer["error"]}
    return {"probing": answer["probing"], "clients": answer["clients"]}


def task_assignment(case: JsonObject) -> TaskAssignment:
    """Return the application of a case."""
    config = case["config"]
    stateful = list(map(_task, config["stateful"]))
    clients = [
        Client(
            UUID(client["process"]),
            {consumer["id"]: list(map(_task, consumer["previous"])) for consumer in client["consumers"]},
            frozenset(map(_task, client["previous_active"])),
            frozenset(map(_task, client["previous_standby"])),
            dict(zip(stateful, client["lags"], strict=True)),
            client["tags"],
            client["rack"],
        )
        for client in config["clients"]
    ]
    return TaskAssignment(
        clients, list(map(_task, config["tasks"])), stateful, _configs(config), _partition_racks(config)
    )


def _partition_racks(config: JsonObject) -> PartitionRacks:
    """Return the racks of the partitions of each task."""

    def racks(of: JsonObject) -> dict[TaskId, list[frozenset[str] | None]]:
        return {_task(text): [_racks(config, topic, _task(text).partition) for topic in of[text]] for text in of}

    return PartitionRacks(racks(config.get("sources", {})), racks(config.get("changelogs", {})))


def _racks(config: JsonObject, topic: str, partition: int) -> frozenset[str] | None:
    known = config["racks"][topic][partition]
    return None if None in known else frozenset(known)


def leader_answers(cases: Sequence[JsonObject], kafka: KafkaVersion) -> list[JsonObject]:
    """Return what leaders answer to cases, in the form of ``expected_of_leader``."""
    answers = assign_groups([streams_group(case["config"]) for case in cases], kafka, PROBING_AT)
    return [_leader_answer(answer) for answer in answers]


def expected_of_leader(answer: JsonObject) -> JsonObject:
    """Return an answer of Kafka's leader: the exception's class, or what members get."""
    if "error" in answer:
        return {"error": answer["error"].split(":", maxsplit=1)[0]}
    return {"members": answer["members"]}


def streams_group(config: JsonObject) -> StreamsGroup:
    """Return the application of a case."""
    ends = config["end_offsets"]
    offsets = None if ends is None else {tuple(end["partition"]): end["offset"] for end in ends}
    parts = [
        Subtopology(int(text), tuple(topics["sources"]), tuple(topics["changelogs"]))
        for text, topics in config["subtopologies"].items()
    ]
    topology = Topology(parts, config["partitions"])
    sums = None
    if offsets is not None:
        counts = {part.number: max(config["partitions"].get(topic, 0) for topic in part.sources) for part in parts}
        sums = {
            TaskId(part.number, partition): sum(offsets[topic, partition] for topic in part.changelogs)
            for part in parts
            if part.changelogs
            for partition in range(counts[part.number])
        }
    members = {
        member["id"]: Subscription(
            tuple(member["topics"]),
            bytes.fromhex(member["user_data"]),
            tuple(TopicPartition(*pair) for pair in member["owned"]),
            rack=member["rack"],
        )
        for member in config["members"]
    }
    racks = {
        TopicPartition(topic, partition): frozenset(known)
        for topic, partitions in (config.get("racks") or {}).items()
        for partition, known in enumerate(partitions)
    }
    return StreamsGroup(members, UUID(config["leader"]), topology, sums, _configs(config), config["assignor"], racks)


def _leader_answer(answer: GroupAnswer) -> JsonObject:
    if answer.failure:
        return {"error": answer.failure}
    members = {}
    for member, sent in answer.members.items():
        info = decode_assignment_info(encode_assignment_info(sent.info))
        members[member] = {"partitions": list(map(list, sent.partitions)), **printed_assignment(info)}
    return {"members": members}


def _configs(config: JsonObject) -> AssignmentConfigs:
    settings = config["settings"]
    return AssignmentConfigs(**{**settings, "rack_aware_tags": tuple(settings["rack_aware_tags"])})


def _of_assignor(assignor: str, cases: Sequence[JsonObject], rules: KafkaStreamsRules) -> dict[str, JsonObject]:
    assignments = list(map(task_assignment, cases))
    batch = applications(assignments, rules)
    tasks = assign_tasks(assignor, batch, rules)
    threads = assign_threads(batch, tasks.states, int(rules))
    return {
        case["id"]: {
            "probing": bool(tasks.probing[a]),
            "clients": _clients(batch, a, assignments[a], tasks.states, threads),
        }
        for a, case in enumerate(cases)
    }


def _clients(
    batch: Applications, a: int, assignment: TaskAssignment, states: Any, threads: ThreadAssignments
) -> list[JsonObject]:
    """Return the answer about each client, in the order of the case."""
    names = list(map(str, assignment.sorted_tasks()))
    answers = {}
    for k, client in enumerate(assignment.sorted_clients()):
        row = slice(batch.cells[a] + k * len(names), batch.cells[a] + (k + 1) * len(names))
        own = states[row]
        members = sorted(client.consumers)
        answers[client.process] = {
            "active": [name for name, state in zip(names, own, strict=True) if state == ACTIVE],
            "standby": [name for name, state in zip(names, own, strict=True) if state >= STANDBY],
            "threads": [
                {
                    "id": member,
                    "active": _of_thread(names, own == ACTIVE, threads, row, number),
                    "standby": _of_thread(names, own >= STANDBY, threads, row, number),
                }
                for number, member in enumerate(members)
            ],
        }
    return [answers[client.process] for client in assignment.clients]


def _of_thread(names: list[str], chosen: Any, threads: ThreadAssignments, row: slice, number: int) -> list[str]:
    owned = [k for k in range(len(names)) if chosen[k] and threads.consumers[row][k] == number]
    return [names[k] for k in sorted(owned, key=lambda k: threads.places[row][k])]


def _task(text: str) -> TaskId:
    subtopology, partition = map(int, text.split("_"))
    return TaskId(subtopology, partition)
