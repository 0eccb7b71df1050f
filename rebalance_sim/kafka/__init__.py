"""Kafka's rules on plain arrays: no Spark, no input or output."""
