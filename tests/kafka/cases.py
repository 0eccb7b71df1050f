"""Cases and answers of the golden vectors, as the twins' dataclasses."""

import base64
import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.naive.java import JavaError
from tests.naive.model import VERSIONS, Assignment, Cluster, Group, Joiner, Member, Partition
from tests.naive.partitioners import built_in_partitioner_answer, default_partitioner_answer, murmur2_answer
from tests.naive.record_accumulator import producer_answer
from tests.naive.sticky import cooperative_sticky_assign, sticky_assign

JsonObject = dict[str, Any]
Outcome = Assignment | str
"""What an assignor answers, or the name of the exception's class that Kafka's throws."""
Twin = Callable[[str, Group], Assignment]

STICKY_TWINS: dict[tuple[str, str], Twin] = {
    **{("sticky", version): sticky_assign for version in VERSIONS},
    **{("cooperative-sticky", version): cooperative_sticky_assign for version in ("3.9", "4.3")},
}
"""By name and version of Kafka."""

_GOLDEN = Path(__file__).resolve().parent.parent / "golden"


def golden(name: str) -> list[JsonObject]:
    """The lines of a file of golden vectors."""
    with gzip.open(_GOLDEN / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def joiners_of(case: JsonObject) -> tuple[Joiner, ...]:
    """The members of an election case."""
    return tuple(
        Joiner(member["member_id"], tuple(member["protocols"]), member.get("protocol_type", "consumer"))
        for member in case["members"]
    )


def group_of(case: JsonObject) -> Group:
    """The group of an assignor case, on a cluster of its own."""
    racks = {
        topic: [[rack for rack in replicas if rack is not None] for replicas in partitions]
        for topic, partitions in case.get("racks", {}).items()
    }
    ids = {topic: _uuid(text) for topic, text in case.get("topic_ids", {}).items()}
    return Group(tuple(map(_member_of, case["members"])), Cluster(case["topics"], racks, ids))


def assignment_of(answer: JsonObject) -> Assignment:
    """What an assignor answered."""
    given: dict[str, list[tuple[str, int]]] = answer["assignment"]
    return {member_id: [Partition(*pair) for pair in partitions] for member_id, partitions in given.items()}


def outcome_of(answer: JsonObject) -> Outcome:
    """What an assignor answered, which may be an error."""
    error: str = answer.get("error", "")
    return error.split(":", maxsplit=1)[0] if error else assignment_of(answer)


def twins_outcome(strategy: str, version: str, group: Group) -> Outcome:
    """What a sticky twin answers."""
    try:
        return STICKY_TWINS[strategy, version](version, group)
    except JavaError as error:
        return str(error)


def _uuid(text: str) -> tuple[int, int]:
    """The halves of a Uuid as Kafka prints it."""
    decoded = base64.urlsafe_b64decode(text + "==")
    return int.from_bytes(decoded[:8]), int.from_bytes(decoded[8:])


def _member_of(member: JsonObject) -> Member:
    return Member(
        member["member_id"],
        tuple(member["topics"]),
        member["instance_id"],
        member["rack"],
        tuple(Partition(*pair) for pair in member["owned"]),
        member["generation"],
    )


def producer_twins_answer(version: str, case: JsonObject) -> JsonObject:
    """What the twins answer to a case about producers, whichever its rule."""
    match case["rule"]:
        case "murmur2":
            answer: JsonObject = murmur2_answer(case)
        case "default-partitioner":
            answer = default_partitioner_answer(version, case)
        case "built-in-partitioner":
            answer = built_in_partitioner_answer(case)
        case _:
            answer = producer_answer(version, case)
    return {"id": case["id"], "kafka": version, **answer}
