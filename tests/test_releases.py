"""Which release follows which rules."""

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.releases import RULE_CHANGES, CoordinatorRules, MapRule, RuleChange, is_tested, kafka_version


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0.11", "0.11.0.3"),
        ("0.11.0", "2.0.1"),
        ("2.5.1", "2.5.2"),
        ("2.7.1", "2.7.2"),
        ("3.6.1", "3.6.2"),
        ("4.0.2", "4.0.5"),
        ("4.3.0", "4.3.1"),
        ("4.4", "5.1"),
    ],
)
def test_releases_with_the_same_rules_are_equal(one: str, other: str) -> None:
    assert kafka_version(one) == kafka_version(other)
    assert hash(kafka_version(one)) == hash(kafka_version(other))
    assert (kafka_version(one).name, kafka_version(other).name) == (one, other)


@pytest.mark.parametrize("change", RULE_CHANGES, ids=lambda change: f"{change.since}-{'-'.join(change.rules)}")
def test_every_change_is_in_order_and_changes_something(change: RuleChange) -> None:
    earlier = RULE_CHANGES[: RULE_CHANGES.index(change)]
    before = [kafka_version(other.since) for other in earlier if other.since != change.since]
    since = kafka_version(change.since)
    for rule, value in change.rules.items():
        assert getattr(since, rule) == value
        assert not before or getattr(before[-1], rule) != value


@pytest.mark.parametrize("name", ["0.10.2", "0.8", "2", "2.9", "3.10", "4.x", "4.3.1.1", "", "04.3", "4.3 "])
def test_unknown_releases_are_rejected(name: str) -> None:
    with pytest.raises(UserError, match=r"is not known; allowed: releases from 0\.11\.0 to 4\.4 and later ones"):
        kafka_version(name)


def test_later_releases_are_not_tested() -> None:
    assert [is_tested(name) for name in ("0.11", "4.4", "4.4.7", "4.5", "5.0.0")] == [True, True, True, False, False]
    assert kafka_version("4.5").coordinator is CoordinatorRules.JAVA


@pytest.mark.parametrize(
    ("release", "scala", "rule"),
    [
        ("2.5.1", None, MapRule.SCALA_2_11),
        ("2.6.0", None, MapRule.SCALA_2_13),
        ("2.4.1", "2.11", MapRule.SCALA_2_11),
        ("2.7.2", "2.12", MapRule.SCALA_2_11),
        ("2.8.0", "2.12", MapRule.SCALA_2_12_13),
        ("3.9.2", "2.12", MapRule.SCALA_2_12_13),
        ("2.4.0", "2.13", MapRule.SCALA_2_13),
        ("4.0.0", "2.13", MapRule.JAVA),
    ],
)
def test_the_map_of_the_coordinator_depends_on_the_build(release: str, scala: str | None, rule: MapRule) -> None:
    assert kafka_version(release, scala).coordinator_map is rule


@pytest.mark.parametrize(
    ("release", "scala", "allowed"),
    [
        ("2.3.0", "2.13", "2.11, 2.12"),
        ("2.5.0", "2.11", "2.12, 2.13"),
        ("4.0.0", "2.12", "2.13"),
        ("3.9", "3", "2.12, 2.13"),
    ],
)
def test_builds_that_do_not_exist_are_rejected(release: str, scala: str, allowed: str) -> None:
    message = f"scala version {scala!r} is not a build of Kafka {release}; allowed: {allowed}"
    with pytest.raises(UserError, match=message):
        kafka_version(release, scala)
