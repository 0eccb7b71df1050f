"""Applications of Kafka Streams in Spark: whole groups, assigned batch by batch."""
