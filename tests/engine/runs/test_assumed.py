"""What is assumed about clients, from the sentences of all sources."""

import pytest

from rebalance_sim.engine.runs.assumed import PROTOCOL_LISTS, assumed_of_clients
from rebalance_sim.sources import assumptions
from rebalance_sim.sources.kafka_tools import capture
from rebalance_sim.sources.live_cluster import cluster
from rebalance_sim.sources.offsets_topic import fleet


@pytest.mark.parametrize(
    "sentence", [assumptions.GIVEN, assumptions.DEFAULTS, capture._ELECTED, cluster._ELECTED, fleet._ELECTED]
)
def test_assumed_protocols_are_found_whatever_the_source(sentence: str) -> None:
    found = assumed_of_clients([sentence.replace("{}", "3 members (1 group)"), "no output of kafka-topics.sh"])
    assert found == [(PROTOCOL_LISTS, "assumed for 3 members (1 group)")]
