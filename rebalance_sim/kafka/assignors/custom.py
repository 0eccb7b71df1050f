"""Run a user's own assignor as the leader of a group does, and check its result.

``ConsumerCoordinator.onLeaderElected`` calls the assignor with the subscriptions that members sent when they joined;
``AbstractPartitionAssignor.assign`` looks up the topics in the metadata.
"""

import operator
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from traceback import format_exception_only
from typing import Any

import numpy as np

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size
from rebalance_sim.kafka.runtime.strings import Strings, java_hashes
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.releases import KafkaVersion

_LONGEST_NAME, _LONGEST_PROBLEM, _LISTED_MEMBERS = 100, 300, 5
"""Limits of an error message: characters of a name, characters of an exception, members."""
_PROTOCOLS = (RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE)
"""The protocols of consumers (``ConsumerPartitionAssignor.RebalanceProtocol``)."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""The address in Python's text for an object, which differs from process to process."""

GroupAssignment = dict[str, list[TopicPartition]]
"""Partitions of each member (``ConsumerPartitionAssignor.GroupAssignment``)."""


class AssignorError(Exception):
    """The failure of a user's own assignor for a group, in one line."""


# ---- before the run


def check_assignor(what: str, assignor: object, version: KafkaVersion, reserved: Sequence[str]) -> None:
    """Raise UserError if an object is not an assignor, or not one that consumers of the release can use.

    ``reserved``: names that it must not have, in addition to those of the built-in assignors.
    """
    if isinstance(assignor, type):
        raise UserError(f"{what}: {assignor.__name__} is a class; expected an object of it: {assignor.__name__}()")
    if not isinstance(assignor, ConsumerPartitionAssignor):
        raise UserError(f"{what}: {type(assignor).__name__} is not derived from ConsumerPartitionAssignor")
    described = f"{what}: {type(assignor).__name__}"
    name: object = getattr(assignor, "name", None)
    if not isinstance(name, str) or not name:
        raise UserError(f"{described}.name is {_shown(name)}; expected the name under which members offer the assignor")
    if not name.isprintable() or set(name) & set(",:"):
        raise UserError(f"{described}.name is {name!r}; not allowed: a comma, a colon, a line break")
    taken = [*KNOWN_ASSIGNORS, *reserved]
    if name in taken:
        raise UserError(f"{described}.name is {name!r}; not allowed: {', '.join(taken)}")
    _check_protocols(described, assignor.supported_protocols, version)


def _check_protocols(described: str, protocols: object, version: KafkaVersion) -> None:
    allowed = ", ".join(map(str, _PROTOCOLS))
    if not isinstance(protocols, Collection) or not all(protocol in _PROTOCOLS for protocol in protocols):
        raise UserError(f"{described}.supported_protocols is {_shown(protocols)}; allowed: a list of {allowed}")
    if not protocols:
        raise UserError(f"{described}.supported_protocols is empty; allowed: some of {allowed}")
    if not version.cooperative and RebalanceProtocol.EAGER not in protocols:
        raise UserError(f"{described}.supported_protocols has no EAGER; Kafka {version.name} has no other")


def by_name(what: str, assignors: Iterable[ConsumerPartitionAssignor]) -> dict[str, ConsumerPartitionAssignor]:
    """Return assignors by name; raise UserError if two have the same name, as ``getAssignorInstances`` does."""
    named: dict[str, ConsumerPartitionAssignor] = {}
    for assignor in assignors:
        first = named.setdefault(assignor.name, assignor)
        if first is not assignor:
            classes = f"{type(first).__name__} and {type(assignor).__name__}"
            raise UserError(f"{what}: {assignor.name!r} is the name of more than one assignor: {classes}")
    return named


def followed_protocol(assignor: ConsumerPartitionAssignor, version: KafkaVersion) -> RebalanceProtocol:
    """Return the highest protocol that both the assignor and the release support."""
    if version.cooperative and RebalanceProtocol.COOPERATIVE in assignor.supported_protocols:
        return RebalanceProtocol.COOPERATIVE
    return RebalanceProtocol.EAGER


