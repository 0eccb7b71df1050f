"""What consumers offer by default, and what happens to a group whose service changes its library."""

import re
from pathlib import Path

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.clients import LIBRARIES, library_named, refused_by_default
from tests.support.batches import elect_all
from tests.support.model import Joiner

PAGE = Path(__file__).parents[3] / "docs" / "predicted-and-actual.md"


def test_the_documented_lists_are_those_of_the_program() -> None:
    documented = dict(re.findall(r"^\| ([\w-]+) \| (`.*?`)(?:; .*)? \|$", PAGE.read_text(), re.MULTILINE))
    lists = {name: ", ".join(f"`{p}`" for p in LIBRARIES[name].protocols_of()) for name in LIBRARIES}
    assert lists.items() <= documented.items()


def test_java_offers_more_since_3_0() -> None:
    assert LIBRARIES["java"].protocols_of((2, 8, 2)) == ("range",)
    assert LIBRARIES["java"].protocols_of((3, 0, 0)) == ("range", "cooperative-sticky")


def test_an_unknown_library_is_named() -> None:
    with pytest.raises(UserError, match="client_library: 'samara' is not known"):
        library_named("samara")


@pytest.mark.parametrize(
    ("before", "after", "elected"),
    [("sarama", "franz-go", None), ("sarama", "kafka-go", "range"), ("kafkajs", "platformatic-kafka", None)],
)
def test_a_service_changes_its_library(before: str, after: str, elected: str | None) -> None:
    """The first member of the new library is refused (INCONSISTENT_GROUP_PROTOCOL) unless the lists overlap."""
    joiners = [Joiner("m1", LIBRARIES[before].protocols_of()), Joiner("m2", LIBRARIES[after].protocols_of())]
    (election,) = elect_all("4.3", [joiners])
    assert (len(election.admitted) == 2) == (elected is not None)
    assert elected in (None, election.protocol)


@pytest.mark.parametrize("before", LIBRARIES)
def test_libraries_that_would_be_refused_are_those_that_the_coordinator_refuses(before: str) -> None:
    """A member of each library joins a group of another one, which all offer their default lists."""
    offered = LIBRARIES[before].protocols_of()
    after = list(LIBRARIES)
    joiners = [[Joiner("m1", offered), Joiner("m2", LIBRARIES[library].protocols_of())] for library in after]
    elections = elect_all("4.3", joiners)
    refused = [library for library, election in zip(after, elections, strict=True) if len(election.admitted) < 2]
    assert refused_by_default(offered) == refused
