"""The columns of the members table about a member's client: stated by an owner, or else shown by the member."""

from typing import Any

from rebalance_sim.kafka.clients.recognition import RecognizedClient, Signs, recognize
from rebalance_sim.kafka.clients.stated import StatedClient

CLIENTS_FILE = "clients file"
"""The evidence of a client that the file of --clients states."""
_STATED = ("start_ms", "revoke_ms", "team", "weight")
"""Columns that only such a file has."""


def client_columns(signs: Signs, stated: StatedClient) -> dict[str, Any]:
    """Return the columns, null where nothing is known.

    >>> signs = Signs("orders", "rdkafka-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38", "rdkafka")
    >>> client_columns(signs, StatedClient(release="2.8.0", team="payments"))  # doctest: +NORMALIZE_WHITESPACE
    {'client_library': 'librdkafka', 'client_version': '2.8.0', 'client_evidence': 'client id, clients file',
     'start_ms': None, 'revoke_ms': None, 'team': 'payments', 'weight': None}
    """
    client = with_stated(recognize(signs), stated.library, stated.release, CLIENTS_FILE)
    return columns_of(client) | {name: getattr(stated, name) for name in _STATED}


def columns_of(client: RecognizedClient) -> dict[str, str | None]:
    """Return the columns about the client library."""
    return {
        "client_library": client.library or None,
        "client_version": client.release or None,
        "client_evidence": client.evidence or None,
    }


def with_stated(found: RecognizedClient, library: str | None, release: str | None, by: str) -> RecognizedClient:
    """Return a client with the library and the release that ``by`` states, if it states any.

    >>> with_stated(RecognizedClient("aiokafka", "0.12.0", "client id"), "kafka-python", None, "consumers.csv")
    RecognizedClient(library='kafka-python', release='', evidence='consumers.csv')
    """
    if library is not None:
        same = found.release if found.library == library else ""
        return RecognizedClient(library, release or same, by)
    if release is None:
        return found
    return RecognizedClient(found.library, release, ", ".join(filter(None, (found.evidence, by))))
