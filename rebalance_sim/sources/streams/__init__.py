"""Where applications of Kafka Streams come from: the records of their groups."""
