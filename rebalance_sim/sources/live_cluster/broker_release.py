"""The Kafka release of a cluster's brokers, from the versions of requests that they support."""

import logging
import re
from collections.abc import Mapping

_NEW_VERSIONS = {
    "4.4": (42, 3),
    "4.3": (35, 5),
    "4.2": (8, 10),
    "4.1": (1, 18),
    "4.0": (3, 13),
    "3.9": (1, 17),
    "3.8": (16, 5),
    "3.7": (8, 9),
    "3.6": (24, 4),
    "3.5": (1, 15),
    "3.3": (35, 4),
    "3.2": (11, 9),
    "3.1": (1, 13),
    "3.0": (2, 7),
    "2.8": (0, 9),
    "2.7": (1, 12),
    "2.6": (16, 4),
    "2.5": (11, 7),
    "2.4": (3, 9),
    "2.3": (1, 11),
    "2.2": (2, 5),
    "2.1": (1, 10),
    "2.0": (1, 8),
    "1.1": (1, 7),
    "1.0": (1, 6),
    "0.11.0": (1, 5),
}
"""By release, the key of a request, and its version that brokers of that release were the first to support, with and
without ZooKeeper. Brokers of 3.4 support what those of 3.3 do. From ``ApiKeys`` of each release."""
_LOGGED = re.compile(r": (\S+):   ApiKey \S+ \((\d+)\) Versions \d+\.\.(\d+)")
"""A line of librdkafka's log: a broker, and a request with its newest version."""


def broker_release(newest: Mapping[int, int]) -> str | None:
    """Return the release of a broker by its newest version of each request key; None before the first known release.

    >>> broker_release({1: 17, 3: 12, 8: 9, 16: 5, 35: 4})
    '3.9'
    """
    releases = (release for release, (key, version) in _NEW_VERSIONS.items() if newest.get(key, -1) >= version)
    return next(releases, None)


class SupportedVersions(logging.Handler):
    """Collects the versions of requests that brokers support, which librdkafka writes only to its log.

    A client takes it as ``logger`` with ``debug=feature``.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_broker: dict[str, dict[int, int]] = {}
        """By broker, the newest version of each request by its key."""

    def emit(self, record: logging.LogRecord) -> None:
        """Read a line of the log."""
        found = _LOGGED.search(record.getMessage())
        if found:
            self.by_broker.setdefault(found[1], {})[int(found[2])] = int(found[3])

    def logger(self) -> logging.Logger:
        """Return a logger whose lines only this handler sees."""
        logger = logging.Logger("librdkafka", logging.DEBUG)
        logger.addHandler(self)
        return logger

    def releases(self) -> list[str]:
        """Return the releases of the brokers that answered, the oldest one first."""
        found = {broker_release(newest) for newest in self.by_broker.values()}
        return [release for release in reversed(_NEW_VERSIONS) if release in found]
