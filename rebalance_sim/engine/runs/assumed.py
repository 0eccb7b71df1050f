"""The assumptions of a run about brokers and clients: sentences of its record, and short forms for a page's top."""

import re
from collections.abc import Iterable, Sequence

RELEASE = "the Kafka release of the brokers is unknown; {}, the default of --kafka-version, is assumed"
LIBRARY = "the client library of {} is unknown; Java is assumed"
PROTOCOL_LISTS = "protocol lists"
_LIBRARY = re.compile(LIBRARY.replace("{}", "(.+)"))
_PROTOCOLS = re.compile(r"the protocols of (.+?) are unknown; .*")
"""Sentences of the sources of a fleet."""
CLIENTS, BROKERS, TIMES, GROUPS, INPUTS = "clients", "brokers", "times", "groups", "inputs"
"""What assumptions are about."""
_FORMS = {
    TIMES: re.compile("^(?:simulated with|restarted consumers|all consumers have|pods have|workers rejoin) "),
    BROKERS: re.compile(r"^(?:brokers|every broker|the Kafka release|Kafka \S+ is newer) "),
    GROUPS: re.compile(r"^(?:members of )?[\d,]+ groups? "),
    CLIENTS: re.compile(r"\b(?:member|worker)s?\b|^consumers |^the client library "),
}
"""The forms of their sentences; others are about the inputs."""


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


def assumptions_by_topic(sentences: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Return assumptions by what they are about, in their order.

    >>> by_topic = assumptions_by_topic(["pods have ready_ms 5", "the rack of 2 members is unknown", "no content in a"])
    >>> list(by_topic.items())[:2]
    [('clients', ('the rack of 2 members is unknown',)), ('times', ('pods have ready_ms 5',))]
    """
    found: dict[str, list[str]] = {topic: [] for topic in (CLIENTS, BROKERS, TIMES, GROUPS, INPUTS)}
    for sentence in sentences:
        found[next((topic for topic, form in _FORMS.items() if form.search(sentence)), INPUTS)].append(sentence)
    return {topic: tuple(of) for topic, of in found.items() if of}


def grouped_lines(sentences: Iterable[str]) -> list[str]:
    """Return assumptions as lines for the console: one for all that are about the same.

    >>> grouped_lines(["the rack of 2 members is unknown", "join order is unknown for 2 members"])
    ['assumptions about clients: the rack of 2 members is unknown. Join order is unknown for 2 members']
    """
    return [f"assumptions about {topic}: {in_one(of)}" for topic, of in assumptions_by_topic(sentences).items()]


def in_one(sentences: Sequence[str]) -> str:
    """Return assumptions about the same as one text.

    >>> in_one(["pods have ready_ms 5", "all consumers have session_timeout_ms 9"])
    'pods have ready_ms 5. All consumers have session_timeout_ms 9'
    """
    return ". ".join([*sentences[:1], *(each[:1].upper() + each[1:] for each in sentences[1:])])
