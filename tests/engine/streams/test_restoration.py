"""When tasks that move have their state: warm-ups and probing rebalances, and streams groups, which have none."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from rebalance_sim.engine.streams.application import Application, Assigned, Member, Task, figures
from rebalance_sim.engine.streams.classic import assign_applications
from rebalance_sim.engine.streams.restoration import Restoration, RestoreSettings
from rebalance_sim.kafka.wire.streams_protocol import LATEST_OFFSET
from rebalance_sim.releases import kafka_version

A, NEW = "00000000-0000-0000-0000-00000000000a", "new-process-1"
TASKS = [("0", partition) for partition in range(8)]
MILLION = 1_000_000


def application(records: int | None, members: Sequence[Member], before: Sequence[Member]) -> Application:
    """Return an application of eight tasks with a changelog of so many records each."""
    ends = None if records is None else dict.fromkeys(TASKS, records)
    return Application({}, members, {"0": (8, True)}, 0, before, {"0": {"orders": 8}}, True, ends)


def joined(records: int | None) -> Application:
    """Return an application after a process has joined: it has to get half of the tasks."""
    old = Member("a-1", A, TASKS, (), 11)
    return application(records, [old, Member("new-1", NEW, (), ())], [old])


def assigned(group: Application, settings: RestoreSettings) -> Assigned:
    (answer,) = assign_applications([group], kafka_version("3.9"), settings)
    return answer


def times(answer: Assigned) -> list[tuple[int, int | None, int]]:
    """Return when each move's task began to restore, was restored, and moved."""
    restored = answer.restored or {}
    of_moves = [(move, restored[move.process_id, move.task]) for move in answer.moves]
    return [(state.begun_ms, state.restored_ms, move.moved_ms) for move, state in of_moves]


def test_warm_ups_move_in_the_first_probing_rebalance_after_they_have_caught_up() -> None:
    """Two warm-ups at a time restore two million records: 1,000 s, so they move after two intervals of 600 s."""
    answer = assigned(joined(MILLION), RestoreSettings(rate=2_000))
    assert times(answer) == [(0, 1_000_000, 1_200_000)] * 2 + [(1_200_000, 2_200_000, 2_400_000)] * 2
    row = figures(joined(MILLION), answer)
    found = [row[name] for name in ("moved", "records", "restored_ms", "probing_rebalances", "stable_ms")]
    assert found == [0, 0, 0, 4, 2_400_000]


def test_more_warm_ups_and_a_shorter_interval() -> None:
    """All four restore at once, 2,000 s long; the interval of a minute has its multiple at 2,040 s, less the lag."""
    answer = assigned(joined(MILLION), RestoreSettings(2_000, warmup_replicas=4, probing_interval_ms=60_000))
    assert times(answer) == [(0, 2_000_000, 1_980_000)] * 4
    assert answer.probing_rebalances == 33


def test_no_lag_is_acceptable() -> None:
    settings = RestoreSettings(2_000, warmup_replicas=4, acceptable_lag=0, probing_interval_ms=60_000)
    assert times(assigned(joined(MILLION), settings)) == [(0, 2_000_000, 2_040_000)] * 4


def test_small_changelogs_move_at_once_and_are_restored_there() -> None:
    """Lags of up to acceptable.recovery.lag do not delay a move: four tasks process no records for 20 s."""
    answer = assigned(joined(10_000), RestoreSettings(rate=2_000))
    assert times(answer) == [(0, 20_000, 0)] * 4
    row = figures(joined(10_000), answer)
    found = [row[name] for name in ("moved", "records", "restored_ms", "probing_rebalances", "stable_ms")]
    assert found == [4, 40_000, 20_000, 0, 0]


@pytest.mark.parametrize(("records", "rate"), [(None, 2_000), (MILLION, None)])
def test_without_ends_or_a_rate_there_are_no_times(records: int | None, rate: int | None) -> None:
    answer = assigned(joined(records), RestoreSettings(rate))
    row = figures(joined(records), answer)
    assert (answer.moves, row["probing"], row["records"]) == ([], True, None if records is None else 0)
    assert [row[name] for name in ("restored_ms", "probing_rebalances", "stable_ms")] == [None] * 3
    assert all(task["restored_ms"] is None for task in answer.rows(joined(records)))


@pytest.mark.parametrize(("offset", "moves_at"), [(0, 600_000), (985_000, 600_000), (995_000, 0)])
def test_offsets_that_members_sent(offset: int, moves_at: int) -> None:
    """The process with the warm-up replicas of two tasks has sent how much of them it has."""
    old = Member("a-1", A, TASKS, (), 11, dict.fromkeys(TASKS, LATEST_OFFSET))
    warm: list[Task] = [TASKS[1], TASKS[3]]
    new = Member("new-1", NEW, (), warm, offsets=dict.fromkeys(warm, offset))
    answer = assigned(application(MILLION, [old, new], [old, new]), RestoreSettings(rate=4_000))
    assert [move.moved_ms for move in answer.moves if move.task in warm] == [moves_at] * 2


def test_active_tasks_restore_before_standby_tasks() -> None:
    state = Restoration({("0", 0): 1_000, ("0", 1): 3_000, ("0", 2): 500}, rate=1_000)
    members = [Member("a", A, [("0", 0), ("0", 1)], [("0", 2)])]
    state.begin(members)
    state.run(members, 3_000)
    assert [state.left(A, ("0", k)) for k in range(3)] == [0, 1_000, 500]
    state.run(members)
    assert [state.restored()[A, ("0", k)].restored_ms for k in range(3)] == [2_000, 4_000, 4_500]


def test_offsets_beyond_the_end_are_no_state() -> None:
    state = Restoration({("0", 0): 100}, rate=1)
    state.read_state([Member("a", A, [("0", 0)], (), offsets={("0", 0): 101, ("9", 0): 5})])
    assert state.left(A, ("0", 0)) == 100


def test_another_application_that_is_not_known_does_not_matter() -> None:
    """Applications with and without times are assigned together."""
    groups = [joined(MILLION), replace(joined(None))]
    answers = assign_applications(groups, kafka_version("3.9"), RestoreSettings(rate=2_000))
    assert [answer.probing_rebalances for answer in answers] == [4, None]
