"""Consumers of Python's client libraries in a process of their own, which can be killed: ``python -m`` this module.

Orders and reports are those of the program for Go's libraries (tests/real/client_libraries/go/consumers/main.go).
"""

import sys
import threading
import time
from collections.abc import Mapping

from tests.support.cluster.clients import KafkaPythonConsumers, PythonConsumers, RdkafkaConsumers
from tests.support.cluster.fleet import Client

_RUNNERS: Mapping[str, type[PythonConsumers]] = {"librdkafka": RdkafkaConsumers, "kafka-python": KafkaPythonConsumers}


class _Consumers:
    """The running consumers, by name."""

    def __init__(self) -> None:
        self._runners: dict[str, PythonConsumers] = {}
        self._of: dict[str, PythonConsumers] = {}

    def start(self, name: str, given: Mapping[str, str]) -> None:
        library = given["library"]
        if library not in self._runners:
            self._runners[library] = _RUNNERS[library](given["servers"])
        client = Client(
            given["group"],
            given["client"],
            tuple(given["protocols"].split(",")),
            tuple(given["topics"].split(",")),
            instance_id=given["instance"],
            library=library,
            commit="never",
            session_ms=int(given["session"]),
        )
        self._of[name] = self._runners[library]
        self._of[name].start(name, client)

    def close(self, name: str) -> None:
        self._of[name].close(name)
        _report("closed", name)

    def obey(self, line: str) -> None:
        order, name, *fields = line.rstrip("\n").split("\t")
        match order:
            case "start":
                self.start(name, dict(each.split("=", 1) for each in fields))
            case "close":
                # It may take as long as a rebalance.
                threading.Thread(target=self.close, args=(name,)).start()
            case "subscribe":
                self._of[name].subscribe(name, fields[0].split(","))

    def end(self) -> None:
        for each in self._runners.values():
            each.__exit__()


def _report(event: str, name: str) -> None:
    print(event, name, time.time_ns() // 1_000_000, sep="\t", flush=True)


def main() -> None:
    consumers = _Consumers()
    for line in sys.stdin:
        consumers.obey(line)
    consumers.end()


if __name__ == "__main__":
    main()
