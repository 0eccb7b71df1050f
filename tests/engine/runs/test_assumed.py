"""What is assumed about clients, from the sentences of a run's record."""

import pytest

from rebalance_sim.engine.runs.assumed import PROTOCOL_LISTS, assumed_of_clients
from rebalance_sim.sources import assumptions


@pytest.mark.parametrize("sentence", assumptions.PROTOCOLS)
def test_assumed_protocols_are_found(sentence: str) -> None:
    found = assumed_of_clients([sentence.replace("{}", "3 members (1 group)"), "no output of kafka-topics.sh"])
    assert found == [(PROTOCOL_LISTS, "assumed for 3 members (1 group)")]
