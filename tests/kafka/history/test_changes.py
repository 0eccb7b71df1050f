"""What changed between generations, why, and which changes belong together: on sequences by hand and random ones."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_sim.kafka.history.causes import Cause, Explanation, explain
from rebalance_sim.kafka.history.changes import Change, Generation, GroupHistory, GrownTopic, Participant
from rebalance_sim.kafka.history.episodes import Episode, EpisodeKind, is_close
from rebalance_sim.kafka.wire.consumer_protocol import TopicPartition

TOPICS = ("t",)


def parts(*numbers: int) -> tuple[TopicPartition, ...]:
    return tuple(TopicPartition("t", number) for number in numbers)


def member(member_id: str, *assigned: int, instance: str | None = None) -> Participant:
    """Return a member whose client id and host are its id without digits at the end."""
    name = member_id.rstrip("0123456789")
    who = (member_id, instance, name, f"/{name}")
    return Participant(*who, 45_000, 300_000, TOPICS, sent=b"", assigned=parts(*assigned))


def generation(number: int, *members: Participant, at_s: float | None = None) -> Generation:
    at_ms = round(1000 * (number if at_s is None else at_s))
    return Generation(number, members, members[0].member_id if members else None, at_ms)


def explained(*generations: Generation, may_lack_records: bool = False) -> list[tuple[Change, Explanation]]:
    history = GroupHistory()
    changes = [history.next(each) for each in generations]
    return [(change, explain(change, may_lack_records=may_lack_records, earlier="new")) for change in changes]


def last(*generations: Generation, may_lack_records: bool = False) -> tuple[Change, Explanation]:
    return explained(*generations, may_lack_records=may_lack_records)[-1]


A, B, STATIC = member("a1", 0, 1), member("b1", 2, 3), member("s1", 2, 3, instance="s")
CASES: list[tuple[list[Generation], Cause, str, str | None]] = [
    ([generation(1, A)], Cause.FIRST_SEEN, "new", None),
    ([generation(1, A), generation(2, A, B)], Cause.JOINED, "member b joined", "b"),
    (
        [generation(1, A, B), generation(2, A)],
        Cause.LEFT,
        "member b left by LeaveGroup: 1.0 s after the generation before no timeout can have expired",
        "b",
    ),
    ([generation(1, A, B), generation(2, A, at_s=46)], Cause.LEFT, "member b left or timed out", "b"),
    (
        [generation(1, A, B), generation(2, A, member("c1"), at_s=46)],
        Cause.JOINED_AND_LEFT,
        "member c joined; member b left or timed out",
        None,
    ),
    (
        [generation(1, A, B), generation(2, A, member("b2", 2, 3))],
        Cause.RESTARTED,
        "member b rejoined with a new member id: restarted, or removed and back",
        "b",
    ),
    (
        [generation(1, A, B), generation(2, A), generation(3, A, member("b2", 2, 3))],
        Cause.RESTARTED,
        "member b rejoined with a new member id: restarted, or removed and back",
        "b",
    ),
    (
        [generation(1, A, STATIC), generation(1, A, member("s2", 2, 3, instance="s"))],
        Cause.REPLACED,
        "member s replaced: a static member rejoined with a new member id",
        "s",
    ),
    ([generation(1, A), generation(2, at_s=60)], Cause.EMPTIED, "member a left or timed out", "a"),
    (
        [generation(1, A), generation(2, A._replace(topics=("t", "u")))],
        Cause.SUBSCRIPTION,
        "member a subscribed to other topics; new: u",
        "a",
    ),
    ([generation(1, A), generation(2, member("a1", 0, 1, 2))], Cause.GREW, "t from 2 to 3 partitions", None),
    (
        [generation(1, A._replace(owned=parts(0, 1, 2)), B), generation(2, A, B)],
        Cause.REVOKED,
        "1 partition revoked after the generation before, whose owners then rejoined",
        None,
    ),
    (
        [generation(1, A, B), generation(2, A, B)],
        Cause.LEADER,
        "same members and subscriptions: only the leader can start such a rebalance",
        None,
    ),
    (
        [generation(1, A, B), generation(2, A, B._replace(sent=b"other"))],
        Cause.UNKNOWN,
        "same members and topics; member b rejoined with other owned partitions or user data, or the leader rejoined",
        None,
    ),
    (
        [generation(1, A), generation(4, A, B)],
        Cause.JOINED,
        "member b joined; 2 generations before it never became stable",
        "b",
    ),
    # Whatever started the rebalance before it may have started this one.
    (
        [generation(1, A, B), generation(3, A, B)],
        Cause.UNKNOWN,
        "same members and subscriptions; 1 generation before it never became stable",
        None,
    ),
]


@pytest.mark.parametrize(("generations", "cause", "evidence", "about"), CASES)
def test_every_cause(generations: list[Generation], cause: Cause, evidence: str, about: str | None) -> None:
    assert last(*generations)[1] == Explanation(cause, evidence, about)


def unnamed(number: int, host: str = "/h") -> Participant:
    """Return a consumer of Java without a client.id, which has another number after its process has started again."""
    return member(f"c{number}")._replace(client_id=f"consumer-g-{number}", host=host)


def test_a_member_without_a_client_id_of_its_own_may_be_one_that_left() -> None:
    first, gone = generation(1, A, unnamed(1)), generation(2, A)
    change, found = last(first, gone, generation(3, A, unnamed(2)))
    assert [each.member_id for each in change.joined] == ["c2"]
    assert found == Explanation(
        Cause.UNKNOWN,
        "member consumer-g-2 joined; member consumer-g-2 may have left this host before: a client id that is not set "
        "may be another after a restart",
        "consumer-g-2",
    )
    stream = member("s")._replace(client_id="app-5e7f91de-b785-4f49-bc51-19fe2ad59531-StreamThread-1-consumer")
    other = stream._replace(client_id=stream.client_id.replace("5e7f", "0000"), member_id="t")
    assert last(generation(1, A, stream), generation(2, A, other))[1].cause is Cause.UNKNOWN
    # Nobody left who would have another client id, or that host; or the member is known to be back.
    for joined, cause in ((unnamed(2, "/i"), Cause.JOINED), (B, Cause.JOINED), (unnamed(1), Cause.RESTARTED)):
        back = joined._replace(member_id="new")
        assert last(first, gone, generation(3, A, back))[1].cause is cause
    assert last(generation(1, A, B), gone, generation(3, A, unnamed(1)))[1].cause is Cause.JOINED


def test_each_cause_has_a_case() -> None:
    assert {cause for _, cause, *_ in CASES} == set(Cause)


def test_nothing_is_concluded_across_missing_records() -> None:
    _, found = last(generation(1, A), generation(4, A, B), may_lack_records=True)
    assert found == Explanation(Cause.UNKNOWN, "no record of generations 2 to 3: not in the dump, or never stable")
    assert last(generation(1, A), generation(2, A, B), may_lack_records=True)[1].cause is Cause.JOINED


def test_a_restarted_member_keeps_its_partitions() -> None:
    change, _ = last(generation(1, A, B), generation(2, A), generation(3, A, member("b2", 2, 3)))
    assert (change.moved, change.moved_back, change.assigned) == (0, 0, 4)


def test_partitions_move_and_move_back() -> None:
    a, b = member("a1", 0, 1), member("b1", 2, 3)
    moved = [
        change
        for change, _ in explained(
            generation(1, a, b),
            generation(2, member("a1", 0), member("b1", 1, 2, 3)),
            generation(3, member("a1", 0, 1), member("b1", 2, 3)),
            generation(4, member("a1", 0), member("b1", 2, 3), member("c1", 1)),
        )
    ]
    assert [(change.moved, change.moved_back) for change in moved] == [(0, 0), (1, 0), (1, 1), (1, 0)]


def test_a_partition_that_is_not_assigned_for_a_while_has_its_last_owner() -> None:
    change, _ = last(generation(1, A, B), generation(2, A, member("b1", 2)), generation(3, A, member("b1", 2, 3)))
    assert (change.moved, change.topics_grown) == (0, ())


def test_a_topic_that_grows() -> None:
    change, _ = last(generation(1, A), generation(2, member("a1", 0, 1, 5)))
    assert change.topics_grown == (GrownTopic("t", 2, 6),)


def test_a_clock_that_runs_backwards_gives_no_time() -> None:
    change, found = last(generation(1, A, B, at_s=90), generation(2, A, at_s=10))
    assert (change.since_ms, found.evidence) == (None, "member b left or timed out")
    assert not is_close(generation(1, at_s=90), generation(2, at_s=10))


def episode(*generations: Generation) -> Episode:
    found = Episode(1, generations[0].number, generations[0].at_ms)
    for change, why in explained(*generations):
        found.add(change, why)
    return found


C = member("c1", 4)


@pytest.mark.parametrize(
    ("generations", "kind"),
    [
        ([generation(1, A, B), generation(2, A, B, C)], EpisodeKind.SINGLE),
        ([generation(1, A), generation(2, A, B), generation(3, A, B, C)], EpisodeKind.SCALE_UP),
        ([generation(1, A, B, C), generation(2, A, B), generation(3, A)], EpisodeKind.SCALE_DOWN),
        (
            [generation(1, A, B, C), *(generation(n + 1, A, member(f"b{n}"), C) for n in range(2, 6))],
            EpisodeKind.CRASH_LOOP,
        ),
        (
            [generation(1, A, B), generation(2, member("a2"), B), generation(3, member("a2"), member("b2"))],
            EpisodeKind.ROLLING_RESTART,
        ),
        ([generation(1, A, B), generation(2, A, B, C), generation(3, B, C)], EpisodeKind.MIXED),
        ([generation(1, A), generation(2, member("a1", 0, 1, 2)), generation(3, A)], EpisodeKind.TOPICS),
        ([generation(1, A), generation(2, member("a1", 0, 1, 2)), generation(3, A, B)], EpisodeKind.MIXED),
    ],
)
def test_kinds_of_episodes(generations: list[Generation], kind: EpisodeKind) -> None:
    assert episode(*generations).kind is kind


def test_an_episode_with_one_event_is_a_single_change() -> None:
    found = Episode(1, 2, 2000)
    change, why = last(generation(1, A), generation(2, A, B))
    found.add(change, why)
    assert (found.kind, found.members_before, found.members_after) == (EpisodeKind.SINGLE, 1, 2)
    assert found.names == {"b": 1}


def test_members_that_replace_as_many_others() -> None:
    history, found = GroupHistory(), Episode(1, 2, 2000)
    history.next(generation(1, A, B))
    for each in (generation(2, A, B, C), generation(3, B, C)):
        change = history.next(each)
        found.add(change, explain(change, may_lack_records=False))
    assert (found.kind, found.members_before, found.members_after) == (EpisodeKind.ROLLOUT, 2, 2)


@given(st.lists(st.lists(st.sampled_from(["a1", "a2", "b1", "c1", "c2", "d1"]), unique=True, max_size=6), max_size=12))
def test_members_that_come_and_go_add_up(sizes: list[list[str]]) -> None:
    history, before = GroupHistory(), None
    for number, names in enumerate(sizes, 1):
        change = history.next(generation(number, *map(member, names)))
        if before is not None:
            came = [*change.joined, *change.restarted, *change.replaced]
            assert {each.member_id for each in came} == set(names) - set(before)
            assert {each.member_id for each in change.left} <= set(before) - set(names)
        before = names
