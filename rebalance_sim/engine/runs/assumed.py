"""The assumptions of a run about brokers and clients: sentences of its record, and short forms for a page's top."""

import re
from collections.abc import Iterable

RELEASE = "the Kafka release of the brokers is unknown; {}, the default of --kafka-version, is assumed"
LIBRARY = "the client library of {} is unknown; Java is assumed"
PROTOCOL_LISTS = "protocol lists"
_LIBRARY = re.compile(LIBRARY.replace("{}", "(.+)"))
_PROTOCOLS = re.compile(r"the protocols of (.+?) are unknown; .*")
"""Sentences of the sources of a fleet."""


def is_release_assumed(release: str, assumptions: Iterable[str]) -> bool:
    """Return whether the release of the brokers is assumed, because no input has it."""
    return RELEASE.format(release) in assumptions


def assumed_of_clients(assumptions: Iterable[str]) -> list[tuple[str, str]]:
    """Return what is assumed about clients: titles and values.

    >>> sentences = ["the protocols of 3 members (1 group) are unknown; the elected protocol is used"]
    >>> assumed_of_clients([*sentences, "the client library of 4 members is unknown; Java is assumed"])
    [('client library', 'Java (assumed for 4 members)'), ('protocol lists', 'assumed for 3 members (1 group)')]
    """
    sentences = list(assumptions)
    of_libraries = [found[1] for each in sentences if (found := _LIBRARY.fullmatch(each))]
    of_protocols = [found[1] for each in sentences if (found := _PROTOCOLS.fullmatch(each))]
    return [
        *(("client library", f"Java (assumed for {members})") for members in of_libraries),
        *([(PROTOCOL_LISTS, f"assumed for {' and '.join(of_protocols)}")] if of_protocols else []),
    ]
