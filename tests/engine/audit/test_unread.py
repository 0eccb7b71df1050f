"""What an audit could not use of its input, and when that is too much."""

import pytest

from rebalance_sim.engine.audit.unread import Unread
from rebalance_sim.engine.runs.rejected_shares import RejectedShare

USED = Unread(0, 9, 0, 0, 0, 0, None)


def test_groups_without_a_row_of_a_member_are_not_said_to_have_lost_one() -> None:
    one = USED._replace(groups=1, unseen=1, rows=2)
    assert one.sentence == (
        "1 of 9 groups could not be read: no usable row shows its members; 2 more rows could not be used"
    )
    both = one._replace(groups=2, member_rows=1)
    assert both.sentence == (
        "2 of 9 groups could not be read: no usable row shows their members (1 row of members rejected); 1 more row "
        "could not be used"
    )


@pytest.mark.parametrize(
    ("unread", "most", "is_too_much"),
    [
        (USED, 0, False),
        (USED._replace(groups=1), 0.99, True),
        (USED._replace(groups=9), 1, False),
        (USED._replace(worst=RejectedShare(0.02, 2, 100, "members")), 0.01, True),
        (USED._replace(worst=RejectedShare(0.01, 1, 100, "members")), 0.01, False),
        (USED._replace(files=1), 0, False),
    ],
)
def test_a_group_or_a_share_of_the_rows_is_too_much(unread: Unread, most: float, is_too_much: bool) -> None:
    assert unread.exceeds(most) == is_too_much
