"""
Write tests/golden: random cases from fixed seeds and the answers of Kafka's released classes.

Run as `python -m tests.oracle.make_golden`. The same sources and releases always give the same files.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from tests.oracle import golden_coverage
from tests.oracle.connect_cases import connect_cases
from tests.oracle.consumer_group_cases import consumer_group_cases
from tests.oracle.coordinator_cases import as_known_to, coordinator_cases
from tests.oracle.kafka_streams_cases import (
    application_cases,
    leader_cases,
    strategies_of,
    topologies,
    with_subtopologies,
)
from tests.oracle.kafka_streams_wire_cases import newest_version, streams_read_cases, streams_write_cases
from tests.oracle.migration_cases import migration_cases
from tests.oracle.mirror_cases import mirror_cases
from tests.oracle.offsets_topic_cases import offsets_topic_cases
from tests.oracle.oracle import (
    BUILT_IN_PARTITIONER_VERSIONS,
    CLASSIC_GROUP_RELEASES,
    CLIENT_RULES,
    CONNECT_RELEASES,
    CONSUMER_GROUP_RELEASES,
    DEFAULT_PARTITIONER_VERSIONS,
    GOLDEN_PRODUCERS,
    KAFKA_STREAMS_RELEASES,
    MIRROR_RELEASES,
    PRODUCER_VERSIONS,
    SCALA_2_12_BUILDS,
    SERVER_RULES,
    SERVER_VERSIONS,
    SHARE_GROUP_RELEASES,
    STREAMS_GROUP_RELEASES,
    STREAMS_RECORD_RELEASES,
    STREAMS_RELEASES,
    VERSIONS,
    JsonObject,
    answers,
    connect_answers,
    coordinator_answers,
    kafka_streams_answers,
    mirror_answers,
    scala_2_12_answers,
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
from tests.oracle.server_cases import early_server_cases, server_cases
from tests.oracle.share_group_cases import share_group_cases
from tests.oracle.streams_cases import agreed, streams_cases
from tests.oracle.streams_group_cases import streams_group_cases
from tests.oracle.streams_reconciliation_cases import reconciliation_cases
from tests.oracle.streams_record_cases import streams_record_cases
from tests.support.cases import GOLDEN, write_golden
from tests.support.coordinator_scenarios import SCENARIOS as CLASSIC_SCENARIOS
from tests.support.coordinator_scenarios import STATE_REQUESTS
from tests.support.coordinator_scenarios.migration import SCENARIOS

Ask = Callable[[str, list[JsonObject]], list[JsonObject]]
"""Returns what a release answers to cases."""
ELECTION_SEED, ELECTION_COUNT = 20, 2000
ASSIGNOR_SEED, ASSIGNOR_COUNT = 21, 1500
SERVER_SEED, SERVER_COUNT = 22, 1200
CROWDED_SEED, CROWDED_ELECTIONS, CROWDED_ASSIGNMENTS = 29, 100, 60
ASSIGNORS = ("range", "roundrobin")
STICKY_SEED, STICKY_COUNT = 22, 1800
RELEASES_SEED, RELEASES_COUNT = 30, 100
SERVER_RELEASES_COUNT = 200
STICKY_ASSIGNORS = {"sticky": VERSIONS, "cooperative-sticky": ("3.9", "4.3")}
WRITE_SEED, WRITE_COUNT = 22, 200
READ_SEED, READ_COUNT = 23, 800
READERS = ("3.9", "4.3")
PARTITIONER_SEED = 24
COORDINATOR_SEED, COORDINATOR_COUNT = 25, 400
CONSUMER_GROUP_SEED, CONSUMER_GROUP_COUNT = 26, 300
MIGRATION_SEED, MIGRATION_COUNT = 27, 300
GROUP_RELEASES_SEED, GROUP_RELEASES_COUNT = 31, 60
SHARE_GROUP_SEED, SHARE_GROUP_COUNT = 32, 200
STREAMS_GROUP_SEED, STREAMS_GROUP_COUNT = 33, 200
CLASSIC_RELEASES_SEED, CLASSIC_RELEASES_COUNT = 32, 120
OFFSETS_TOPIC_SEED, OFFSETS_TOPIC_COUNT = 28, 250
KAFKA_STREAMS_SEED, KAFKA_STREAMS_COUNT, KAFKA_STREAMS_RACKS, KAFKA_STREAMS_LEADERS, KAFKA_STREAMS_BYTES = (
    33,
    120,
    45,
    60,
    80,
)
CONNECT_SEED, CONNECT_COUNT = 33, 40
MIRROR_SEED, MIRROR_COUNT = 36, 150
STREAMS_SEED, STREAMS_COUNT, STREAMS_CALLS = 33, 300, 30
STREAMS_RECORDS_SEED, STREAMS_RECORDS_COUNT = 34, 24
RECONCILIATION_SEED, RECONCILIATION_COUNT = 35, 400


def main() -> None:
    GOLDEN.mkdir(exist_ok=True)
    _write_elections()
    groups = list(crowded_assignor_cases(CROWDED_SEED, CROWDED_ASSIGNMENTS))
    assignments = [*assignor_cases(ASSIGNOR_SEED, ASSIGNOR_COUNT), *groups]
    _write_by_rule("assignors", assignments, dict.fromkeys(ASSIGNORS, VERSIONS))
    sticky = [*sticky_cases(STICKY_SEED, STICKY_COUNT), *groups, endless_case()]
    _write_by_rule("sticky", sticky, STICKY_ASSIGNORS)
    by_release = [*sticky_cases(RELEASES_SEED, RELEASES_COUNT), *assignor_cases(RELEASES_SEED, RELEASES_COUNT)]
    _write_by_rule("releases", by_release, CLIENT_RULES)
    on_servers = dict.fromkeys(SERVER_RULES, SERVER_VERSIONS)
    _write_by_rule("server", server_cases(SERVER_SEED, SERVER_COUNT), on_servers)
    _write_by_rule("server-releases", early_server_cases(RELEASES_SEED, SERVER_RELEASES_COUNT), SERVER_RULES)
    _write_streams_groups()
    heartbeats = reconciliation_cases(RECONCILIATION_SEED, RECONCILIATION_COUNT)
    _write_answered("streams-members", heartbeats, STREAMS_RELEASES)
    records = streams_record_cases(STREAMS_RECORDS_SEED, STREAMS_RECORDS_COUNT)
    _write_answered("streams-records", records, STREAMS_RECORD_RELEASES, coordinator_answers)
    _write_protocol_bytes()
    _write_answered("murmur2", murmur2_cases(PARTITIONER_SEED, 20), PRODUCER_VERSIONS)
    defaults = default_partitioner_cases(PARTITIONER_SEED, 200)
    _write_answered("default-partitioner", defaults, DEFAULT_PARTITIONER_VERSIONS)
    built_in = built_in_partitioner_cases(PARTITIONER_SEED, 200)
    _write_answered("built-in-partitioner", built_in, BUILT_IN_PARTITIONER_VERSIONS)
    _write_answered("producer", producer_cases(PARTITIONER_SEED, 120), GOLDEN_PRODUCERS)
    # Releases have different requests, and write different types and versions of records.
    for version in VERSIONS:
        _write_of_release("coordinator", version, coordinator_cases(version, COORDINATOR_SEED, COORDINATOR_COUNT))
        in_topic = offsets_topic_cases(version, OFFSETS_TOPIC_SEED, OFFSETS_TOPIC_COUNT)
        _write_of_release("offsets-topic", version, in_topic)
    # The rules of consumer-protocol groups change with every release.
    _write_of_release("consumer-group", "4.3", consumer_group_cases(CONSUMER_GROUP_SEED, CONSUMER_GROUP_COUNT))
    _write_migrations()
    _write_by_release("consumer-groups", _cases_with_consumer_groups(), CONSUMER_GROUP_RELEASES)
    _write_by_release("share-groups", share_group_cases(SHARE_GROUP_SEED, SHARE_GROUP_COUNT), SHARE_GROUP_RELEASES)
    with_streams = streams_group_cases(STREAMS_GROUP_SEED, STREAMS_GROUP_COUNT)
    _write_by_release("streams-groups", with_streams, STREAMS_GROUP_RELEASES)
    _write_by_release("classic-groups", _cases_with_classic_groups(), CLASSIC_GROUP_RELEASES, as_known_to)
    _write_kafka_streams()
    _write_answered("connect", connect_cases(CONNECT_SEED, CONNECT_COUNT), CONNECT_RELEASES, connect_answers)
    _write_answered("mirror", mirror_cases(MIRROR_SEED, MIRROR_COUNT, most_names=20), MIRROR_RELEASES, mirror_answers)
    golden_coverage.check()


def _write_elections() -> None:
    crowded = crowded_election_cases(CROWDED_SEED, CROWDED_ELECTIONS)
    elections = [*election_cases(ELECTION_SEED, ELECTION_COUNT), *crowded]
    _write_answered("election", elections, VERSIONS)
    for release in SCALA_2_12_BUILDS:
        write_golden(f"election-2.12-{release}", scala_2_12_answers(release, elections))


def _write_streams_groups() -> None:
    """Write cases of streams groups. 4.1 is asked many times, since some of its answers are random."""
    cases = list(streams_cases(STREAMS_SEED, STREAMS_COUNT))
    write_golden("cases-streams", cases)
    for release in STREAMS_RELEASES:
        calls = STREAMS_CALLS if release.startswith("4.1") else 1
        given = answers(release, [case for case in cases for _ in range(calls)])
        write_golden(f"streams-{release}", (agreed(given[k : k + calls]) for k in range(0, len(given), calls)))


def _write_protocol_bytes() -> None:
    written = list(write_cases(WRITE_SEED, WRITE_COUNT))
    _write_answered("write-bytes", written, VERSIONS)
    _write_answered("read-bytes", read_cases(READ_SEED, answers(VERSIONS[-1], written), READ_COUNT), READERS)


def _write_migrations() -> None:
    """Write cases of groups that change their protocol; the oracle does not answer a few of them."""
    cases = list(migration_cases(MIGRATION_SEED, 2 * MIGRATION_COUNT))
    answered = [pair for pair in zip(cases, answers("4.3", cases), strict=True) if "answers" in pair[1]]
    write_golden("cases-migration-4.3", (case for case, _ in answered[:MIGRATION_COUNT]))
    write_golden("migration-4.3", (answer for _, answer in answered[:MIGRATION_COUNT]))


def _cases_with_consumer_groups() -> list[JsonObject]:
    """Return cases of groups with consumer-protocol members, some of which migrate."""
    drawn = (cases(GROUP_RELEASES_SEED, GROUP_RELEASES_COUNT) for cases in (consumer_group_cases, migration_cases))
    return [scenario.case() for scenario in SCENARIOS] + [case for some in drawn for case in some]


def _cases_with_classic_groups() -> list[JsonObject]:
    scenarios = (scenario for scenario in (*CLASSIC_SCENARIOS, *STATE_REQUESTS) if "3.9" in scenario.versions)
    drawn = coordinator_cases("3.9", CLASSIC_RELEASES_SEED, CLASSIC_RELEASES_COUNT)
    return [*(scenario.case() for scenario in scenarios), *drawn]


def _write_kafka_streams() -> None:
    """Write applications of Kafka Streams: tasks by release, and by racks, answers of leaders, and bytes."""
    seed, count = KAFKA_STREAMS_SEED, KAFKA_STREAMS_COUNT
    asked = [*application_cases(seed, count), *application_cases(seed + 1, count, tags=True)]
    _write_answered("kafka-streams", asked, KAFKA_STREAMS_RELEASES, kafka_streams_answers)
    for release in KAFKA_STREAMS_RELEASES:
        if len(strategies_of(release)) > 1:
            in_racks = application_cases(seed, KAFKA_STREAMS_RACKS, tags=True, strategies=strategies_of(release)[1:])
            _write_of_release("kafka-streams-racks", release, in_racks, kafka_streams_answers)
        described = topologies(seed, 20)
        named = [{"rule": "kafka-streams-topology", "id": str(k), "config": each} for k, each in enumerate(described)]
        known = list(map(with_subtopologies, described, kafka_streams_answers(release, named)))
        newest = newest_version(release)
        leaders = leader_cases(seed, KAFKA_STREAMS_LEADERS, known, newest, strategies_of(release))
        _write_of_release("kafka-streams-leader", release, leaders, kafka_streams_answers)
        written = list(streams_write_cases(seed, KAFKA_STREAMS_BYTES, newest))
        bytes_ = _write_of_release("kafka-streams-write", release, written, kafka_streams_answers)
        read = streams_read_cases(seed, zip(written, bytes_, strict=True), newest)
        _write_of_release("kafka-streams-read", release, read, kafka_streams_answers)


def _write_by_release(
    name: str,
    cases: Iterable[JsonObject],
    releases: Sequence[str],
    known_to: Callable[[str, JsonObject], JsonObject] = lambda _, case: case,
) -> None:
    """Write the cases that the coordinators of all releases answer without an exception, and their answers."""
    drawn = list(cases)
    by_release = {r: coordinator_answers(r, [known_to(r, case) for case in drawn]) for r in releases}
    answered = [
        k
        for k in range(len(drawn))
        if all("answers" in given[k] and "thrown" not in given[k] for given in by_release.values())
    ]
    write_golden(f"cases-{name}", (drawn[k] for k in answered))
    for release, given in by_release.items():
        write_golden(f"{name}-{release}", (given[k] for k in answered))


def _write_answered(name: str, cases: Iterable[JsonObject], versions: Iterable[str], ask: Ask = answers) -> None:
    """Write cases, and what each release answers to them."""
    asked = list(cases)
    write_golden(f"cases-{name}", asked)
    for version in versions:
        write_golden(f"{name}-{version}", ask(version, asked))


def _write_by_rule(name: str, cases: Iterable[JsonObject], versions_of: Mapping[str, Iterable[str]]) -> None:
    """Write cases that are put to several rules, and their answers."""
    asked = list(cases)
    write_golden(f"cases-{name}", asked)
    for rule, versions in versions_of.items():
        for version in versions:
            write_golden(f"{rule}-{version}", answers(version, ({**case, "rule": rule} for case in asked)))


def _write_of_release(name: str, version: str, cases: Iterable[JsonObject], ask: Ask = answers) -> list[JsonObject]:
    """Write cases for one release, and its answers, which are returned."""
    asked = list(cases)
    write_golden(f"cases-{name}-{version}", asked)
    answered = ask(version, asked)
    write_golden(f"{name}-{version}", answered)
    return answered


if __name__ == "__main__":
    main()
