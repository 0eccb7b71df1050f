"""Random applications of Kafka Streams, for its task assignors."""

import random
import uuid
from collections.abc import Iterator

from rebalance_sim.kafka.streams.leader import SHUTDOWN_REQUESTED
from rebalance_sim.kafka.wire.streams_protocol import (
    LATEST_OFFSET,
    UNKNOWN_OFFSET_SUM,
    SubscriptionInfo,
    TaskId,
    decode_subscription_info,
    encode_subscription_info,
)
from tests.oracle.oracle import JsonObject

ASSIGNORS = ("high-availability", "sticky", "fallback-prior")
_ACCEPTABLE = (0, 10, 100, 100, 10_000, 2**63 - 1)


def application_cases(
    seed: int, count: int, *, tags: bool = False, strategies: tuple[str, ...] = ()
) -> Iterator[JsonObject]:
    """Yield applications, a third for each assignor.

    Clients may have tags (KIP-708), or racks if rack-aware strategies are listed (KIP-925).
    """
    rng = random.Random(seed)
    for number in range(count):
        config = _Application(rng).config(ASSIGNORS[number % len(ASSIGNORS)])
        if tags:
            _add_tags(rng, config)
        if strategies:
            _add_racks(rng, config, strategies)
        yield {"rule": "kafka-streams-tasks", "id": f"{seed}-{number}", "config": config}


class _Application:
    """An application, and what its clients had before the rebalance."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        many = rng.random() < 0.1
        self.n_clients = rng.randint(8, 20) if many else rng.randint(1, 6)
        self.tasks, self.stateful = self._tasks(rng.choice((3, 8, 8, 20, 60)))
        self.active: list[list[str]] = [[] for _ in range(self.n_clients)]
        self.standby: list[list[str]] = [[] for _ in range(self.n_clients)]
        self._assign_before()

    def _tasks(self, most_partitions: int) -> tuple[list[str], list[str]]:
        rng = self.rng
        tasks: list[str] = []
        stateful: list[str] = []
        with_state = rng.choice((0.3, 0.7, 1.0))
        for subtopology in range(rng.randint(1, 4)):
            partitions = rng.randint(1, most_partitions)
            own = [f"{subtopology}_{partition}" for partition in range(partitions)]
            tasks += own
            stateful += own if rng.random() < with_state else []
        rng.shuffle(tasks)
        rng.shuffle(stateful)
        return tasks, stateful

    def _assign_before(self) -> None:
        """Assign tasks to some of the clients: the others joined since, or left."""
        rng = self.rng
        settled = rng.randint(0, self.n_clients)
        gone = rng.choice((0.0, 0.0, 0.3))
        replicas = rng.choice((0, 1, 2))
        for task in self.tasks:
            if not settled or rng.random() < gone:
                continue
            owners = rng.sample(range(settled), min(settled, 1 + replicas))
            self.active[owners[0]].append(task)
            for owner in owners[1:]:
                if task in self.stateful:
                    self.standby[owner].append(task)

    def config(self, assignor: str) -> JsonObject:
        rng = self.rng
        spread = rng.choice((5, 50, 200, 20_000))
        ends = {task: rng.randint(0, 2 * spread) for task in self.stateful}
        unknown = rng.random() < 0.05
        order = list(range(self.n_clients))
        rng.shuffle(order)
        return {
            "assignor": assignor,
            "clients": [self._client(k, spread, ends, unknown) for k in order],
            "tasks": self.tasks,
            "stateful": self.stateful,
            "settings": {
                "acceptable_recovery_lag": rng.choice(_ACCEPTABLE),
                "max_warmup_replicas": rng.choice((1, 1, 2, 2, 4, 8)),
                "num_standby_replicas": rng.choice((0, 0, 1, 1, 2, 3)),
                "rack_aware_tags": [],
                "traffic_cost": None,
                "non_overlap_cost": None,
                "strategy": "none",
            },
        }

    def _client(self, k: int, spread: int, ends: dict[str, int], unknown: bool) -> JsonObject:
        rng = self.rng
        threads = rng.randint(1, 4)
        lags = {}
        for task in self.stateful:
            if unknown and rng.random() < 0.5:
                lags[task] = UNKNOWN_OFFSET_SUM
            elif task in self.active[k]:
                lags[task] = LATEST_OFFSET if rng.random() < 0.95 else rng.randint(0, spread)
            elif task in self.standby[k] or rng.random() < 0.05:
                lags[task] = min(ends[task], rng.choice((0, rng.randint(0, spread))))
            else:
                lags[task] = ends[task]
        owned = [task for task in (*self.active[k], *self.standby[k]) if task in self.stateful]
        previous: list[list[str]] = [[] for _ in range(threads)]
        for task in owned:
            previous[rng.randrange(threads)].append(task)
            if rng.random() < 0.02:
                previous[rng.randrange(threads)].append(task)
        return {
            "process": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
            "consumers": [
                {"id": f"app-{rng.getrandbits(32):08x}-{thread}", "previous": sorted(set(tasks))}
                for thread, tasks in enumerate(previous)
            ],
            "previous_active": [*self.active[k], *self._unknown_tasks()],
            "previous_standby": [*self.standby[k], *self._unknown_tasks()],
            "lags": [lags[task] for task in self.stateful],
            "tags": {},
            "rack": None,
        }

    def _unknown_tasks(self) -> list[str]:
        """Return tasks of an older topology that still have a folder on the client's disk."""
        rng = self.rng
        return [f"9_{rng.randint(0, 20)}" for _ in range(rng.randint(1, 9))] if rng.random() < 0.05 else []


