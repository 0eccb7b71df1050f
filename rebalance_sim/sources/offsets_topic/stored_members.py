"""The columns of the members table that the records of groups fill, beside those of a member's own bytes."""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from rebalance_sim.kafka.assignors.by_library import Leader
from rebalance_sim.kafka.clients.assumed_protocols import Offer, Offered, offered_protocols
from rebalance_sim.kafka.clients.recognition import Signs
from rebalance_sim.kafka.wire.offsets_topic import ConsumerGroupMemberMetadata, GroupMember, GroupMetadata, Key
from rebalance_sim.sources.assumptions import MembersAsStated, about_protocols
from rebalance_sim.sources.client_columns import client_columns
from rebalance_sim.sources.consumer_groups import server_assignor
from rebalance_sim.tables import DEFAULT_PROTOCOL_TYPE

LONGEST_SAMPLE = 2000
"""Characters of a record that a reject shows."""
_LATEST_OFFERS = 16
"""Most generations of a group have the offers of one of the last."""


def in_hex(data: bytes | None) -> str | None:
    """Return bytes as a reject shows them."""
    return None if data is None else data.hex()[:LONGEST_SAMPLE]


def as_json(row: Mapping[str, Any]) -> str:
    """Return the row of a reject."""
    return json.dumps(row, ensure_ascii=False)


def stored_columns(group: GroupMetadata, member: GroupMember, place: int) -> dict[str, Any]:
    """Return the columns of the members table that the coordinator stores beside a member's own bytes.

    ``place`` is that of the member in the record, which lists members as the coordinator's hash map does: since 4.0,
    those of one bucket are in the order in which they joined, and that is all of the join order that matters.
    """
    return {
        "member_id": member.member_id,
        "instance_id": member.group_instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "protocol_type": group.protocol_type,
        "join_order": None if group.leader is None else 0 if member.member_id == group.leader else 1 + place,
        "session_timeout_ms": member.session_timeout_ms,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
    }


def set_protocols(
    members: Sequence[dict[str, Any]], group_id: str, group: GroupMetadata, as_stated: MembersAsStated
) -> list[str]:
    """Set the protocols of the members of a classic group; return the assumptions made."""
    if group.protocol_type != DEFAULT_PROTOCOL_TYPE:
        as_stated = MembersAsStated()
    offers = tuple(
        Offer(
            Leader(member.get("client_library") or "", member.get("client_version") or ""),
            as_stated.clients.of(group_id, member["client_id"]).protocols or (),
        )
        for member in members
    )
    offered = _offered(offers, group.protocol or None, as_stated.protocols)
    for member, each in zip(members, offered, strict=True):
        member |= {"protocols": list(each.protocols), "protocols_assumed": each.basis}
    return [note for each in zip(offers, offered, strict=True) if (note := about_protocols(*each))]


@lru_cache(maxsize=_LATEST_OFFERS)
def _offered(offers: tuple[Offer, ...], elected: str | None, chosen: tuple[str, ...]) -> list[Offered]:
    return offered_protocols(offers, elected, chosen)


def consumer_columns(key: Key, member: ConsumerGroupMemberMetadata, as_stated: MembersAsStated) -> dict[str, Any]:
    """Return the columns of a member of a consumer-protocol group; it has no protocols if it prefers no assignor."""
    is_classic = member.classic is not None and len(member.classic.protocols) > 0
    offered: list[str] | None = None
    session_timeout = None
    if member.classic is not None and is_classic:
        offered = [protocol.name for protocol in member.classic.protocols]
        session_timeout = member.classic.session_timeout_ms
    elif member.server_assignor:
        offered = [server_assignor(member.server_assignor)]
    signs = Signs(key.group_id, key.member_id or "", member.client_id, member.instance_id, tuple(offered or ()))
    return {
        "member_id": key.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.client_host,
        "rack": member.rack_id,
        "protocol_type": DEFAULT_PROTOCOL_TYPE,
        "protocols": offered,
        "subscription": member.subscribed_topics,
        "subscribed_regex": member.subscribed_regex,
        "session_timeout_ms": session_timeout,
        "rebalance_timeout_ms": member.rebalance_timeout_ms,
        **client_columns(signs, as_stated.clients.of(key.group_id, member.client_id)),
    }
