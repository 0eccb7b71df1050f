"""The topics in the metadata of a consumer, as the coordinator reads them (``ConsumerProtocol``, version 0)."""

from tests.naive.coordinator_messages import KafkaError


class _UnderflowError(Exception):
    """``BufferUnderflowException``."""


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def remaining(self) -> int:
        return len(self._data) - self._at

    def number(self, size: int) -> int:
        if size > self.remaining:
            raise _UnderflowError
        return int.from_bytes(self.array(size), signed=True)

    def array(self, size: int) -> bytes:
        """Wrong lengths are no underflow but exceptions that nobody expects."""
        if not 0 <= size <= self.remaining:
            raise KafkaError
        start, self._at = self._at, self._at + size
        return self._data[start : self._at]


def subscribed_topics(metadata: str) -> set[str] | None:
    """None if the metadata end too early; what else is wrong with them breaks the join phase."""
    reader = _Reader(metadata.encode())
    try:
        reader.number(2)
        count = reader.number(4)
        if not 0 <= count <= reader.remaining:
            raise KafkaError
        topics = {reader.array(reader.number(2)).decode() for _ in range(count)}
        user_data_bytes = reader.number(4)
    except _UnderflowError:
        return None
    if user_data_bytes > 0:
        reader.array(user_data_bytes)
    return topics
