"""A group whose members use the classic or the consumer protocol (KIP-848), as its coordinator keeps it.

``ConsumerGroup`` (4.x) and, while all follow the classic protocol, ``ClassicGroup``.
"""

from tests.reference.classic_group import ClassicGroup
from tests.reference.model import Joiner
from tests.reference.server_assignors import TimelineHashMap

SERVER_ASSIGNORS = {"server-uniform": "uniform", "server-range": "range"}
"""Kafka's names by those of this project."""


class MixedGroup:
    """All consumer-protocol members, and the classic members that are admitted."""

    def __init__(self, version: str, joiners: tuple[Joiner, ...]) -> None:
        knows_consumers = version == "4.3"
        self.classic = ClassicGroup(version)
        self.preferences: dict[str, str] = {}
        """Kafka's name of the assignor, by member that uses the consumer protocol."""
        if knows_consumers:
            self.preferences = {
                joiner.member_id: SERVER_ASSIGNORS[joiner.protocols[0]] for joiner in joiners if is_modern(joiner)
            }
        for joiner in joiners:
            if not is_modern(joiner) and (joiner.protocol_type == "consumer" or not self.is_consumer_group):
                self.classic.join(joiner)

    @property
    def is_consumer_group(self) -> bool:
        return bool(self.preferences)

    def has(self, joiner: Joiner) -> bool:
        return joiner.member_id in self.preferences or (
            joiner.member_id in self.classic.members and not is_modern(joiner)
        )

    def counts(self) -> dict[str, int]:
        """``serverAssignors``: how many members prefer each, in the order of the coordinator's map."""
        names = TimelineHashMap()
        for preference in self.preferences.values():
            names.put(preference)
        return {name: list(self.preferences.values()).count(name) for name in names.keys()}  # noqa: SIM118 (no dict)

    def preferred_server_assignor(self) -> str:
        """``Stream.max`` returns the first of those with the most."""
        counts = self.counts()
        return max(counts, key=counts.__getitem__)


def is_modern(joiner: Joiner) -> bool:
    """Return whether it uses the consumer protocol."""
    return joiner.protocols[0] in SERVER_ASSIGNORS