def _add_tags(rng: random.Random, config: JsonObject) -> None:
    keys = [key for key in ("zone", "cluster", "host") if rng.random() < 0.7]
    for client in config["clients"]:
        client["tags"] = {key: f"{key}{rng.randint(1, 3)}" for key in keys if rng.random() < 0.95}
    config["settings"]["rack_aware_tags"] = [key for key in keys if rng.random() < 0.8]


def _add_racks(rng: random.Random, config: JsonObject, strategies: tuple[str, ...]) -> None:
    """Give racks to clients and partitions; in some applications one is unknown."""
    racks = [f"rack{k}" for k in range(rng.randint(1, 4))]
    for client in config["clients"]:
        client["rack"] = rng.choice(racks) if rng.random() < 0.99 else None
    settings = config["settings"]
    settings["strategy"] = rng.choice(strategies)
    settings["traffic_cost"] = rng.choice((None, None, 0, 1, 5))
    settings["non_overlap_cost"] = rng.choice((None, None, 0, 1, 5))
    topics: dict[str, int] = {}
    config["sources"], config["changelogs"] = {}, {}
    for task in config["tasks"]:
        subtopology, partition = map(int, task.split("_"))
        sources = [f"s{subtopology}{letter}" for letter in "ab"[: 1 + subtopology % 2]]
        config["sources"][task] = sources
        if task in config["stateful"]:
            config["changelogs"][task] = [f"c{subtopology}"]
        for topic in (*sources, *config["changelogs"].get(task, ())):
            topics[topic] = max(topics.get(topic, 0), partition + 1)
    unknown = rng.random() < 0.03
    config["racks"] = {
        topic: [
            [None if unknown and rng.random() < 0.1 else rng.choice(racks) for _ in range(rng.randint(1, 3))]
            for _ in range(count)
        ]
        for topic, count in topics.items()
    }


# ---- whole leaders

_PROBING_VERSIONS = (11, 11, 11, 11, 10, 8, 7, 6, 3, 2, 1)


def topologies(seed: int, count: int) -> list[JsonObject]:
    """Return topologies to ask the oracle about, with the partitions of their source topics."""
    rng = random.Random(seed)
    return [_topology(rng) for _ in range(count)]


