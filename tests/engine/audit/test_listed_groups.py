"""Groups that the cluster lists, and of which no row of members shows any member."""

from typing import Any

import pytest

from rebalance_sim.engine.audit.audits import FAMILIES
from rebalance_sim.engine.audit.group import COMMITS, Group, TopicFacts
from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.tables import EXPIRING_OFFSETS, LISTED_GROUPS, MEMBERS, OFFSETS, OUTPUTS, REJECTS


def listed(columns: dict[str, Any] | None, **rows: Any) -> Group:
    """Return a group that is listed with these columns, with rows of some other tables."""
    named: dict[str, Any] = dict.fromkeys((*OUTPUTS, MEMBERS.name, OFFSETS.name, COMMITS), ())
    shown = [] if columns is None else [{**dict.fromkeys(("type", "protocol_type", "state", "members")), **columns}]
    tables = {**named, LISTED_GROUPS.name: shown, **{name: [of] for name, of in rows.items()}}
    return Group("c", "g", tables, Brokers(), TopicFacts())


def kinds(group: Group) -> set[str]:
    """Return the kinds of all findings about risks and leaders."""
    families = (FAMILIES["risks"], FAMILIES["leaders"])
    return {found.kind.name for family in families for found in family.findings(group, Thresholds())}


WITH_OFFSETS = {OFFSETS.name: {"partitions": 2}, EXPIRING_OFFSETS.name: {"partitions": 2, "first_expires_at_ms": None}}
CASES: dict[str, tuple[Group, str, set[str], int | None]] = {
    "share": (listed({"type": "share"}), "share", {"other-kind-of-group"}, None),
    "share, without members": (
        listed({"type": "share", "state": "Empty", "members": 0}),
        "share",
        {"other-kind-of-group"},
        0,
    ),
    "share, with a line that cannot be read": (
        listed({"type": "share"}, rejects={"table": "groups", "rows": 1, "reason": "x"}),
        "share",
        {"other-kind-of-group"},
        None,
    ),
    "streams, with offsets": (listed({"type": "streams"}, **WITH_OFFSETS), "streams", {"other-kind-of-group"}, None),
    "streams, by its protocol type": (
        listed({"protocol_type": "streams", "members": 3}),
        "streams",
        {"other-kind-of-group"},
        3,
    ),
    "Connect": (listed({"type": "classic", "protocol_type": "connect"}), "connect", {"other-kind-of-group"}, None),
    "a type of the future": (listed({"type": "mesh"}), "unknown", {"group-not-described"}, None),
    "consumers": (listed({"type": "consumer"}), "unknown", {"group-not-described"}, None),
    "consumers, with members": (
        listed({"type": "classic", "state": "Stable", "members": 2}),
        "unknown",
        {"group-not-described"},
        2,
    ),
    "consumers with offsets, stable": (
        listed({"type": "classic", "state": "Stable"}, **WITH_OFFSETS),
        "unknown",
        {"group-not-described"},
        None,
    ),
    "consumers with offsets": (listed({"type": "classic"}, **WITH_OFFSETS), "offsets-only", {"no-members"}, 0),
    "consumers without members": (listed({"state": "Empty"}), "offsets-only", {"no-members"}, 0),
    "not listed, with offsets": (listed(None, **WITH_OFFSETS), "offsets-only", {"no-members"}, 0),
}


@pytest.mark.parametrize(("group", "kind", "findings", "members"), CASES.values(), ids=CASES)
def test_what_is_said_of_groups_without_rows_of_members(
    group: Group, kind: str, findings: set[str], members: int | None
) -> None:
    assert (group.kind.kind, group.accepted) == (kind, members)
    assert group.kind.evidence
    assert kinds(group) == findings
    unknown = kind in ("unknown", "offsets-only")
    assert group.migration.verdict == ("unknown" if unknown else "no")


def test_the_evidence_of_a_group_without_members_and_offsets_names_no_offsets() -> None:
    assert listed({"state": "Empty"}).kind.evidence == "no members"
    assert listed({"state": "Empty"}, **WITH_OFFSETS).kind.evidence == "offsets without members"


def test_a_rejected_group_stays_unread_if_its_type_is_that_of_consumers() -> None:
    assert kinds(listed({"type": "classic"}, **{REJECTS.name: {"table": "members", "rows": 1, "reason": "x"}})) == {
        "group-unread"
    }
