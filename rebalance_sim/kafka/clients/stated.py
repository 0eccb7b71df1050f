"""What the owner of a cluster states about clients, which takes precedence over what ids and bytes show."""

import re
from dataclasses import dataclass, fields
from functools import cached_property

ANY = "*"


@dataclass(frozen=True)
class StatedClient:
    """A statement about the members whose group and client id match patterns; None where nothing is stated.

    ``*`` stands for any characters in a pattern, ``?`` for one.
    """

    group: str = ANY
    client_id: str = ANY
    library: str | None = None
    release: str | None = None
    protocols: tuple[str, ...] | None = None
    """The assignors that they offer, the most preferred first."""
    start_ms: int | None = None
    """From the start of a process to its first poll."""
    revoke_ms: int | None = None
    """How long ``onPartitionsRevoked`` and ``onPartitionsLost`` take."""
    team: str | None = None
    weight: int | None = None
    """How much the group matters: a group without one has 1."""

    def is_about(self, group_id: str, client_id: str | None) -> bool:
        """Return whether a member's ids match; an unknown client id matches ``*`` only.

        >>> StatedClient(group="billing-*").is_about("billing-eu", "app"), StatedClient(group="b").is_about("B", "app")
        (True, False)
        """
        group, client = self._compiled
        return group.match(group_id) is not None and client.match(client_id or "") is not None

    @property
    def expressions(self) -> tuple[str, str]:
        """Regular expressions of the group and the client id, which Python and Java read alike."""
        return _expression(self.group), _expression(self.client_id)

    @cached_property
    def _compiled(self) -> list[re.Pattern[str]]:
        return [re.compile(each) for each in self.expressions]


def _expression(pattern: str) -> str:
    escaped = (".*" if each == "*" else "." if each == "?" else re.escape(each) for each in pattern)
    return f"(?s)^{''.join(escaped)}(?!.)"


_SAID = [each.name for each in fields(StatedClient) if each.name not in ("group", "client_id")]


@dataclass(frozen=True)
class StatedClients:
    """All statements of an owner, in order."""

    entries: tuple[StatedClient, ...] = ()

    def of(self, group_id: str, client_id: str | None) -> StatedClient:
        """Return what is stated about a member; each value comes from the first matching entry that has it.

        >>> said = StatedClients((StatedClient(group="a*", team="red"), StatedClient(library="sarama", team="blue")))
        >>> found = said.of("a1", "app")
        >>> found.library, found.team
        ('sarama', 'red')
        """
        values: dict[str, str | int | tuple[str, ...]] = {}
        for entry in self.entries:
            if entry.is_about(group_id, client_id):
                said = {name: value for name in _SAID if (value := getattr(entry, name)) is not None}
                values = said | values
        return StatedClient(**values)  # type: ignore[arg-type]
