"""Kafka Connect: how the leader of a cluster of workers assigns connectors and tasks, and what the workers do."""
