"""Read a fleet from ``__consumer_offsets``."""
