"""What random conversations with a coordinator have in common: steps on a clock, topics, a log that fails."""

import base64
import random

from tests.oracle.oracle import JsonObject
from tests.oracle.random_cases import bucket

STORE_ERRORS_OF_4 = ("NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "MESSAGE_TOO_LARGE")


class Conversation:
    """A conversation that grows by a request at a time."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._steps: list[JsonObject] = []
        self._now_ms = 0
        self._ids: dict[str, str] = {}
        self._partitions: dict[str, int] = {}

    def _add(self, **fields: object) -> None:
        self._steps.append({"at_ms": self._now_ms, **fields})

    def _add_topics(self) -> None:
        self._add(request="topics", image=[[name, self._ids[name], count] for name, count in self._partitions.items()])

    def _finished(self, case_id: str, config: JsonObject) -> JsonObject:
        seed = self._rng.getrandbits(32)
        return {"rule": "coordinator", "id": case_id, "seed": seed, "config": config, "steps": self._steps}


def topic_ids(rng: random.Random, names: tuple[str, ...]) -> dict[str, str]:
    """Ids of which no two share a bucket of a small hash map: in which order they were put in does not matter then."""
    ids: dict[int, bytes] = {}
    while len(ids) < len(names):
        drawn = rng.randbytes(16)
        ids.setdefault(bucket(uuid_hash(int.from_bytes(drawn[:8]), int.from_bytes(drawn[8:]))), drawn)
    texts = (base64.urlsafe_b64encode(drawn).decode().rstrip("=") for drawn in ids.values())
    return dict(zip(names, texts, strict=True))


def uuid_hash(high: int, low: int) -> int:
    """`Uuid.hashCode`, unsigned."""
    halves = high ^ low
    return (halves >> 32 ^ halves) & 0xFFFFFFFF
