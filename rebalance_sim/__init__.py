"""Predicts what Apache Kafka will do with a whole fleet of consumer groups."""
