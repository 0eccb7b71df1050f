"""The order in which a broker lists the partitions of a topic: client libraries hand it on or sort it."""

from __future__ import annotations

import socket
import struct

_METADATA, _VERSION = 3, 1
_SECONDS = 30


def listed_partitions(servers: str, topic: str) -> list[int]:
    """Return the partitions of a topic in the order of a Metadata response."""
    host, _, port = servers.partition(":")
    name = topic.encode()
    body = struct.pack(">hhih", _METADATA, _VERSION, 1, -1) + struct.pack(f">ih{len(name)}s", 1, len(name), name)
    with socket.create_connection((host, int(port)), _SECONDS) as connection:
        connection.sendall(struct.pack(">i", len(body)) + body)
        answers = connection.makefile("rb")
        (size,) = struct.unpack(">i", answers.read(4))
        return _Response(answers.read(size)).partitions()


class _Response:
    """The fields of a response, one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 4
        """Behind the correlation id."""

    def partitions(self) -> list[int]:
        for _ in range(self._integer(4)):
            self._integer(4)
            self._skip_string()
            self._integer(4)
            self._skip_string()
        self._integer(4)
        assert self._integer(4) == 1
        assert self._integer(2) == 0
        self._skip_string()
        self._integer(1)
        return [self._partition() for _ in range(self._integer(4))]

    def _partition(self) -> int:
        self._integer(2)
        number = self._integer(4)
        self._integer(4)
        for _ in range(2):
            self._skip(4 * self._integer(4))
        return number

    def _integer(self, size: int) -> int:
        self._at += size
        return int.from_bytes(self._data[self._at - size : self._at], "big", signed=True)

    def _skip_string(self) -> None:
        self._skip(max(self._integer(2), 0))

    def _skip(self, size: int) -> None:
        self._at += size
