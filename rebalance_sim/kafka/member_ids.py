"""Member ids as coordinators and clients make them."""

import re

# A consumer-protocol member (KIP-848) sends its own id, in Kafka's clients a bare Uuid in base64.
_BY_COORDINATOR = re.compile(r"(.*)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.DOTALL)


def named_after(member_id: str) -> str | None:
    """Return the name in a member id that a coordinator made; None for another member id.

    The name is the member's group.instance.id if it is static, and its client.id otherwise
    (``ClassicGroup.generateMemberId``; ``GroupMetadata.generateMemberId`` before 4.0).

    >>> named_after("sarama-4d4391e5-b529-4c02-bb6f-bef6ebc1bf38"), named_after("8XYk0V8BRZCMtoYgMwwEoA")
    ('sarama', None)
    """
    found = _BY_COORDINATOR.fullmatch(member_id)
    return found[1] if found else None
