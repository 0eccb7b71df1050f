"""Kafka's rules once more, in plain Python that reads like Kafka: what the compiled rules are compared with."""
