"""Fleets read from the output of Kafka's command-line tools."""