def _topology(rng: random.Random) -> JsonObject:
    most = rng.choice((3, 8, 8, 20, 40))
    parts = []
    partitions: dict[str, int] = {}
    for number in range(rng.randint(1, 4)):
        kind = rng.choice(("stateless", "stateful", "stateful", "table", "repartition"))
        topics = [f"topic{number}{letter}" for letter in "ab"[: 1 if kind == "table" else rng.randint(1, 2)]]
        partitions |= {topic: rng.randint(1, most) for topic in topics}
        repartitions = rng.randint(1, most)
        parts.append({"kind": kind, "topics": topics, "partitions": repartitions})
        if kind == "repartition":
            partitions[f"app-re{number}-repartition"] = repartitions
    return {"topology": parts, "partitions": partitions}


def with_subtopologies(described: JsonObject, answer: JsonObject) -> JsonObject:
    """Return a topology with what the oracle answered to it."""
    return described | {"subtopologies": answer["subtopologies"]}


def leader_cases(
    seed: int, count: int, described: list[JsonObject], newest: int, strategies: tuple[str, ...] = ("none",)
) -> Iterator[JsonObject]:
    """Yield applications whose leader assigns; versions of members are at most ``newest``.

    ``strategies`` are the rack-aware strategies that the release has.
    """
    rng = random.Random(seed)
    for number in range(count):
        config = _Leader(rng, rng.choice(described), newest).config()
        config["settings"]["strategy"] = rng.choice(strategies)
        if config["settings"]["strategy"] != "none":
            _add_racks_of_leader(rng, config)
        if rng.random() < 0.01:
            config["partitions"] = config["partitions"] | {config["topology"][0]["topics"][0]: 0}
        yield {"rule": "kafka-streams-leader", "id": f"{seed}-{number}", "config": config}


def strategies_of(release: str) -> tuple[str, ...]:
    """Return the rack-aware strategies of a release.

    >>> strategies_of("3.6.2")
    ('none', 'min_traffic')
    """
    numbers = tuple(map(int, release.split(".")))
    return ("none", "min_traffic", "balance_subtopology")[: 1 + (numbers >= (3, 6)) + (numbers >= (3, 7))]


def _add_racks_of_leader(rng: random.Random, config: JsonObject) -> None:
    racks = [f"rack{k}" for k in range(rng.randint(2, 4))]
    of_process: dict[str, str] = {}
    for member in config["members"]:
        process = str(decode_subscription_info(bytes.fromhex(member["user_data"])).process)
        member["rack"] = of_process.setdefault(process, rng.choice(racks))
        if rng.random() < 0.005:
            member["rack"] = rng.choice((None, *racks))
    counts = dict(config["partitions"])
    for topics in config["subtopologies"].values():
        tasks = max(counts[topic] for topic in topics["sources"])
        counts |= {topic: max(tasks, counts.get(topic, 0)) for topic in topics["changelogs"]}
    config["racks"] = {
        topic: [rng.sample(racks, rng.randint(1, len(racks))) for _ in range(count)] for topic, count in counts.items()
    }


