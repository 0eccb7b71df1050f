"""Fields of Kafka's protocol as bytes, in versions that are not flexible."""

import struct
from collections.abc import Iterable


def int16(value: int) -> bytes:
    return struct.pack(">h", value)


def int32(value: int) -> bytes:
    return struct.pack(">i", value)


def string(value: str | None) -> bytes:
    return int16(-1) if value is None else int16(len(value.encode())) + value.encode()


def sized(value: bytes | None) -> bytes:
    return int32(-1) if value is None else int32(len(value)) + value


def array(items: Iterable[bytes]) -> bytes:
    written = list(items)
    return int32(len(written)) + b"".join(written)
