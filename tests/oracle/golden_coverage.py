"""What the golden answers must show, so that a rule which differs from Kafka's cannot pass: checked when written.

``python -m tests.oracle.golden_coverage`` checks the files that are there.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import pairwise

import numpy as np

from tests.oracle.offsets_topic_cases import GROUP_VERSIONS, OFFSET_VERSIONS
from tests.oracle.oracle import (
    CLASSIC_GROUP_RELEASES,
    CLIENT_RULES,
    CONSUMER_GROUP_RELEASES,
    GOLDEN_PRODUCERS,
    KAFKA_STREAMS_RELEASES,
    SERVER_RULES,
    SERVER_VERSIONS,
    SHARE_GROUP_RELEASES,
    STREAMS_GROUP_RELEASES,
    VERSIONS,
)
from tests.support.batches import Batch
from tests.support.cases import Answer, JsonObject, answer_of, golden, group_of, joiners_of
from tests.support.conversations.mixed_player import in_words
from tests.support.invariants import NumberedBatch, faults, sticky_quirks
from tests.support.java import java_hash
from tests.support.model import Assignment, Group


def check() -> None:
    """Check all files. AssertionError if the answers show too little."""
    _names_fit_in_buckets()
    _builds_with_scala_2_12_differ()
    _every_change_of_the_assignors_changes_an_answer()
    _every_change_of_the_coordinators_changes_an_answer()
    _every_change_of_mirror_maker_changes_an_answer()
    _generations_of_producers_differ()
    _server_side_assignors_keep_move_and_fail()
    _sticky_answers_keep_the_invariants()
    _few_conversations_end_in_an_exception()
    _bytes_are_good_and_bad()
    _every_version_of_a_record_occurs()
    _streams_leaders_withhold_tasks_and_probe()


def _names_fit_in_buckets() -> None:
    """At most 8 names share a hash code: with nine, Java's map builds a tree (not modelled)."""
    elections = [joiners_of(case) for case in golden("cases-election")]
    groups = [group_of(case) for case in golden("cases-assignors")]
    lists: list[Iterable[str]] = [[joiner.member_id for joiner in case] for case in elections]
    lists += [{name for joiner in case for name in joiner.protocols} for case in elections]
    lists += [[member.member_id for member in group.members] for group in groups]
    lists += [{topic for member in group.members for topic in member.topics} for group in groups]
    for names in lists:
        assert max(Counter(map(java_hash, names)).values(), default=0) <= 8, names


def _builds_with_scala_2_12_differ() -> None:
    """The cases have ties that only builds since 2.12.13 decide in their way; earlier ones elect like 2.11."""
    old, new, *others = (
        [answer.get("protocol") for answer in golden(f"election-{build}")]
        for build in ("2.12-2.3.1", "2.12-3.9.2", "2.3", "3.9")
    )
    assert old == others[0]
    assert sum(winner not in {other[k] for other in others} for k, winner in enumerate(new)) > 10


def _answers(name: str) -> list[Answer]:
    return [answer_of(answer) for answer in golden(name)]


def _every_change_of_the_assignors_changes_an_answer() -> None:
    for strategy, releases in (CLIENT_RULES | SERVER_RULES).items():
        for before, since in pairwise(releases[:-1]):
            assert _answers(f"{strategy}-{before}") != _answers(f"{strategy}-{since}"), (strategy, since)


def _every_change_of_mirror_maker_changes_an_answer() -> None:
    for before, since in (("3.0.2", "3.1.2"), ("3.4.0", "3.4.1"), ("3.5.1", "3.6.0"), ("3.9.2", "4.0.0")):
        assert golden(f"mirror-{before}") != golden(f"mirror-{since}"), since


def _every_change_of_the_coordinators_changes_an_answer() -> None:
    """For classic groups in at least one answer, and not only in the field of KIP-814."""
    for before, since in pairwise(CLASSIC_GROUP_RELEASES):
        pairs = zip(golden(f"classic-groups-{before}"), golden(f"classic-groups-{since}"), strict=True)
        assert any(_without_skip(one) != _without_skip(other) for one, other in pairs), since
    for before, since in pairwise(CONSUMER_GROUP_RELEASES):
        one, other = ([*map(in_words, golden(f"consumer-groups-{release}"))] for release in (before, since))
        assert one != other, since
    for kind, releases in (("share-groups", SHARE_GROUP_RELEASES), ("streams-groups", STREAMS_GROUP_RELEASES)):
        for before, since in pairwise(releases):
            pairs = zip(golden(f"{kind}-{before}"), golden(f"{kind}-{since}"), strict=True)
            assert any(one["groups"] != other["groups"] for one, other in pairs), (kind, since)


