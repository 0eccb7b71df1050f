"""Runs a user's own assignor for a group as the group's leader does, and checks its answer.

``ConsumerCoordinator.onLeaderElected`` calls the assignor with what the members told when they joined, and
``AbstractPartitionAssignor.assign`` looks the topics up in the metadata.
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
from rebalance_sim.kafka.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.kafka.hash_order import java_order, java_table_size
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.strings import Strings, java_hashes
from rebalance_sim.versions import KafkaVersion

_LONGEST_NAME, _LONGEST_PROBLEM, _LISTED_MEMBERS = 100, 300, 5
"""Of what an error tells: characters of a name, characters of an exception, members."""
_PROTOCOLS = (RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE)
"""Of consumers (``ConsumerPartitionAssignor.RebalanceProtocol``)."""
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
"""In Python's text for an object; another one in each process."""

GroupAssignment = dict[str, list[TopicPartition]]
"""Partitions of each member (``ConsumerPartitionAssignor.GroupAssignment``)."""


class AssignorError(Exception):
    """How a user's own assignor fails for a group, in one line."""


# ---- before the run


def check_assignor(what: str, given: object, version: KafkaVersion, reserved: Sequence[str]) -> None:
    """Raise UserError for what is no assignor, or not one that consumers of the version can use.

    ``reserved``: names that it must not have, beside those of assignors that are known.
    """
    if isinstance(given, type):
        raise UserError(f"{what}: {given.__name__} is a class; expected an object of it: {given.__name__}()")
    if not isinstance(given, ConsumerPartitionAssignor):
        raise UserError(f"{what}: {type(given).__name__} is not derived from ConsumerPartitionAssignor")
    told = f"{what}: {type(given).__name__}"
    name: object = getattr(given, "name", None)
    if not isinstance(name, str) or not name:
        raise UserError(f"{told}.name is {_shown(name)}; expected the name under which members offer the assignor")
    if not name.isprintable() or set(name) & set(",:"):
        raise UserError(f"{told}.name is {name!r}; not allowed: a comma, a colon, a line break")
    taken = [*KNOWN_ASSIGNORS, *reserved]
    if name in taken:
        raise UserError(f"{told}.name is {name!r}; not allowed: {', '.join(taken)}")
    _check_protocols(told, given.supported_protocols, version)


def _check_protocols(told: str, protocols: object, version: KafkaVersion) -> None:
    allowed = ", ".join(map(str, _PROTOCOLS))
    if not isinstance(protocols, Collection) or not all(one in _PROTOCOLS for one in protocols):
        raise UserError(f"{told}.supported_protocols is {_shown(protocols)}; allowed: a list of {allowed}")
    if not protocols:
        raise UserError(f"{told}.supported_protocols is empty; allowed: some of {allowed}")
    if not version.cooperative and RebalanceProtocol.EAGER not in protocols:
        raise UserError(f"{told}.supported_protocols has no EAGER; Kafka {version.name} has no other")


def by_name(what: str, assignors: Iterable[ConsumerPartitionAssignor]) -> dict[str, ConsumerPartitionAssignor]:
    """Return assignors by name; raise UserError for two of one name, as ``getAssignorInstances`` does."""
    named: dict[str, ConsumerPartitionAssignor] = {}
    for assignor in assignors:
        other = named.setdefault(assignor.name, assignor)
        if other is not assignor:
            classes = f"{type(other).__name__} and {type(assignor).__name__}"
            raise UserError(f"{what}: {assignor.name!r} is the name of more than one assignor: {classes}")
    return named


def followed_protocol(assignor: ConsumerPartitionAssignor, version: KafkaVersion) -> RebalanceProtocol:
    """Return the highest of its protocols that the version has."""
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
    """Assign the partitions of a group; raises AssignorError.

    ``partitions``: of every topic that members name, in the order in which they do; none where the cluster has no such
    topic. ``members``: what the members know when they join, in the order of the leader's hash map.
    ``leader_is_eager``: the leader also offers an eager assignor, and so follows the eager protocol.
    """
    cooperative = followed_protocol(assignor, version) is RebalanceProtocol.COOPERATIVE
    known = _in_map_order(partitions)
    with _told(assignor):
        subscriptions = {
            member_id: _as_the_leader_sees(assignor, member_id, subscription, cooperative, version)
            for member_id, subscription in members.items()
        }
        # The assignor gets copies: what it does to them does not change what its answer is held against.
        answer = assignor.assign(dict(known), dict(subscriptions))
        given = _lists(answer, subscriptions)
        _check_partitions(given, known, subscriptions)
        if cooperative and not leader_is_eager:
            _check_owners(given, subscriptions)
    return given


