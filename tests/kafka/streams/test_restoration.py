"""How threads restore: compared with reading one record after the other, and the order of active and standby tasks."""

import random

import pytest

from rebalance_sim.kafka.streams.restoration import finish_after, restored_after


@pytest.mark.parametrize("seed", range(20))
def test_records_are_shared_as_if_they_were_read_in_turn(seed: int) -> None:
    """What cannot be divided equally differs by less than a record per task."""
    chance = random.Random(seed)
    active, standby = ([chance.randrange(30) for _ in range(chance.randrange(5))] for _ in range(2))
    read = chance.randrange(sum(active) + sum(standby) + 5)
    counted, finished = _in_turn(active, standby)
    ours = [records for of_rank in finish_after(active, standby) for records in of_rank]
    assert all(abs(expected - finish) <= len(ours) for expected, finish in zip(finished, ours, strict=True))
    restored = [amount for amounts in restored_after(active, standby, read) for amount in amounts]
    assert sum(restored) == min(read, sum(active) + sum(standby))
    expected_restored = counted[min(read, len(counted) - 1)]
    assert all(abs(a - b) <= 1 for a, b in zip(restored, expected_restored, strict=True))
    assert all(a <= of for a, of in zip(restored, [*active, *standby], strict=True))


def _in_turn(active: list[int], standby: list[int]) -> tuple[list[list[int]], list[int]]:
    """Return what each task has after each record, and after how many records each has everything."""
    needed, has = [*active, *standby], [0] * (len(active) + len(standby))
    counted, finished = [list(has)], [0 if k < len(active) else sum(active) for k in range(len(needed))]
    for rank in (range(len(active)), range(len(active), len(needed))):
        while any(has[k] < needed[k] for k in rank):
            for k in rank:
                if has[k] < needed[k]:
                    has[k] += 1
                    counted.append(list(has))
                    finished[k] = len(counted) - 1
    return counted, finished
