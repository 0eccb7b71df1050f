"""Which members an entry of an owner's file is about."""

import pytest

from rebalance_sim.kafka.clients.stated import StatedClient, StatedClients

PATTERNS = [
    ("billing", "billing", True),
    ("billing", "billing-eu", False),
    ("billing", "Billing", False),
    ("billing*", "billing", True),
    ("*-eu", "billing-eu", True),
    ("b?lling", "bälling", True),
    ("b?lling", "blling", False),
    ("a.b+(c)", "a.b+(c)", True),
    ("a.b", "axb", False),
    ("billing", "billing\n", False),
    ("*", "two\nlines", True),
    ("[ab]", "a", False),
]


@pytest.mark.parametrize(("pattern", "name", "is_about"), PATTERNS)
def test_patterns_match_whole_ids(pattern: str, name: str, is_about: bool) -> None:
    assert StatedClient(group=pattern).is_about(name, "app") == is_about
    assert StatedClient(client_id=pattern).is_about("g", name) == is_about


def test_an_unknown_client_id_matches_what_any_does() -> None:
    assert StatedClient(client_id="*").is_about("g", None)
    assert not StatedClient(client_id="app").is_about("g", None)


def test_the_first_entry_that_has_a_value_decides_it() -> None:
    said = StatedClients(
        (
            StatedClient(group="b*", release="3.7.0"),
            StatedClient(client_id="app", library="java", release="2.0", start_ms=0),
            StatedClient(start_ms=9, revoke_ms=7, team="red"),
        )
    )
    assert said.of("b", "app") == StatedClient(library="java", release="3.7.0", start_ms=0, revoke_ms=7, team="red")
    assert said.of("c", "other") == StatedClient(start_ms=9, revoke_ms=7, team="red")
