"""The request that describes streams groups, and the answer, both as the classes of Kafka 4.3.1 write them."""

import pytest

from rebalance_sim.kafka.wire.readable import SchemaError
from rebalance_sim.kafka.wire.share_group_describe import group_describe_request
from rebalance_sim.kafka.wire.streams_group_describe import (
    DescribedStreamsGroup,
    DescribedStreamsMember,
    DescribedSubtopology,
    TaskAssignment,
    streams_group_describe_response,
)
from tests.support.streams_group_answers import DESCRIBED

REPARTITIONED = "pricing-by-product-repartition"


def test_the_request_is_that_of_kafka() -> None:
    assert group_describe_request(["pricing", "gone"]).hex() == "030870726963696e6705676f6e650000"


def test_groups_are_read() -> None:
    pricing, gone, unready = streams_group_describe_response(DESCRIBED)
    tasks = TaskAssignment((("0", 0), ("0", 2), ("1", 1)), (("1", 0),), (("1", 2),))
    target = TaskAssignment((("0", 0),), (), ())
    assert pricing == DescribedStreamsGroup(
        "pricing",
        0,
        "",
        "Stable",
        3,
        (
            DescribedSubtopology("0", ("quotes",), (), ()),
            DescribedSubtopology("1", (), ("pricing-store-changelog",), (REPARTITIONED,)),
        ),
        (
            DescribedStreamsMember("m-1", 7, "i", "c", "/h", "p", tasks, target),
            DescribedStreamsMember("m-2", 7, None, "d", "/h", "p2", target, tasks),
        ),
    )
    assert (gone.error, gone.message, gone.topology_epoch) == (69, "Group gone not found.", None)
    assert (unready.state, unready.topology_epoch, unready.subtopologies) == ("NotReady", 1, ())


def test_an_answer_that_is_cut_off_is_an_error() -> None:
    for length in range(len(DESCRIBED)):
        with pytest.raises(SchemaError, match="StreamsGroupDescribe response"):
            streams_group_describe_response(DESCRIBED[:length])
