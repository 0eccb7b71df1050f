"""How the coordinator up to Kafka 3.9 writes to the offsets topic: each write is told its end."""

from contextlib import suppress
from dataclasses import dataclass, field

from tests.naive.coordinator_messages import NONE, KafkaError, Respond
from tests.naive.coordinator_records import Record


@dataclass
class OffsetsLog:
    """The coordinator's partition of the offsets topic; writes end at once or when they are told."""

    error: str = NONE
    held: bool = False
    records: list[Record] = field(default_factory=list)
    _waiting: list[tuple[list[Record], Respond[str]]] = field(default_factory=list)

    def append(self, records: list[Record], ended: Respond[str]) -> None:
        if self.held or self._waiting:
            self._waiting.append((records, ended))
        else:
            self._end(records, ended, self._error_of(records))

    def append_unacknowledged(self, records: list[Record]) -> None:
        """Nobody waits for the end of this write, nor hears of its failure."""
        if self._error_of(records) == NONE:
            self.records += records

    def _error_of(self, records: list[Record]) -> str:
        return self.error if any(record.is_of_group for record in records) else NONE

    def finish(self) -> None:
        waiting, self._waiting = self._waiting, []
        for records, ended in waiting:
            self._end(records, ended, self.error)

    def _end(self, records: list[Record], ended: Respond[str], error: str) -> None:
        if error == NONE:
            self.records += records
        # What a callback throws does not keep the others from being called.
        with suppress(KafkaError):
            ended(error)
