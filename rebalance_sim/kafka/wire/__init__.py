"""Kafka's byte formats: subscriptions, assignments and the records of ``__consumer_offsets``."""
