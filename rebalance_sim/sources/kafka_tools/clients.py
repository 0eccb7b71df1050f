"""The client of a member: stated by ``consumers.csv``, by its owner, or else shown by the tools, in this order."""

from typing import Any

from rebalance_sim.kafka.clients.recognition import RecognizedClient, Signs
from rebalance_sim.kafka.clients.stated import StatedClient
from rebalance_sim.sources.client_columns import client_columns, columns_of, with_stated
from rebalance_sim.sources.kafka_tools.contents import ConsumerLine

_GIVEN = "consumers.csv"


def known_client(signs: Signs, consumer: ConsumerLine | None, stated: StatedClient) -> dict[str, Any]:
    """Return the columns of the members table about a member's client.

    >>> signs = Signs("g", "kgo-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38", "kgo")
    >>> known_client(signs, None, StatedClient())["client_library"]
    'franz-go'
    """
    columns = client_columns(signs, stated)
    if consumer is None:
        return columns
    found = RecognizedClient(*(columns[name] or "" for name in ("client_library", "client_version", "client_evidence")))
    return columns | columns_of(with_stated(found, consumer.client_library, consumer.client_version, _GIVEN))
