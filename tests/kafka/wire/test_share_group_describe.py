"""The requests that describe share groups, and what a broker of Kafka 4.3.1 answered to them."""

import pytest

from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.share_group_describe import (
    Coordinator,
    ShareMember,
    find_coordinator_request,
    find_coordinator_response,
    group_describe_request,
    request,
    response_body,
    share_group_describe_response,
)
from tests.support.share_group_answers import COORDINATORS, DESCRIBED, GROUPS


def test_the_broker_understood_these_requests() -> None:
    assert find_coordinator_request(GROUPS).hex() == "00040873656e646572730873746f7070656408776f726b65727300"
    assert group_describe_request(GROUPS).hex() == "040873656e646572730873746f7070656408776f726b6572730000"
    assert request(77, 1, b"\7", "me").hex(" ", 2) == "0000 000e 004d 0001 0000 0000 0002 6d65 0007"


def test_coordinators_are_read() -> None:
    assert find_coordinator_response(COORDINATORS) == [Coordinator(each, 0, "", "127.0.0.1", 39887) for each in GROUPS]


def test_groups_are_read() -> None:
    senders, workers, stopped = share_group_describe_response(DESCRIBED)
    found = (senders.group_id, senders.state, senders.assignment_epoch, len(senders.members))
    assert found == ("senders", "Stable", 5, 3)
    assert (stopped.group_id, stopped.state, stopped.assignment_epoch, stopped.members) == ("stopped", "Empty", 3, ())
    assert workers.members[1] == ShareMember(
        "PjuBBTsJQeiY-DicOCgPQw", None, 5, "workers-2", "/127.0.0.1", ("jobs",), (("jobs", 4), ("jobs", 5))
    )


def test_an_answer_that_is_cut_off_is_an_error() -> None:
    for length in range(len(DESCRIBED)):
        with pytest.raises(SchemaError, match="ShareGroupDescribe response"):
            share_group_describe_response(DESCRIBED[:length])
    assert response_body(b"\0\0\0\0\0" + DESCRIBED) == DESCRIBED
