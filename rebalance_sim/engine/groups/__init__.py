"""Batches of groups: elections, assignments, comparison and lag."""
