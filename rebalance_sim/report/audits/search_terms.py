"""What the search of the page finds a group by beside its name: topics, client ids, addresses and libraries."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, Row
from pyspark.sql import functions as F

from rebalance_sim.report.text import cut, printable

SHOWN_TOPICS, SHOWN_CLIENTS = 100, 30
"""Topics of a group that the page has, and client ids, addresses or libraries: the first."""
TOPICS_BYTES, CLIENTS_BYTES = 500_000, 600_000
"""The most that the terms of all groups take; the groups with the first ranks have theirs."""
_TERM_CHARACTERS = 300
_NUMBER_BYTES = 6
_SHOWN = {
    **dict.fromkeys(("topics", "offsets_topics"), SHOWN_TOPICS),
    **dict.fromkeys(("client_ids", "addresses", "client_libraries"), SHOWN_CLIENTS),
}
"""Columns of ``verdicts`` with terms, and how many of them the page has."""
_LEFT_OUT = {
    "topics_left_out": ("topics", "offsets_topics"),
    "clients_left_out": ("client_ids", "addresses", "client_libraries"),
}
"""Columns with the number of terms that others leave out."""


@dataclass(frozen=True)
class SearchTerms:
    """The terms of a group."""

    topics: tuple[str, ...] = ()
    """Topics that its members subscribe to."""
    offsets_topics: tuple[str, ...] = ()
    """Topics that it only has offsets for."""
    client_ids: tuple[str, ...] = ()
    addresses: tuple[str, ...] = ()
    client_libraries: tuple[str, ...] = ()
    topics_left_out: int = 0
    clients_left_out: int = 0

    @classmethod
    def of(cls, verdict: Row) -> "SearchTerms":
        """Return the terms of a row of ``verdicts`` with ``columns``."""
        values: dict[str, Any] = {name: tuple(verdict[name] or ()) for name in _SHOWN}
        return cls(**values, **{name: verdict[name] for name in _LEFT_OUT})


NO_TERMS = SearchTerms()


def columns() -> dict[str, Column]:
    """Return the columns of ``verdicts`` with as many terms as the page has, by name."""
    first = {name: F.slice(name, 1, most) for name, most in _SHOWN.items()}
    return first | {
        left_out: sum((_more(name) for name in names), F.coalesce(F.col(left_out), F.lit(0)))
        for left_out, names in _LEFT_OUT.items()
    }


def _more(name: str) -> Column:
    """Return how many terms of a column the page leaves out."""
    return F.greatest(F.coalesce(F.size(name), F.lit(0)) - _SHOWN[name], F.lit(0))


def for_script(listed: Sequence[SearchTerms]) -> dict[str, Any]:
    """Return the terms of the groups that the table lists, for the script.

    ``topics`` and ``clients`` have the texts, each once, and by group lists of their numbers and how many terms are
    left out; a group for which there is no room has null.
    """
    topics = ((of.topics, of.offsets_topics) for of in listed)
    clients = ((of.client_ids, of.addresses, of.client_libraries) for of in listed)
    return {
        "topics": _numbered(topics, [of.topics_left_out for of in listed], TOPICS_BYTES),
        "clients": _numbered(clients, [of.clients_left_out for of in listed], CLIENTS_BYTES),
    }


def _numbered(
    listed: Iterable[Sequence[Sequence[str]]], left_out: Sequence[int], most: int
) -> Mapping[str, Sequence[Any]]:
    """Number the texts of groups in their order, as long as there is room."""
    places: dict[str, int] = {}
    rows: list[Any] = []
    size = 0
    for of_group, more in zip(listed, left_out, strict=True):
        shown = [[shown_term(term) for term in terms] for terms in of_group]
        size += sum(_sizes(shown, places))
        if size > most:
            break
        rows.append([*([places.setdefault(term, len(places)) for term in terms] for terms in shown), more])
    return {"texts": list(places), "rows": [*rows, *[None] * (len(left_out) - len(rows))]}


def _sizes(shown: Iterable[Sequence[str]], places: Mapping[str, int]) -> Iterator[int]:
    for terms in shown:
        for term in terms:
            yield _NUMBER_BYTES + (0 if term in places else len(term.encode()) + 3)


def shown_term(term: str) -> str:
    """Return a term as the script has it."""
    return cut(printable(term), _TERM_CHARACTERS)
