"""The client library of a member: what ``consumers.csv`` says, and else what the output of the tools shows."""

from rebalance_sim.kafka.clients.recognition import Signs, recognize
from rebalance_sim.sources.kafka_tools.contents import ConsumerLine

_GIVEN = "consumers.csv"


def known_client(signs: Signs, consumer: ConsumerLine | None) -> tuple[str | None, str | None, str | None]:
    """Return library, release and evidence of a member, as columns of the members table.

    >>> known_client(Signs("orders", "kgo-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38", "kgo"), None)
    ('franz-go', None, 'client id')
    """
    found = recognize(signs)
    library, release = (consumer.client_library, consumer.client_version) if consumer else (None, None)
    if library is not None:
        same = found.release if found.library == library else ""
        return library, release or same or None, _GIVEN
    evidence = [found.evidence, _GIVEN if release else ""]
    return found.library or None, release or found.release or None, ", ".join(filter(None, evidence)) or None
