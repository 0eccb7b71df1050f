"""What is assumed about clients and others, from the sentences of a run's record."""

import pytest

from rebalance_sim.commands.simulate import simulation_assumptions
from rebalance_sim.engine.runs.assumed import (
    BROKERS,
    CLIENTS,
    GROUPS,
    INPUTS,
    LIBRARY,
    PROTOCOL_LISTS,
    RELEASE,
    TIMES,
    assumed_of_clients,
    assumptions_by_topic,
)
from rebalance_sim.releases import untested
from rebalance_sim.sources import assumptions
from rebalance_sim.sources.scenarios import scenario_of
from rebalance_sim.sources.yaml_files import shipped_names

OF_MEMBERS = (*assumptions.PROTOCOLS, assumptions.USED_TOPICS, assumptions.OPAQUE, assumptions.NO_TOPICS)
OF_GROUPS = (
    *(assumptions.REBALANCING, assumptions.WITHOUT_MEMBERS, assumptions.NOT_DESCRIBED, assumptions.OF_OTHER_TYPES),
    "members of {} may be missing: state or offsets show more members than were read",
)


@pytest.mark.parametrize("sentence", assumptions.PROTOCOLS)
def test_assumed_protocols_are_found(sentence: str) -> None:
    found = assumed_of_clients([sentence.replace("{}", "3 members (1 group)"), "no output of kafka-topics.sh"])
    assert found == [(PROTOCOL_LISTS, "assumed for 3 members (1 group)")]


@pytest.mark.parametrize(
    ("topic", "sentence"),
    [
        *((CLIENTS, sentence.replace("{}", "3 members (1 group)")) for sentence in (*OF_MEMBERS, LIBRARY)),
        (CLIENTS, "owned partitions and rack are unknown for 1 member in 1 group: the formatters do not print them"),
        (CLIENTS, "consumers of other client libraries are simulated as Java's (3 groups)"),
        *((GROUPS, sentence.replace("{}", "1,200 groups (a, b)")) for sentence in OF_GROUPS),
        *((TIMES, each) for name in shipped_names("scenarios") for each in simulation_assumptions(scenario_of(name))),
        (BROKERS, RELEASE.format("4.3")),
        (BROKERS, untested("9.9")),
        (BROKERS, "brokers of Kafka 3.9 have the consumer protocol (KIP-848) enabled, which is early access"),
        (BROKERS, "every broker is ready and answers at once; batches wait for further records only"),
        (INPUTS, "log end offsets are unknown: the topic does not contain them"),
        (INPUTS, "no content in a.txt"),
    ],
)
def test_an_assumption_is_about_one_thing(topic: str, sentence: str) -> None:
    assert assumptions_by_topic([sentence]) == {topic: (sentence,)}