# ---- a group


def assign_group(
    assignor: ConsumerPartitionAssignor,
    partitions: Mapping[str, int],
    members: Mapping[str, Subscription],
    version: KafkaVersion,
    leader_is_eager: bool = False,
) -> GroupAssignment:
    """Assign the partitions of a group, or raise AssignorError.

    ``partitions``: the number for every topic that members name, in the order in which they do; 0 for a topic that the
    cluster does not have. ``members``: the members' state when they join, in the order of the leader's hash map.
    ``leader_is_eager``: the leader also offers an eager assignor, so that it follows the eager protocol.
    """
    cooperative = followed_protocol(assignor, version) is RebalanceProtocol.COOPERATIVE
    known = _in_map_order(partitions)
    with _as_assignor_error(assignor):
        subscriptions = {
            member_id: _as_the_leader_sees(assignor, member_id, subscription, cooperative, version)
            for member_id, subscription in members.items()
        }
        # The assignor gets copies, so that changing them does not affect the checks.
        answer = assignor.assign(dict(known), dict(subscriptions))
        assignment = _lists(answer, subscriptions)
        _check_partitions(assignment, known, subscriptions)
        if cooperative and not leader_is_eager:
            _check_owners(assignment, subscriptions)
    return assignment


@contextmanager
def _as_assignor_error(assignor: ConsumerPartitionAssignor) -> Iterator[None]:
    """Turn every exception into an AssignorError that names the assignor, except those that stop Python itself."""
    try:
        yield
    except AssignorError as problem:
        raise AssignorError(f"assignor {_shown(assignor.name)} {problem}") from problem
    except (Exception, SystemExit) as problem:
        text = " ".join("".join(format_exception_only(problem)).split())
        text = _short(_ADDRESS.sub("", text), _LONGEST_PROBLEM)
        raise AssignorError(f"assignor {_shown(assignor.name)} raised {text}") from problem


def _as_the_leader_sees(
    assignor: ConsumerPartitionAssignor, member_id: str, joined: Subscription, cooperative: bool, version: KafkaVersion
) -> Subscription:
    user_data: object = joined.user_data
    if user_data is None:
        user_data = assignor.subscription_user_data(joined)
    if user_data is not None and not isinstance(user_data, bytes):
        raise AssignorError(
            f"returned {_kind(user_data)} as the user data of {_shown(member_id)}; allowed: bytes and None"
        )
    if not version.cooperative:
        return Subscription(joined.topics, user_data)
    return replace(joined, user_data=user_data, owned=joined.owned or () if cooperative else ())


def _in_map_order(partitions: Mapping[str, int]) -> dict[str, int]:
    """Return the topics that have partitions, in the order of the leader's ``partitionsPerTopic``, a ``HashMap``.

    It is filled in the order of a ``HashSet`` of all names.
    """
    names = list(partitions)
    hashes = java_hashes(Strings.of(names))
    named = java_order(hashes, np.arange(len(names), dtype=np.int32), java_table_size(len(names)))
    known = np.array([key for key in named if partitions[names[key]] > 0], np.int32)
    return {names[key]: partitions[names[key]] for key in java_order(hashes, known, java_table_size(len(known)))}


# ---- the result


def _lists(answer: object, subscriptions: Mapping[str, Subscription]) -> GroupAssignment:
    """Return the assignor's list for every member; raise AssignorError if it is incomplete or names others."""
    if not isinstance(answer, Mapping):
        raise AssignorError(f"returned {_kind(answer)}, not a mapping of member ids to partitions")
    strangers = sorted(_shown(key) for key in answer if key not in subscriptions)
    if strangers:
        raise AssignorError(f"named {strangers[0]}, which is not a member (members: {_listed(list(subscriptions))})")
    forgotten = [member_id for member_id in subscriptions if member_id not in answer]
    if forgotten:
        # ConsumerCoordinator.onJoinComplete throws if the leader's assignment has no entry for the member.
        raise AssignorError(
            f"has no list for {_shown(forgotten[0])}, without which Kafka's consumer fails; allowed: an empty one"
        )
    return {member_id: _list(member_id, answer[member_id]) for member_id in subscriptions}


