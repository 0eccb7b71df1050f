"""What random conversations with a coordinator have in common: steps on a clock, topics, a log that fails."""

import base64
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from typing import Generic, TypeVar

from tests.oracle.oracle import JsonObject
from tests.oracle.random_cases import Cases, bucket

Member = TypeVar("Member")
STORE_ERRORS_OF_4 = ("NOT_ENOUGH_REPLICAS", "NOT_LEADER_OR_FOLLOWER", "REQUEST_TIMED_OUT", "MESSAGE_TOO_LARGE")


class Conversation(ABC):
    """A conversation that grows by a request at a time."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._steps: list[JsonObject] = []
        self._now_ms = 0
        self._ids: dict[str, str] = {}
        self._partitions: dict[str, int] = {}

    @abstractmethod
    def case(self, case_id: str) -> JsonObject:
        """Return the conversation."""

    def _add(self, **fields: object) -> None:
        self._steps.append({"at_ms": self._now_ms, **fields})

    def _add_topics(self) -> None:
        self._add(request="topics", image=[[name, self._ids[name], count] for name, count in self._partitions.items()])

    def _do_one_of(self, weights: Mapping[Callable[[], None], float]) -> None:
        self._rng.choices(list(weights), weights=list(weights.values()))[0]()

    def _finished(self, case_id: str, config: JsonObject) -> JsonObject:
        seed = self._rng.getrandbits(32)
        return {"rule": "coordinator", "id": case_id, "seed": seed, "config": config, "steps": self._steps}


class HeartbeatConversation(Conversation, Generic[Member]):
    """A conversation of members that send heartbeats (KIP-848, KIP-932, KIP-1071)."""

    _TIME_WEIGHTS = (15, 30, 20, 30, 6)
    """How often no time passes, a short one, about a second, the interval of heartbeats, or a long one."""
    _SECONDS_MS: tuple[int, ...] = (999, 1000, 1000, 1001, 3000)
    _SETTINGS: Mapping[str, tuple[int | None, ...]] = {"assignment_interval_ms": (None, None, 0, 3000)}
    """Values of settings; None for the default."""
    _LIMITED, _LONGEST = 0.15, 40
    """The share of conversations with few members, and the most steps."""

    def __init__(self, rng: random.Random, topics: tuple[str, ...]) -> None:
        super().__init__(rng)
        self._now_ms = rng.choice((0, 1, 5000))
        self._ids = topic_ids(rng, topics)
        self._started = 0
        self._members: list[Member] = []
        self._gone: list[Member] = []
        self._config: JsonObject = {}

    def case(self, case_id: str) -> JsonObject:
        rng = self._rng
        for setting, values in self._SETTINGS.items():
            value = rng.choice(values)
            if value is not None:
                self._config[setting] = value
        if rng.random() < self._LIMITED:
            self._config["consumer_group_max_size"] = rng.randint(1, 3)
        self._add_topics()
        for _ in range(rng.choice((rng.randint(4, 12), rng.randint(12, self._LONGEST)))):
            self._pass_time()
            self._act()
        return self._finished(case_id, self._config)

    def _pass_time(self) -> None:
        rng = self._rng
        match rng.choices(("none", "short", "second", "interval", "long"), weights=self._TIME_WEIGHTS)[0]:
            case "short":
                self._now_ms += rng.choice((1, rng.randint(1, 100), rng.randint(100, 900)))
            case "second":
                self._now_ms += rng.choice(self._SECONDS_MS)
            case "interval":
                self._now_ms += 5000
            case "long":
                if rng.random() < 0.5:
                    self._beat_all()
                self._now_ms += rng.choice((10_000, 44_999, 45_000, 45_001, 60_000, rng.randint(5000, 90_000)))

    @abstractmethod
    def _act(self) -> None:
        """Let something happen."""

    @abstractmethod
    def _beat_all(self) -> None:
        """Let all members send a heartbeat."""

    def _tick(self) -> None:
        self._add(request="tick")

    def _any(self) -> Member:
        return self._rng.choice(self._members)

    def _lose(self) -> Member:
        """Remove a member."""
        member = self._any()
        self._members.remove(member)
        self._gone.append(member)
        return member

    def _forget(self) -> None:
        """A crash: nothing more is heard."""
        self._lose()


def conversations(name: str, begin: Callable[[random.Random], Conversation]) -> Cases:
    """Return what yields conversations of a kind from a seed."""

    def cases(seed: int, count: int) -> Iterator[JsonObject]:
        rng = random.Random(f"{name} {seed}")
        return (begin(rng).case(f"{name}-{seed}-{i}") for i in range(count))

    return cases


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