@contextmanager
def _told(assignor: ConsumerPartitionAssignor) -> Iterator[None]:
    """Tell of every failure whose it is; what would stop Python itself goes through."""
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
    """Return the topics that have partitions, in the order of the ``HashMap`` that the leader puts them into.

    Their names come from a ``HashSet`` of all names, in its order.
    """
    names = list(partitions)
    hashes = java_hashes(Strings.of(names))
    named = java_order(hashes, np.arange(len(names), dtype=np.int32), java_table_size(len(names)))
    known = np.array([key for key in named if partitions[names[key]] > 0], np.int32)
    return {names[key]: partitions[names[key]] for key in java_order(hashes, known, java_table_size(len(known)))}


# ---- the answer


def _lists(answer: object, subscriptions: Mapping[str, Subscription]) -> GroupAssignment:
    """Read what the assignor returned: a list for every member, and for nobody else."""
    if not isinstance(answer, Mapping):
        raise AssignorError(f"returned {_kind(answer)}, not a mapping of member ids to partitions")
    strangers = sorted(_shown(key) for key in answer if key not in subscriptions)
    if strangers:
        raise AssignorError(f"named {strangers[0]}, who is not a member (members: {_listed(list(subscriptions))})")
    forgotten = [member_id for member_id in subscriptions if member_id not in answer]
    if forgotten:
        # ConsumerCoordinator.onJoinComplete throws where the leader's answer has nothing for a member.
        raise AssignorError(
            f"has no list for {_shown(forgotten[0])}, without which Kafka's consumer fails; allowed: an empty one"
        )
    return {member_id: _list(member_id, answer[member_id]) for member_id in subscriptions}


def _list(member_id: str, given: object) -> list[TopicPartition]:
    if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
        raise AssignorError(f"gave {_kind(given)} to {_shown(member_id)}, not a list of partitions")
    return [_partition(member_id, entry) for entry in given]


def _partition(member_id: str, entry: Any) -> TopicPartition:
    try:
        topic, number = entry
        partition = operator.index(number)
    except (TypeError, ValueError):
        topic, partition = None, 0
    if not isinstance(topic, str):
        raise AssignorError(f"gave {_shown(member_id)} a list with {_kind(entry)} in it, not with TopicPartitions")
    return TopicPartition(topic, partition)


def _check_partitions(
    given: GroupAssignment, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
) -> None:
    """Every partition exists and goes to one subscriber at most."""
    owners: dict[TopicPartition, str] = {}
    for member_id, assigned in given.items():
        subscribed = set(subscriptions[member_id].topics)
        for partition in assigned:
            if partition.topic not in subscribed:
                raise AssignorError(
                    f"gave {_of_partition(partition)} to {_shown(member_id)}, "
                    f"who does not subscribe to {_shown(partition.topic)}"
                )
            if not 0 <= partition.partition < partitions.get(partition.topic, 0):
                raise AssignorError(
                    f"gave unknown {_of_partition(partition)} to {_shown(member_id)} "
                    f"({_shown(partition.topic)} has {partitions.get(partition.topic, 0)} partitions)"
                )
            owner = owners.setdefault(partition, member_id)
            if owner != member_id:
                raise AssignorError(f"gave {_of_partition(partition)} to {_shown(owner)} and {_shown(member_id)}")
        if len(set(assigned)) < len(assigned):
            twice = next(partition for place, partition in enumerate(assigned) if partition in assigned[:place])
            raise AssignorError(f"gave {_of_partition(twice)} to {_shown(member_id)} twice")


def _check_owners(given: GroupAssignment, subscriptions: Mapping[str, Subscription]) -> None:
    """``ConsumerCoordinator.validateCooperativeAssignment`` (since 2.4, KIP-429).

    A partition must not go to a new owner in the rebalance in which an old one loses it. A leader checks that if it
    follows the cooperative protocol itself. Kafka spares its own cooperative-sticky the check, which heeds the
    generations of the owners.
    """
    owned = {member_id: set(subscription.owned or ()) for member_id, subscription in subscriptions.items()}
    owner = {partition: member_id for member_id, partitions in owned.items() for partition in partitions}
    for member_id, assigned in given.items():
        for partition in assigned:
            if partition in owner and partition not in owned[member_id]:
                raise AssignorError(
                    f"gave {_of_partition(partition)} to {_shown(member_id)} while {_shown(owner[partition])} owns "
                    "it: with COOPERATIVE Kafka's leader throws IllegalStateException"
                )


# ---- words


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
