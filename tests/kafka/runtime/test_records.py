"""Rows of records in plain Python; tests/kafka/runtime/test_kernel.py has those that kernels read."""

import numpy as np

from rebalance_sim.kafka.runtime.records import new_records, rows


class Point:
    x: int
    hidden: bool


def test_rows_of_records_read_and_write_the_array() -> None:
    points = new_records(Point, 3)
    points[1].x = 7
    given = rows(points)
    assert (given[1].x, given[1].hidden, given[2].x) == (7, False, 0)
    given[2].x, given[2].hidden = 8, True
    assert (points[2].x, points[2].hidden) == (8, True)


def test_a_record_is_copied_to_another_place() -> None:
    points = new_records(Point, 3)
    given = rows(points)
    given[0].x, given[0].hidden = 5, True
    given[2] = given[0]
    given[0].x = 6
    assert [(each.x, bool(each.hidden)) for each in points] == [(6, True), (0, False), (5, True)]


def test_rows_of_a_part_begin_where_it_begins() -> None:
    points = new_records(Point, 3)
    part = rows(np.asarray(points)[1:])
    part[0].x = 9
    assert points[1].x == 9