class _Leader:
    """An application whose members sent subscriptions."""

    def __init__(self, rng: random.Random, described: JsonObject, newest: int) -> None:
        self.rng, self.described, self.newest = rng, described, newest
        partitions = described["partitions"]
        self.partitions_of: dict[TaskId, list[list[object]]] = {}
        self.changelogs_of: dict[TaskId, list[list[object]]] = {}
        for text, topics in described["subtopologies"].items():
            for partition in range(max(partitions[topic] for topic in topics["sources"])):
                task = TaskId(int(text), partition)
                sources = [topic for topic in topics["sources"] if partition < partitions[topic]]
                self.partitions_of[task] = [[topic, partition] for topic in sources]
                if topics["changelogs"]:
                    self.changelogs_of[task] = [[topic, partition] for topic in topics["changelogs"]]
        spread = rng.choice((5, 50, 20_000))
        self.ends = [(pair, rng.randint(0, 2 * spread)) for of in self.changelogs_of.values() for pair in of]
        self.sums = {task: self._end_sum(pairs) for task, pairs in self.changelogs_of.items()}

    def _end_sum(self, pairs: list[list[object]]) -> int:
        return sum(int(end) for pair, end in self.ends if pair in pairs)

    def config(self) -> JsonObject:
        rng = self.rng
        processes = [uuid.UUID(int=rng.getrandbits(128), version=4) for _ in range(rng.choice((1, 2, 3, 3, 4, 6, 13)))]
        threads = [
            (process, f"app-{rng.getrandbits(32):08x}") for process in processes for _ in range(rng.randint(1, 3))
        ]
        active, standby = self._before(threads)
        eager = rng.random() < 0.2
        version = min(self.newest, rng.choice(_PROBING_VERSIONS))
        tags = {process: {"zone": rng.choice("abc"), "rack": rng.choice("xy")} for process in processes}
        members = []
        for number, (process, member) in enumerate(threads):
            info = SubscriptionInfo(
                version if rng.random() < 0.95 else min(self.newest, version + 1),
                process,
                rng.choice((self.newest, self.newest, self.newest + 1)),
                self._offset_sums(active[number], standby[number]),
                f"host{process.int % 7}:80" if process.int % 3 == 0 else None,
                rng.randint(0, 127),
                SHUTDOWN_REQUESTED if rng.random() < 0.003 else 0,
                tags[process],
            )
            owned = [pair for task in active[number] for pair in self.partitions_of[task]]
            members.append(
                {
                    "id": member,
                    "topics": sorted(topic for topic in self.described["partitions"]),
                    "user_data": encode_subscription_info(info).hex(),
                    "owned": [] if eager else owned,
                    "rack": None,
                }
            )
        rng.shuffle(members)
        return {
            **self.described,
            "assignor": rng.choice(("high-availability", "high-availability", "sticky")),
            "members": members,
            "leader": str(rng.choice(processes)),
            "end_offsets": None
            if rng.random() < 0.1
            else [{"partition": pair, "offset": end} for pair, end in self.ends],
            "settings": {
                "acceptable_recovery_lag": rng.choice(_ACCEPTABLE),
                "max_warmup_replicas": rng.choice((1, 2, 4)),
                "num_standby_replicas": rng.choice((0, 0, 1, 2)),
                "rack_aware_tags": rng.choice(([], [], ["zone"], ["zone", "rack"])),
                "traffic_cost": None,
                "non_overlap_cost": None,
                "strategy": "none",
            },
        }

    def _before(self, threads: list[tuple[uuid.UUID, str]]) -> tuple[list[list[TaskId]], list[list[TaskId]]]:
        """Return what threads had before: some of them joined since, and some tasks moved."""
        rng = self.rng
        active: list[list[TaskId]] = [[] for _ in threads]
        standby: list[list[TaskId]] = [[] for _ in threads]
        settled = rng.randint(0, len(threads))
        replicas = rng.choice((0, 1, 2))
        for task in self.partitions_of:
            owners = rng.sample(range(settled), min(settled, 1 + replicas))
            if owners and rng.random() < 0.95:
                active[owners[0]].append(task)
            for owner in owners[1:]:
                if task in self.changelogs_of:
                    standby[owner].append(task)
        return active, standby

    def _offset_sums(self, active: list[TaskId], standby: list[TaskId]) -> dict[TaskId, int]:
        rng = self.rng
        sums = {task: LATEST_OFFSET for task in active if task in self.changelogs_of}
        for task in standby:
            end = self.sums[task]
            sums[task] = rng.choice((end, max(0, end - rng.randint(0, 20)), rng.randint(0, end), end + 1))
        if rng.random() < 0.02:
            sums[TaskId(9, rng.randint(0, 5))] = rng.choice((LATEST_OFFSET, 5))
        return sums
