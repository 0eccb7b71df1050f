"""The coordinator's own assignors (KIP-848)."""
