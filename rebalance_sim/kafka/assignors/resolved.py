"""The assignor that a protocol name stands for, and the behaviour of the consumers that offer it.

A name stands for an assignor of Kafka or of another client library, for the user's own, or for an unknown assignor:
members may offer any name, and a group may elect it.
"""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from rebalance_sim.kafka.assignors import CLIENTS_ASSIGNORS, FORGETFUL, KNOWN_ASSIGNORS, find_assignor
from rebalance_sim.kafka.assignors.by_library import GUARANTEES, Leader, leaders_assignor
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import followed_protocol
from rebalance_sim.kafka.assignors.custom_batch import LeaderView, assign_by_custom
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.groups import AssignmentOutcome, Assignments, Groups
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.runtime.strings import Ints32
from rebalance_sim.kafka.wire.consumer_protocol import COOPERATIVE_STICKY
from rebalance_sim.releases import SERVER_ASSIGNORS, SHARE_ASSIGNORS, KafkaVersion, with_clients_that_have


@dataclass(frozen=True)
class ResolvedAssignor:
    """The assignor behind a protocol name."""

    name: str
    version: KafkaVersion
    own: ConsumerPartitionAssignor | None = None
    """The user's own assignor of that name."""
    problem: str | None = None
    """Why the assignment of the leader's library cannot be predicted."""

    @property
    def error(self) -> str | None:
        """Why no group can use it, or None if it exists."""
        if self.problem is not None:
            return self.problem
        exists = self.own is not None or find_assignor(self.name, self.version) is not None
        return None if exists else f"no assignor for protocol {self.name!r}"

    @property
    def guarantee(self) -> Guarantee | None:
        """Its guarantee for groups whose assignment cannot be predicted; None if it has no such groups."""
        return None if self.own is not None else GUARANTEES.get(self.name)

    @cached_property
    def protocol(self) -> RebalanceProtocol:
        """The protocol by which members hand over partitions.

        An unknown assignor counts as eager: ``ConsumerPartitionAssignor.supportedProtocols`` returns EAGER by default.
        """
        if self.own is not None:
            return followed_protocol(self.own, self.version)
        if self.name in KNOWN_ASSIGNORS:
            return KNOWN_ASSIGNORS[self.name].protocol
        unpredictable = self.problem is not None and self.name.endswith("-cooperative-sticky")
        return RebalanceProtocol.COOPERATIVE if unpredictable else RebalanceProtocol.EAGER

    @property
    def eager(self) -> bool:
        """Whether its members revoke all partitions before they join (``ConsumerCoordinator.onJoinPrepare``)."""
        return self.protocol is RebalanceProtocol.EAGER

    @property
    def reads_owned(self) -> bool:
        """Whether the assignment depends on what members own; an unknown or own assignor may read anything."""
        return self.name not in KNOWN_ASSIGNORS or KNOWN_ASSIGNORS[self.name].remembers(self.version)

    @property
    def reads_generations_in_user_data(self) -> bool:
        """Whether it takes the generations of members from their user data, whatever their subscriptions have."""
        return self.name == COOPERATIVE_STICKY and self.own is None and not self.version.subscription_generation

    @property
    def fills_a_map(self) -> bool:
        """Whether the leader puts the members into a hash map in the order of the response, as Java's consumer does."""
        return self.protocol is not RebalanceProtocol.RECONCILIATION and self.name not in CLIENTS_ASSIGNORS

    @property
    def sends_last_assignment(self) -> bool:
        """Whether a member that joins again reports what it was last assigned.

        range and roundrobin do not (``FORGETFUL``), nor does an own assignor that sends no user data. Cooperative
        consumers and those of KIP-848 report their owned partitions whatever the assignor.
        """
        if self.own is not None:
            return type(self.own).subscription_user_data is not ConsumerPartitionAssignor.subscription_user_data
        return self.name not in FORGETFUL

    def assign(self, joined: Groups, members: Ints32, view: LeaderView) -> AssignmentOutcome:
        """Assign the partitions of groups that have joined; ``members`` are their members' numbers in the batch."""
        if self.own is not None:
            return assign_by_custom(self.own, joined, members, view, self.version)
        known = find_assignor(self.name, self.version)
        if known is not None:
            return known.assign(joined, view.topics, self.version)
        assert self.error is not None
        no_partitions = np.empty(0, np.int32)
        nothing = Assignments(np.zeros(len(joined.member_racks) + 1, np.int32), no_partitions, no_partitions)
        return AssignmentOutcome(nothing, np.full(len(joined.members) - 1, view.failures.add(self.error), np.int32))


@dataclass(frozen=True)
class Assignors:
    """The assignors of a run: those of a Kafka version, those of other client libraries, and the user's own."""

    version: KafkaVersion
    own: tuple[ConsumerPartitionAssignor, ...] = ()
    clients_are_assumed: bool = False
    """Whether the release of Java's clients is assumed; one that offers an assignor is of a release that has it."""

    @classmethod
    def of(
        cls, brokers: Brokers, own: tuple[ConsumerPartitionAssignor, ...] = (), release: str | None = None
    ) -> "Assignors":
        """Return the assignors of groups of some brokers; ``release`` is that of a Java leader, if it is known."""
        return cls(brokers.rules(release), own, clients_are_assumed=not (release or brokers.clients))

    def resolve(self, name: str) -> ResolvedAssignor:
        """Return the assignor that a protocol name stands for."""
        version = with_clients_that_have(name, self.version) if self.clients_are_assumed else self.version
        return ResolvedAssignor(name, version, self._own_by_name.get(name))

    def of_leader(self, protocol: str, leader: Leader, readable: bool) -> ResolvedAssignor:
        """Return what a leader runs under a protocol name; a Java leader's release is that of ``version``.

        ``readable``: whether Java can read the subscriptions of all members. The coordinator's assignors and the user's
        own are the same for every leader.
        """
        own = self._own_by_name.get(protocol)
        if own is not None or protocol in (*SERVER_ASSIGNORS, *SHARE_ASSIGNORS):
            return self.resolve(protocol)
        name, problem = leaders_assignor(protocol, leader, readable)
        return replace(self.resolve(name), own=None, problem=problem)

    @cached_property
    def _own_by_name(self) -> dict[str, ConsumerPartitionAssignor]:
        return {assignor.name: assignor for assignor in self.own}
