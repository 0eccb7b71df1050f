"""The protocols that members probably offer, where a source does not show their lists."""

from collections import Counter
from collections.abc import Sequence
from enum import StrEnum
from typing import NamedTuple

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import Leader, release_numbers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES


class Basis(StrEnum):
    """The source of a member's assumed protocols, as the members table names it."""

    OPTION = "option protocols"
    """The protocols that the user gave for all members."""
    ELECTED = "elected protocol"
    """The elected protocol, the only protocol that the source shows."""
    AGREEING_DEFAULT = "library default, consistent with the elected protocol"
    """The default of the member's library, which agrees with the election."""
    DEFAULT = "library default"
    """The default of the member's library, or Java's if it is unknown. The group's protocol is unknown."""
    GROUPS_ASSIGNOR = "assignor of the group"
    """The assignor that the coordinator uses for the consumer-protocol group."""
    COORDINATORS_DEFAULT = "default of the coordinator"
    """The coordinator's default: the assignor of the consumer-protocol group is unknown."""


SHOW_ELECTED = frozenset({Basis.ELECTED, Basis.AGREEING_DEFAULT, Basis.GROUPS_ASSIGNOR})
"""Sources that are used where the group's elected protocol is known."""


class Offer(NamedTuple):
    """The client of a classic member, and its configured protocols."""

    client: Leader
    """Its library is empty if unknown."""
    configured: tuple[str, ...] = ()
    """The protocols that it is known to offer; empty if unknown."""

    @property
    def library(self) -> str:
        """The library, the most likely one if there are several; Java if it is unknown."""
        return self.client.candidates[0].library or JAVA


class Offered(NamedTuple):
    """The protocols that a member offers, the most preferred first."""

    protocols: tuple[str, ...]
    basis: Basis | None = None
    """The source of assumed protocols; None if they are known."""


def offered_protocols(offers: Sequence[Offer], elected: str | None, chosen: tuple[str, ...] = ()) -> list[Offered]:
    """Return the protocols of each member of a classic group.

    ``chosen`` are the protocols that a user states for all members whose own are unknown. Otherwise a library's default
    is assumed, unless it is Java's, which changed in 3.0, if it agrees with the election: the elected protocol is among
    each member's defaults, and the members elect it. Without an elected protocol, Java's newest default is assumed for
    all other members.

    >>> librdkafka, sarama = Offer(Leader("librdkafka", "")), Offer(Leader("sarama", ""))
    >>> [each.protocols for each in offered_protocols([librdkafka, sarama], "range")]
    [('range', 'roundrobin'), ('range',)]
    >>> offered_protocols([librdkafka], "roundrobin")
    [Offered(protocols=('roundrobin',), basis=<Basis.ELECTED: 'elected protocol'>)]
    """
    if chosen:
        return [Offered(each.configured) if each.configured else Offered(chosen, Basis.OPTION) for each in offers]
    defaults = [() if each.configured else _defaults(each, elected) for each in offers]
    if elected is None:
        newest = LIBRARIES[JAVA].protocols_of()
        return [
            Offered(each.configured) if each.configured else Offered(default or newest, Basis.DEFAULT)
            for each, default in zip(offers, defaults, strict=True)
        ]
    likely = [
        Offered(each.configured) if each.configured else _beside_election(default, elected)
        for each, default in zip(offers, defaults, strict=True)
    ]
    if _can_elect([each.protocols for each in likely], elected):
        return likely
    return [each if each.basis is None else _beside_election((), elected) for each in likely]


def _beside_election(default: tuple[str, ...], elected: str) -> Offered:
    return Offered(default, Basis.AGREEING_DEFAULT) if default else Offered((elected,), Basis.ELECTED)


def _defaults(offer: Offer, elected: str | None) -> tuple[str, ...]:
    if offer.library == JAVA or offer.library not in LIBRARIES:
        return ()
    try:
        protocols = LIBRARIES[offer.library].protocols_of(release_numbers(offer.client.release))
    except UserError:
        # Not the text of a release: runs that use the member say so.
        return ()
    return protocols if elected is None or elected in protocols else ()


def _can_elect(lists: Sequence[tuple[str, ...]], elected: str) -> bool:
    """Return whether no candidate gets more votes (``ClassicGroup.selectProtocol``); ties may go to any."""
    candidates = set(lists[0]).intersection(*lists[1:]) if lists else set()
    votes = Counter(next(each for each in offered if each in candidates) for offered in lists if candidates)
    return votes[elected] == max(votes.values(), default=None)