def _list(member_id: str, entries: object) -> list[TopicPartition]:
    if not isinstance(entries, Iterable) or isinstance(entries, str | bytes | Mapping):
        raise AssignorError(f"assigned {_kind(entries)} to {_shown(member_id)}, not a list of partitions")
    return [_partition(member_id, entry) for entry in entries]


def _partition(member_id: str, entry: Any) -> TopicPartition:
    try:
        topic, number = entry
        partition = operator.index(number)
    except (TypeError, ValueError):
        topic, partition = None, 0
    if not isinstance(topic, str):
        raise AssignorError(
            f"assigned {_shown(member_id)} a list that contains {_kind(entry)}; allowed: TopicPartition"
        )
    return TopicPartition(topic, partition)


def _check_partitions(
    assignment: GroupAssignment, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
) -> None:
    """Raise AssignorError unless every partition exists and is assigned to at most one subscriber."""
    owners: dict[TopicPartition, str] = {}
    for member_id, assigned in assignment.items():
        subscribed = set(subscriptions[member_id].topics)
        for partition in assigned:
            if partition.topic not in subscribed:
                raise AssignorError(
                    f"assigned {_of_partition(partition)} to {_shown(member_id)}, "
                    f"which does not subscribe to {_shown(partition.topic)}"
                )
            if not 0 <= partition.partition < partitions.get(partition.topic, 0):
                raise AssignorError(
                    f"assigned unknown {_of_partition(partition)} to {_shown(member_id)} "
                    f"({_shown(partition.topic)} has {partitions.get(partition.topic, 0)} partitions)"
                )
            owner = owners.setdefault(partition, member_id)
            if owner != member_id:
                raise AssignorError(f"assigned {_of_partition(partition)} to {_shown(owner)} and {_shown(member_id)}")
        if len(set(assigned)) < len(assigned):
            twice = next(partition for place, partition in enumerate(assigned) if partition in assigned[:place])
            raise AssignorError(f"assigned {_of_partition(twice)} to {_shown(member_id)} twice")


def _check_owners(assignment: GroupAssignment, subscriptions: Mapping[str, Subscription]) -> None:
    """Check the assignment as ``ConsumerCoordinator.validateCooperativeAssignment`` does (since 2.4, KIP-429).

    A partition must not go to a new owner in the rebalance in which the old owner loses it. A leader checks this if it
    follows the cooperative protocol itself. Kafka's own cooperative-sticky is exempt (KAFKA-13406): it takes the
    generations of the owners into account, which this check does not.
    """
    owned = {member_id: set(subscription.owned or ()) for member_id, subscription in subscriptions.items()}
    owner = {partition: member_id for member_id, partitions in owned.items() for partition in partitions}
    for member_id, assigned in assignment.items():
        for partition in assigned:
            if partition in owner and partition not in owned[member_id]:
                raise AssignorError(
                    f"assigned {_of_partition(partition)} to {_shown(member_id)} while {_shown(owner[partition])} owns "
                    "it: with COOPERATIVE Kafka's leader throws IllegalStateException"
                )


# ---- text of errors


def _of_partition(partition: TopicPartition) -> str:
    return f"partition {_short(repr(partition.topic)[1:-1], _LONGEST_NAME)}-{_shown(partition.partition)}"


def _listed(member_ids: Sequence[str]) -> str:
    shown = ", ".join(map(_shown, member_ids[:_LISTED_MEMBERS]))
    more = len(member_ids) - _LISTED_MEMBERS
    return f"{shown} and {more} more" if more > 0 else shown


def _kind(value: object) -> str:
    return "None" if value is None else type(value).__name__


def _shown(value: object) -> str:
    return _short(_ADDRESS.sub("", repr(value)), _LONGEST_NAME)


def _short(text: str, length: int) -> str:
    return text if len(text) <= length else f"{text[: length - 1]}…"
