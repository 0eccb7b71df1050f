"""Read a fleet from ``__consumer_offsets``."""

KAFKA = "kafka:"
"""Prefix of brokers, to distinguish them from a path."""
