"""Sentences about what is assumed where the tools or brokers of a real cluster do not show it."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.clients.assumed_protocols import Basis, Offer, Offered
from rebalance_sim.kafka.clients.stated import StatedClients
from rebalance_sim.wording import plural

JAVA_DEFAULT_PROTOCOLS = LIBRARIES[JAVA].protocols_of()
MOST_NAMES = 5

# {} is "12 members (4 groups)", {consumer} is "12 members (4 consumer-protocol groups)".
GIVEN = "the protocols of {} are unknown; those of the option protocols are used"
DEFAULTS = f"the protocols of {{}} are unknown; Java's default, {', '.join(JAVA_DEFAULT_PROTOCOLS)}, is used"
ELECTED = "the protocols of {} are unknown; the protocol that their group elected is used"
LIBRARY_DEFAULTS = {
    (name, protocols): f"the protocols of {{}} are unknown; {name}'s default, {', '.join(protocols)}, is used"
    for name, library in LIBRARIES.items()
    if name != JAVA
    for _, protocols in library.default_protocols
}
"""By library and protocols."""
PROTOCOLS = (GIVEN, *LIBRARY_DEFAULTS.values(), ELECTED, DEFAULTS)
USED_TOPICS = "the subscription of {} is unknown; the topics that their group owns or has offsets for are used"
OWNED_TOPICS = "the subscription of {} is unknown; the topics of which their group owns partitions are used"
OPAQUE = "subscription and owned partitions are unknown for {}: their protocol type is not consumer"
NO_TOPICS = "the subscription of {} is empty: their group owns no partitions and has no offsets"
SHARED = (
    "join order is unknown for {} of share groups: that of their ids is used, and predicted ties may differ. All "
    "partitions of their topics are taken to have share state"
)
NOT_TARGETS = (
    "the target assignment of {} of share groups is unknown: the current one is used, which a member exchanges for the "
    "target at its next heartbeat"
)
REBALANCING = "{} in the middle of a rebalance; members and owned partitions may be about to change"
"""In this and the next sentence {} is the result of ``groups``."""
WITHOUT_MEMBERS = "{} without members: nothing is predicted for them"
NOT_DESCRIBED = "{} listed, but not described: nothing is predicted for them"
OF_OTHER_TYPES = "{} of type share or streams: no assignment is predicted for them"


def about_protocols(offer: Offer, offered: Offered) -> str | None:
    """Return the sentence about the protocols of a classic member; None if they are known.

    >>> from rebalance_sim.kafka.assignors.by_library import Leader
    >>> about_protocols(Offer(Leader("sarama", "")), Offered(("range",), Basis.DEFAULT))
    "the protocols of {} are unknown; sarama's default, range, is used"
    """
    match offered.basis:
        case None:
            return None
        case Basis.OPTION:
            return GIVEN
        case Basis.ELECTED:
            return ELECTED
        case _:
            return LIBRARY_DEFAULTS.get((offer.library, offered.protocols), DEFAULTS)


class Tallies:
    """Counts the members and groups that an assumption concerns."""

    def __init__(self) -> None:
        self._members: defaultdict[str, int] = defaultdict(int)
        self._groups: defaultdict[str, set[str]] = defaultdict(set)

    def add(self, sentence: str | None, group_id: str) -> None:
        """Count a member; without a sentence nothing is assumed of it."""
        if sentence is None:
            return
        self._members[sentence] += 1
        self._groups[sentence].add(group_id)

    def sentences(self, sentences: Sequence[str]) -> list[str]:
        """Return those of the sentences that concern any member, with the counts filled in."""
        return [
            each.replace("{}", self._counted(each, "group")).replace(
                "{consumer}", self._counted(each, "consumer-protocol group")
            )
            for each in sentences
            if each in self._members
        ]

    def _counted(self, sentence: str, noun: str) -> str:
        return f"{plural(self._members[sentence], 'member')} ({plural(len(self._groups[sentence]), noun)})"


def groups(found: Collection[str], number: int = 0) -> str:
    """Return the number of groups with the first of their names; ``found`` may be the first of a larger number.

    >>> groups({"b", "a"})
    '2 groups (a, b)'
    """
    number = number or len(found)
    return f"{plural(number, 'group')} ({names(found, number)})"


def names(found: Collection[str], number: int = 0) -> str:
    """Return the first names and the number of further ones."""
    shown = sorted(found)[:MOST_NAMES]
    more = (number or len(found)) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more > 0 else "")


@dataclass(frozen=True)
class MembersAsStated:
    """What a user states about the members of a real cluster."""

    protocols: tuple[str, ...] = ()
    """Assignors of all classic members whose own protocols are unknown."""
    clients: StatedClients = field(default_factory=StatedClients)


NOTHING_STATED = MembersAsStated()


def checked_protocols(protocols: Sequence[str] | None) -> tuple[str, ...]:
    """Check and return the given assignors, if any. Raises UserError unless they are a list of names."""
    if protocols is not None and (isinstance(protocols, str) or not all(protocols) or not protocols):
        raise UserError(f"protocols: expected a list of assignors, not {protocols!r}")
    return tuple(protocols or ())
