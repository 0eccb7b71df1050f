"""Simulations over batches of groups, and their output rows."""
