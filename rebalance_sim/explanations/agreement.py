"""Whether two clients send keys to the same partition: their rules, and how many keys of a sample agree by chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from rebalance_sim.explanations.explanation import Explanation, check_partitions, listed
from rebalance_sim.explanations.key import rule_of
from rebalance_sim.kafka.partitioners.clients import CLIENTS, client_named
from rebalance_sim.kafka.partitioners.keyed import UNKEYED, key_partitions
from rebalance_sim.kafka.partitioners.partitioner import Client, KeyHash
from rebalance_sim.kafka.runtime.strings import Strings

SAMPLE = 10_000
"""Number of keys of the sample: ``key-0``, ``key-1``, and so on."""


@dataclass(frozen=True, repr=False)
class AgreementExplanation(Explanation):
    """Whether two clients place keys alike."""

    clients: tuple[Client, Client]
    partitions: int
    """Partitions of the topic for which the sample is placed."""
    same_rule: bool
    """Whether they send every key to the same partition, except an empty one if only one of them hashes it."""
    sample_agreed: int
    """Keys of the sample that both send to the same partition."""
    alternatives: tuple[str, ...]
    """Partitioners of the second client's library that place keys as the first client does."""

    def lines(self) -> Sequence[str]:
        """Return the facts, one per line."""
        one, other = self.clients
        verdict = "send every key to the same partition" if self.same_rule else "place keys differently"
        except_empty = self.same_rule and one.hashes_empty != other.hashes_empty
        share = f"{self.sample_agreed:,} of {SAMPLE:,} ({self.sample_agreed / SAMPLE:.1%})".replace("%", " %")
        lines = [
            f"{one.name} and {other.name} {verdict}{', except an empty key' if except_empty else ''}",
            *(f"  {client.name}: {rule_of(client, self.partitions)}" for client in self.clients),
            f"  sample keys in the same partition of {self.partitions:,}: {share}",
        ]
        if not self.same_rule and self.alternatives:
            verb = "places" if len(self.alternatives) == 1 else "place"
            lines.append(f"  {listed(self.alternatives)} {verb} keys as {one.name} does")
        return lines


def explain_agreement(clients: tuple[str, str], partitions: int) -> AgreementExplanation:
    """Explain whether two clients send a key to the same partition of a topic with this number of partitions.

    The answer follows from their rules. ``sample_agreed`` of 10,000 sample keys go to the same partition: two hashes
    agree by chance on about one key in as many as there are partitions. ``alternatives`` are partitioners of the second
    client's library that place keys as the first client does.

    Raises UserError for an unknown client, and for a number of partitions below one.

    >>> explain_agreement(("java-3.3", "librdkafka"), 12)
    java-3.3 and librdkafka place keys differently
      java-3.3: murmur2, sign bit cleared, modulo 12
      librdkafka: CRC-32, as an unsigned number, modulo 12; an empty key counts as no key
      sample keys in the same partition of 12: 856 of 10,000 (8.6 %)
      librdkafka-murmur2, librdkafka-murmur2-random place keys as java-3.3 does
    >>> explain_agreement(("java-3.3", "kafka-python"), 12).same_rule
    True
    """
    one, other = (client_named("client", name) for name in clients)
    check_partitions(partitions)
    places = [_sample_partitions(client, partitions) for client in (one, other)]
    agreed = int(np.count_nonzero((places[0] == places[1]) & (places[0] != UNKEYED)))
    library = min((name for name in CLIENTS if f"{other.name}-".startswith(f"{name}-")), key=len)
    of_library = [CLIENTS[name] for name in CLIENTS if f"{name}-".startswith(f"{library}-")]
    alternatives = tuple(client.name for client in of_library if client is not other and _same_rule(one, client))
    return AgreementExplanation((one, other), partitions, _same_rule(one, other), agreed, alternatives)


def _same_rule(one: Client, other: Client) -> bool:
    return one.hash is not KeyHash.NONE and _rule(one) == _rule(other)


def _rule(client: Client) -> tuple[object, ...]:
    return client.hash, client.to_partition, client.window_bytes


def _sample_partitions(client: Client, partitions: int) -> NDArray[np.int32]:
    keys = [f"key-{number}".encode() for number in range(SAMPLE)]
    ends = np.cumsum([0, *map(len, keys)], dtype=np.int32)
    sample = Strings.over(ends, np.frombuffer(b"".join(keys), np.uint8))
    return key_partitions(client, sample, np.full(SAMPLE, True), np.full(SAMPLE, partitions, np.int32))
