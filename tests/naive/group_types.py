"""A group whose members may follow the classic protocol or that of KIP-848, as its coordinator has it.

``ConsumerGroup`` (4.x) and, while all follow the classic protocol, ``ClassicGroup``.
"""

from tests.naive.classic_group import ClassicGroup
from tests.naive.model import Joiner
from tests.naive.server_assignors import TimelineHashMap

SERVER_ASSIGNORS = {"server-uniform": "uniform", "server-range": "range"}
"""Kafka's names by those of this project."""


class MixedGroup:
    """All members that come; of those that follow the classic protocol some are not taken in."""

    def __init__(self, version: str, joiners: tuple[Joiner, ...]) -> None:
        knows_consumers = version == "4.3"
        self.classic = ClassicGroup(version)
        self.wishes: dict[str, str] = {}
        """Kafka's name of the assignor, by member that follows KIP-848."""
        if knows_consumers:
            self.wishes = {
                joiner.member_id: SERVER_ASSIGNORS[joiner.protocols[0]] for joiner in joiners if is_modern(joiner)
            }
        for joiner in joiners:
            if not is_modern(joiner) and (joiner.protocol_type == "consumer" or not self.is_consumer_group):
                self.classic.join(joiner)

    @property
    def is_consumer_group(self) -> bool:
        return bool(self.wishes)

    def has(self, joiner: Joiner) -> bool:
        return joiner.member_id in self.wishes or (joiner.member_id in self.classic.members and not is_modern(joiner))

    def counts(self) -> dict[str, int]:
        """``serverAssignors``: how many wish for each, in the order of the coordinator's map."""
        names = TimelineHashMap()
        for wish in self.wishes.values():
            names.put(wish)
        return {name: list(self.wishes.values()).count(name) for name in names.keys()}  # noqa: SIM118 (no dict)

    def preferred_server_assignor(self) -> str:
        """``Stream.max`` returns the first of those with the most."""
        counts = self.counts()
        return max(counts, key=counts.__getitem__)


def is_modern(joiner: Joiner) -> bool:
    """Whether it follows KIP-848."""
    return joiner.protocols[0] in SERVER_ASSIGNORS
