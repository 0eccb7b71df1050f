"""The protocols that members probably offer, by their client libraries, where only the elected one is known."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors.by_library import Leader, release_numbers
from rebalance_sim.kafka.clients import JAVA, LIBRARIES


class Offer(NamedTuple):
    """What is known of the protocols that a classic member offers."""

    client: Leader
    """With an empty library if it is unknown."""
    configured: tuple[str, ...] = ()
    """Its protocols, if they are known."""

    @property
    def library(self) -> str:
        """The library, the most likely one if there are several."""
        return self.client.candidates[0].library


def assumed_protocols(offers: Sequence[Offer], elected: str | None) -> list[tuple[str, ...]]:
    """Return, for each member of a classic group, its library's default protocols; nothing where they are not assumed.

    They are assumed of members whose protocols are unknown, and whose library is known and not Java: Java's default
    changed in 3.0. If a protocol was elected, it must be among a member's defaults, and the members must elect it;
    otherwise their protocols are configured.

    >>> librdkafka, sarama = Offer(Leader("librdkafka", "")), Offer(Leader("sarama", ""))
    >>> assumed_protocols([librdkafka, sarama], "range")
    [('range', 'roundrobin'), ('range',)]
    >>> assumed_protocols([librdkafka, librdkafka], "roundrobin")
    [(), ()]
    """
    assumed = [() if each.configured else _defaults(each, elected) for each in offers]
    if elected is None:
        return assumed
    lists = [each.configured or defaults or (elected,) for each, defaults in zip(offers, assumed, strict=True)]
    return assumed if _can_elect(lists, elected) else [() for _ in offers]


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
    candidates = set(lists[0]).intersection(*lists[1:])
    votes = Counter(next(each for each in offered if each in candidates) for offered in lists if candidates)
    return votes[elected] == max(votes.values(), default=None)
