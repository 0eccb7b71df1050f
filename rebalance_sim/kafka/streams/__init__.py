"""Kafka Streams on the classic protocol: which tasks each process and thread of an application gets."""
