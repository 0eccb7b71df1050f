"""Placing records: partitions of keys, partition load, growth, and producers."""
