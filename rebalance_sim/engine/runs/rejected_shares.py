"""The share of each input that a finished run could not use, from the rows in its record."""

from collections.abc import Mapping
from typing import NamedTuple

from rebalance_sim.tables import INPUTS


class RejectedShare(NamedTuple):
    """The rejected rows of an input."""

    share: float
    rejected: int
    given: int
    table: str

    def __str__(self) -> str:
        return f"{self.rejected:,} of {self.given:,} rows of {self.table}"


def rejected_shares(rows: Mapping[str, Mapping[str, int]]) -> list[RejectedShare]:
    """Return the shares of the inputs with rejected rows; ``rows`` are those of a run's record.

    Inputs of ``fleet`` that only complete other tables have no table of their own: their share is of all rows read.

    >>> fleet = {"out": {"members": 6, "topics": 1, "rejects": 3}, "rejected": {"members": 2, "state": 1}}
    >>> [str(each) for each in rejected_shares(fleet)]
    ['2 of 8 rows of members', '1 of 10 rows of state']
    """
    rejected = {table: number for table, number in rows.get("rejected", {}).items() if number}
    written = {table: number for table, number in rows.get("out", {}).items() if table in INPUTS}
    given = rows.get("in") or {table: number + rejected.get(table, 0) for table, number in written.items()}
    everything = sum(given.values()) + sum(number for table, number in rejected.items() if table not in given)
    return [
        RejectedShare(number / of, number, of, table)
        for table, number in rejected.items()
        if (of := given.get(table, everything))
    ]
