"""Random user data of Kafka Streams' subscriptions and assignments, to write and to read."""

import random
import uuid
from collections.abc import Iterable, Iterator

from tests.oracle.oracle import JsonObject

NEWEST_VERSION = {"2.6": 8, "2.8": 9, "3.0": 10, "3.2": 11}
"""The releases that add a version of both formats, and the version."""
_LONG_MAX = 2**63 - 1


def newest_version(release: str) -> int:
    """Return the newest version of a release.

    >>> newest_version("3.9.2"), newest_version("2.7.0")
    (11, 8)
    """
    numbers = tuple(map(int, release.split(".")))[:2]
    return max(version for since, version in NEWEST_VERSION.items() if tuple(map(int, since.split("."))) <= numbers)


def streams_write_cases(seed: int, count: int, newest: int) -> Iterator[JsonObject]:
    """Yield fields to write as subscriptions, and as assignments, in turn."""
    rng = random.Random(seed)
    for number in range(count):
        version = rng.randint(1, newest)
        fields = _subscription(rng, version) if number % 2 == 0 else _assignment(rng, version)
        rule = f"kafka-streams-write-{'assignment' if number % 2 else 'subscription'}"
        yield {"rule": rule, "id": f"{seed}-{number}", "config": {"version": version, **fields}}


def streams_read_cases(
    seed: int, written: Iterable[tuple[JsonObject, JsonObject]], newest: int
) -> Iterator[JsonObject]:
    """Yield the bytes that were written, and some of them cut, prolonged, or with another version."""
    rng = random.Random(seed)
    for case, answer in written:
        if "bytes" not in answer:
            continue
        data = bytearray.fromhex(answer["bytes"])
        chance = rng.random()
        if chance < 0.15:
            del data[rng.randrange(len(data)) :]
        elif chance < 0.2:
            data += b"\0\1\2"
        elif chance < 0.3:
            data[3] = rng.choice((0, newest, newest + 1, 99))
        yield {"rule": case["rule"].replace("write", "read"), "id": case["id"], "bytes": data.hex()}


def _subscription(rng: random.Random, version: int) -> JsonObject:
    tasks = sorted({(rng.randint(0, 4), rng.randint(0, 30)) for _ in range(rng.randint(0, 12))})
    names = ("", "", "named") if version >= 10 else ("",)
    sums = {_name(rng.choice(names), task): rng.choice((-2, -3, 0, rng.randint(0, 2**40))) for task in tasks}
    return {
        "latest_supported_version": -1 if version < 3 else rng.randint(version, 12),
        "process": str(uuid.UUID(int=rng.getrandbits(128), version=4)),
        "offset_sums": sums,
        "user_end_point": rng.choice((None, "host:80", "ünï.example:9092")),
        "unique_field": rng.randint(-128, 127),
        "error_code": rng.choice((0, 0, 3)),
        "client_tags": {f"key{k}": rng.choice(("a", "zürich", "")) for k in range(rng.choice((0, 0, 1, 3)))},
    }


def _assignment(rng: random.Random, version: int) -> JsonObject:
    names = ("", "", "näme\U0001f600") if version >= 10 else ("",)
    tasks = [(rng.randint(0, 4), rng.randint(0, 30)) for _ in range(rng.randint(0, 12))]
    hosts = [f"host{k}:{9000 + k}" for k in range(rng.choice((0, 0, 1, 4)))]
    return {
        "commonly_supported_version": rng.randint(max(3, version), 12),
        "active_tasks": [_name(rng.choice(names), task) for task in tasks],
        "standby_tasks": {_name("", task): _partitions(rng) for task in set(tasks[: rng.randint(0, 4)])},
        "partitions_by_host": {host: _partitions(rng) for host in hosts},
        "standby_partitions_by_host": {host: _partitions(rng) for host in hosts},
        "error_code": rng.choice((0, 0, 1, 2, 3)),
        "next_rebalance_ms": rng.choice((0, _LONG_MAX, 1_700_000_000_000)),
    }


def _name(topology: str, task: tuple[int, int]) -> str:
    text = f"{task[0]}_{task[1]}"
    return f"{topology}__{text}" if topology else text


def _partitions(rng: random.Random) -> list[list[object]]:
    topics = ("orders", "clicks", "app-KTABLE-STATE-0001-changelog", "ü\U0001f600")
    return [[rng.choice(topics), rng.randint(0, 20)] for _ in range(rng.randint(0, 6))]
