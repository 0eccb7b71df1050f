"""
Write tests/golden: random cases from fixed seeds and the answers of Kafka's released classes.

Run as `python -m tests.oracle.make_golden`. The same sources and releases always give the same files.
"""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path

from tests.oracle.consumer_group_cases import consumer_group_cases
from tests.oracle.coordinator_cases import coordinator_cases
from tests.oracle.migration_cases import migration_cases
from tests.oracle.offsets_topic_cases import offsets_topic_cases
from tests.oracle.oracle import (
    BUILT_IN_PARTITIONER_VERSIONS,
    DEFAULT_PARTITIONER_VERSIONS,
    PRODUCER_VERSIONS,
    SERVER_VERSIONS,
    VERSIONS,
    JsonObject,
    answers,
)
from tests.oracle.partitioner_cases import (
    built_in_partitioner_cases,
    default_partitioner_cases,
    murmur2_cases,
    producer_cases,
)
from tests.oracle.protocol_cases import read_cases, write_cases
from tests.oracle.random_cases import (
    assignor_cases,
    crowded_assignor_cases,
    crowded_election_cases,
    election_cases,
    endless_case,
    sticky_cases,
)
from tests.oracle.server_cases import SERVER_RULES, server_cases

GOLDEN = Path(__file__).resolve().parent.parent / "golden"

ELECTION_SEED, ELECTION_COUNT = 20, 2000
ASSIGNOR_SEED, ASSIGNOR_COUNT = 21, 1500
SERVER_SEED, SERVER_COUNT = 22, 1200
CROWDED_SEED, CROWDED_ELECTIONS, CROWDED_ASSIGNMENTS = 29, 100, 60
ASSIGNORS = ("range", "roundrobin")
STICKY_SEED, STICKY_COUNT = 22, 1800
STICKY_ASSIGNORS = {"sticky": VERSIONS, "cooperative-sticky": ("3.9", "4.3")}
WRITE_SEED, WRITE_COUNT = 22, 200
READ_SEED, READ_COUNT = 23, 800
READERS = ("3.9", "4.3")
PARTITIONER_SEED = 24
COORDINATOR_SEED, COORDINATOR_COUNT = 25, 400
CONSUMER_GROUP_SEED, CONSUMER_GROUP_COUNT = 26, 300
MIGRATION_SEED, MIGRATION_COUNT = 27, 300
OFFSETS_TOPIC_SEED, OFFSETS_TOPIC_COUNT = 28, 250
GOLDEN_PRODUCERS = ("2.3", "2.8", "4.3")
"""One release of each generation of rules; the live tests cover the others."""


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    elections = [
        *election_cases(ELECTION_SEED, ELECTION_COUNT),
        *crowded_election_cases(CROWDED_SEED, CROWDED_ELECTIONS),
    ]
    crowded = list(crowded_assignor_cases(CROWDED_SEED, CROWDED_ASSIGNMENTS))
    assignments = [*assignor_cases(ASSIGNOR_SEED, ASSIGNOR_COUNT), *crowded]
    sticky = [*sticky_cases(STICKY_SEED, STICKY_COUNT), *crowded, endless_case()]
    _write("cases-election", elections)
    on_servers = list(server_cases(SERVER_SEED, SERVER_COUNT))
    _write("cases-assignors", assignments)
    _write("cases-sticky", sticky)
    _write("cases-server", on_servers)
    for version in VERSIONS:
        _write(f"election-{version}", answers(version, elections))
        for rule in ASSIGNORS:
            _write(f"{rule}-{version}", answers(version, ({**case, "rule": rule} for case in assignments)))
    for rule, versions in STICKY_ASSIGNORS.items():
        for version in versions:
            _write(f"{rule}-{version}", answers(version, ({**case, "rule": rule} for case in sticky)))
    for version in SERVER_VERSIONS:
        for rule in SERVER_RULES:
            _write(f"{rule}-{version}", answers(version, ({**case, "rule": rule} for case in on_servers)))
    write_protocol_bytes()
    write_partitioners()
    write_coordinators()
    write_consumer_groups()
    write_migrations()
    write_offsets_topic()


def write_protocol_bytes() -> None:
    written = list(write_cases(WRITE_SEED, WRITE_COUNT))
    _write("cases-write-bytes", written)
    for version in VERSIONS:
        _write(f"write-bytes-{version}", answers(version, written))
    to_read = list(read_cases(READ_SEED, answers(VERSIONS[-1], written), READ_COUNT))
    _write("cases-read-bytes", to_read)
    for version in READERS:
        _write(f"read-bytes-{version}", answers(version, to_read))


def write_partitioners() -> None:
    _write_rule(murmur2_cases(PARTITIONER_SEED, 20), PRODUCER_VERSIONS)
    _write_rule(default_partitioner_cases(PARTITIONER_SEED, 200), DEFAULT_PARTITIONER_VERSIONS)
    _write_rule(built_in_partitioner_cases(PARTITIONER_SEED, 200), BUILT_IN_PARTITIONER_VERSIONS)
    _write_rule(producer_cases(PARTITIONER_SEED, 120), GOLDEN_PRODUCERS)


def write_coordinators() -> None:
    """Write cases per release, because releases have different requests."""
    for version in VERSIONS:
        cases = list(coordinator_cases(version, COORDINATOR_SEED, COORDINATOR_COUNT))
        _write(f"cases-coordinator-{version}", cases)
        _write(f"coordinator-{version}", answers(version, cases))


def write_consumer_groups() -> None:
    """Write cases of consumer-protocol groups for the newest release: the rules change with every one."""
    cases = list(consumer_group_cases(CONSUMER_GROUP_SEED, CONSUMER_GROUP_COUNT))
    _write("cases-consumer-group-4.3", cases)
    _write("consumer-group-4.3", answers("4.3", cases))


def write_migrations() -> None:
    """Write cases of groups that change their protocol; the oracle does not answer a few of them."""
    cases = list(migration_cases(MIGRATION_SEED, 2 * MIGRATION_COUNT))
    answered = [pair for pair in zip(cases, answers("4.3", cases), strict=True) if "answers" in pair[1]]
    _write("cases-migration-4.3", (case for case, _ in answered[:MIGRATION_COUNT]))
    _write("migration-4.3", (answer for _, answer in answered[:MIGRATION_COUNT]))


def write_offsets_topic() -> None:
    """Write cases per release, because releases write different record types and versions."""
    for version in VERSIONS:
        cases = list(offsets_topic_cases(version, OFFSETS_TOPIC_SEED, OFFSETS_TOPIC_COUNT))
        _write(f"cases-offsets-topic-{version}", cases)
        _write(f"offsets-topic-{version}", answers(version, cases))


def _write_rule(cases: Iterable[JsonObject], versions: Iterable[str]) -> None:
    """Write cases that contain their rule, which is the same for all."""
    asked = list(cases)
    rule = asked[0]["rule"]
    _write(f"cases-{rule}", asked)
    for version in versions:
        _write(f"{rule}-{version}", answers(version, asked))


def _write(name: str, rows: Iterable[JsonObject]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n" for row in rows)
    path = GOLDEN / f"{name}.jsonl.gz"
    # Without name and time in the header, so that the bytes depend on the content only.
    with path.open("wb") as raw, gzip.GzipFile("", "wb", 9, raw, mtime=0) as packed:
        packed.write(text.encode())
    print(f"{path.name}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
