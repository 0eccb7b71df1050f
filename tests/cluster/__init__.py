"""A real Kafka on this machine: released jars, real consumers, and captures of both."""
