"""Read a fleet, or the history of its groups, from ``__consumer_offsets``."""

KAFKA = "kafka:"
"""Prefix of brokers, to distinguish them from a path."""


def separated(where: str) -> list[str]:
    """Split a list of dumps at its commas. Brokers come last, because their own list has commas.

    >>> separated("monday,tuesday,kafka:one:9092,two:9092"), separated("monday")
    (['monday', 'tuesday', 'kafka:one:9092,two:9092'], ['monday'])
    """
    paths, prefix, brokers = f",{where}".partition(f",{KAFKA}")
    return [*(path for path in paths.split(",") if path), *([KAFKA + brokers] if prefix else [])]