def _without_skip(answer: JsonObject) -> tuple[list[JsonObject], JsonObject]:
    return [{**each, "skip_assignment": None} for each in answer["answers"]], answer["groups"]


def _generations_of_producers_differ() -> None:
    """Each generation answers most cases differently."""
    of_generations = [[each["partitions"] for each in golden(f"producer-{version}")] for version in GOLDEN_PRODUCERS]
    for first, second in ((0, 1), (1, 2), (0, 2)):
        different = [a != b for a, b in zip(of_generations[first], of_generations[second], strict=True)]
        assert sum(different) > len(different) / 2


def _server_side_assignors_keep_move_and_fail() -> None:
    old, new = (_answers(f"server-uniform-{version}") for version in SERVER_VERSIONS)
    assert sum(a != b for a, b in zip(old, new, strict=True)) > 200
    failures = {answer for answer in new if isinstance(answer, str)}
    assert {"ArrayIndexOutOfBoundsException", "PartitionAssignorException"} <= failures
    batch = Batch([group_of(case) for case in golden("cases-server")])
    given = [a if isinstance(a, dict) else _nothing(g) for a, g in zip(new, batch.groups, strict=True)]
    figures = batch.measure(given)
    assert np.count_nonzero(figures.kept) > 500
    assert np.count_nonzero(figures.moved) > 300


def _nothing(group: Group) -> Assignment:
    return {member.member_id: [] for member in group.members}


def _sticky_answers_keep_the_invariants() -> None:
    """All answers but the endless one at the end, and those of groups with a known quirk."""
    groups = [group_of(case) for case in golden("cases-sticky")]
    for version in VERSIONS:
        answers = _answers(f"sticky-{version}")
        assert answers[-1] == "TimeoutException"
        pairs = zip(groups[:-1], answers[:-1], strict=True)
        kept = [(group, answer) for group, answer in pairs if not sticky_quirks(version, group)]
        good = [(group, answer) for group, answer in kept if isinstance(answer, dict)]
        assert len(good) == len(kept) > 0.6 * len(groups)
        batch = Batch([group for group, _ in good])
        found = faults("sticky", version, NumberedBatch(batch), batch.as_arrays([answer for _, answer in good]))
        assert {name for name, counts in found.items() if counts.any()} == set(), version


def _few_conversations_end_in_an_exception() -> None:
    for version in VERSIONS:
        answers = golden(f"coordinator-{version}")
        assert sum("thrown" in answer for answer in answers) < len(answers) / 100


def _bytes_are_good_and_bad() -> None:
    for version in ("3.9", "4.3"):
        answers = golden(f"read-bytes-{version}")
        assert len(answers) / 4 < sum("error" in answer for answer in answers) < len(answers) * 3 / 4


def _every_version_of_a_record_occurs() -> None:
    """Beside those listed, records of consumer-protocol groups."""
    for version, of_consumer_protocol in zip(VERSIONS, (0, 0, 6, 7), strict=True):
        steps = [step for case in golden(f"cases-offsets-topic-{version}") for step in case["steps"]]
        seen = {(step["type"], step["value_version"]) for step in steps if "value" in step}
        wanted = {("OffsetCommit", number) for number in OFFSET_VERSIONS[version]}
        wanted |= {("GroupMetadata", number) for number in GROUP_VERSIONS[version]}
        assert wanted <= seen
        assert len(seen) == len(wanted) + of_consumer_protocol


def _streams_leaders_withhold_tasks_and_probe() -> None:
    """Each change of the task assignors until 3.6 changes an answer, and leaders ask for all kinds of rebalances."""
    for before, since in pairwise(("2.6.3", "3.2.3", "3.6.2")):
        pairs = zip(golden(f"kafka-streams-{before}"), golden(f"kafka-streams-{since}"), strict=True)
        assert any(one["clients"] != other["clients"] for one, other in pairs), since
    for release in KAFKA_STREAMS_RELEASES:
        members = [
            sent for answer in golden(f"kafka-streams-leader-{release}") for sent in answer.get("members", {}).values()
        ]
        assert len({sent["next_rebalance_ms"] for sent in members}) == 3, release
        assert any(sent["standby_tasks"] for sent in members), release


if __name__ == "__main__":
    check()
