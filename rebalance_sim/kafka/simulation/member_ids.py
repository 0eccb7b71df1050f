"""Generated member ids.

The coordinator generates the ids of classic members: client id or instance id, a hyphen, and a random
``java.util.UUID`` (``ClassicGroup.generateMemberId``). Consumers of the consumer protocol generate their own since 4.0:
a ``org.apache.kafka.common.Uuid`` in base64 (KIP-1082). Each id is drawn from the group's random numbers by its number,
so that it is the same whenever it is computed.
"""

from rebalance_sim.kafka.runtime.kernel import inner_kernel, kernel
from rebalance_sim.kafka.runtime.strings import Bytes, Ints
from rebalance_sim.kafka.runtime.thread_local_random import HIGH, LOW, next_int
from rebalance_sim.kafka.simulation.model import Simulation

_IDS, _SCRATCH = 1, 2
"""Rows of a group's random numbers."""
HYPHEN = 45
HEX_LENGTH, BASE64_LENGTH = 36, 22
"""Characters of a ``java.util.UUID``, and of an ``org.apache.kafka.common.Uuid``."""
_BITS = 32
_MASK = (1 << _BITS) - 1


@inner_kernel
def coordinator_id_hash(simulation: Simulation, i: int, number: int) -> int:
    """Return the ``hashCode`` of a member id that the coordinator generates for consumer i."""
    h = simulation.id_hashes[i]
    words = _draw(simulation.random, number)
    for k in range(HEX_LENGTH):
        h = (31 * h + _character(words, k, HEX_LENGTH)) & _MASK
    return h


@inner_kernel
def client_id_hash(simulation: Simulation, number: int) -> int:
    """Return the ``hashCode`` of a member id that a consumer generates itself."""
    h = 0
    words = _draw(simulation.random, number)
    for k in range(BASE64_LENGTH):
        h = (31 * h + _character(words, k, BASE64_LENGTH)) & _MASK
    return h


@kernel
def write_uuid(random: Ints, number: int, to: Bytes) -> None:
    """Write the UUID of an id; the length of ``to`` selects the format."""
    words = _draw(random, number)
    for k in range(len(to)):
        to[k] = _character(words, k, len(to))


@inner_kernel
def _draw(random: Ints, number: int) -> tuple[int, int, int, int]:
    """Draw the bits of a version 4 UUID."""
    random[_SCRATCH, HIGH] = (random[_IDS, HIGH] + number) & _MASK
    random[_SCRATCH, LOW] = random[_IDS, LOW]
    first = next_int(random, _SCRATCH) & _MASK
    second = next_int(random, _SCRATCH) & 0xFFFF0FFF | 0x4000
    third = next_int(random, _SCRATCH) & 0x3FFFFFFF | 0x80000000
    fourth = next_int(random, _SCRATCH) & _MASK
    return first, second, third, fourth


@inner_kernel
def _character(words: tuple[int, int, int, int], k: int, length: int) -> int:
    if length == BASE64_LENGTH:
        return _base64(_sextet(words, k), k)
    if k in (8, 13, 18, 23):
        return HYPHEN
    digit = k - (k > 8) - (k > 13) - (k > 18) - (k > 23)
    nibble = (_word(words, digit >> 3) >> (28 - 4 * (digit & 7))) & 15
    return 48 + nibble if nibble < 10 else 87 + nibble


@inner_kernel
def _word(words: tuple[int, int, int, int], k: int) -> int:
    if k == 0:
        return words[0]
    if k == 1:
        return words[1]
    if k == 2:
        return words[2]
    return words[3] if k == 3 else 0


@inner_kernel
def _sextet(words: tuple[int, int, int, int], k: int) -> int:
    """Return six bits, which may be in two words; the last ones are padded with zeros."""
    bit = 6 * k
    pair = _word(words, bit >> 5) << _BITS | _word(words, (bit >> 5) + 1)
    return (pair >> (58 - (bit & 31))) & 63


@inner_kernel
def _base64(sextet: int, k: int) -> int:
    """Return a digit of base64url. ``Uuid.randomUuid`` rejects UUIDs that would begin with a hyphen."""
    if sextet < 26:
        return 65 + sextet
    if sextet < 52:
        return 71 + sextet
    if sextet < 62:
        return sextet - 4
    return HYPHEN if sextet == 62 and k > 0 else 95
