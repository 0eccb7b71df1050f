"""Cases of Kafka Streams' task assignors, answered by the rules as Kafka's classes answer them."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from rebalance_sim.kafka.streams.application_batch import AssignmentConfigs, Client, TaskAssignment, applications
from rebalance_sim.kafka.streams.applications import ACTIVE, STANDBY, Applications
from rebalance_sim.kafka.streams.assignors import assign_tasks
from rebalance_sim.kafka.streams.threads import ThreadAssignments, assign_threads
from rebalance_sim.kafka.wire.streams_protocol import TaskId
from rebalance_sim.releases import StreamsRules

JsonObject = dict[str, Any]


def streams_answers(cases: Sequence[JsonObject], rules: StreamsRules) -> list[JsonObject]:
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
        )
        for client in config["clients"]
    ]
    settings = config["settings"]
    configs = AssignmentConfigs(**{**settings, "rack_aware_tags": tuple(settings["rack_aware_tags"])})
    return TaskAssignment(clients, list(map(_task, config["tasks"])), stateful, configs)


def _of_assignor(assignor: str, cases: Sequence[JsonObject], rules: StreamsRules) -> dict[str, JsonObject]:
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
    return TaskId(*map(int, text.split("_")))
