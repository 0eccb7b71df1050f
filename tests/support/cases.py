"""Golden vectors: their files, and their cases and answers as dataclasses."""

import base64
import gzip
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tests.support.examples import some
from tests.support.model import VERSIONS, Assignment, Cluster, Group, Joiner, Member, Partition

JsonObject = dict[str, Any]
Answer = Assignment | str
"""The assignment, or the name of the exception's class."""

STICKY_RULES = [("sticky", v) for v in VERSIONS] + [("cooperative-sticky", v) for v in ("3.9", "4.3")]
"""Name and Kafka release."""

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
_SHARE = 4


def golden(name: str) -> list[JsonObject]:
    """Return the lines of a file of golden vectors."""
    with gzip.open(GOLDEN / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def golden_sample(name: str) -> Sequence[JsonObject]:
    """Return the lines; of rules that run as plain Python, the same few of cases and answers."""
    return some(golden(name))


def golden_share(name: str, seed: int) -> Sequence[JsonObject]:
    """Return one in four lines, others with another seed: of answers of many releases that hardly differ.

    The live comparisons of their tier draw fresh cases for the same classes if a rule changes.
    """
    return golden_sample(name)[seed % _SHARE :: _SHARE]


def write_golden(name: str, rows: Iterable[JsonObject]) -> None:
    """Write a file of golden vectors."""
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path = GOLDEN / f"{name}.jsonl.gz"
    # Without name and time in the header, so that the bytes depend on the content only.
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode())
    print(f"{path.name}: {path.stat().st_size:,} bytes")


def joiners_of(case: JsonObject) -> tuple[Joiner, ...]:
    """Return the members of an election case."""
    return tuple(
        Joiner(member["member_id"], tuple(member["protocols"]), member.get("protocol_type", "consumer"))
        for member in case["members"]
    )


def group_of(case: JsonObject) -> Group:
    """Return the group of an assignor case, on a cluster of its own."""
    racks = {
        topic: [[rack for rack in replicas if rack is not None] for replicas in partitions]
        for topic, partitions in case.get("racks", {}).items()
    }
    ids = {topic: uuid_halves(text) for topic, text in case.get("topic_ids", {}).items()}
    return Group(tuple(map(_member_of, case["members"])), Cluster(case["topics"], racks, ids))


def case_of(group: Group) -> JsonObject:
    """Return a group as the members and topics of an assignor case."""
    members = [
        {
            "member_id": member.member_id,
            "instance_id": member.instance_id,
            "topics": member.topics,
            "rack": None,
            "owned": member.owned,
            "generation": member.generation,
        }
        for member in group.members
    ]
    return {"topics": group.cluster.partitions, "members": members}


def assignment_of(answer: JsonObject) -> Assignment:
    """Return the assignment in an answer."""
    given: dict[str, list[tuple[str, int]]] = answer["assignment"]
    return {member_id: [Partition(*pair) for pair in partitions] for member_id, partitions in given.items()}


def answer_of(answer: JsonObject) -> Answer:
    """Return the assignment or the error in an answer."""
    error: str = answer.get("error", "")
    return error.split(":", maxsplit=1)[0] if error else assignment_of(answer)


def uuid_halves(text: str) -> tuple[int, int]:
    """Return the halves of a Uuid as Kafka prints it."""
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
