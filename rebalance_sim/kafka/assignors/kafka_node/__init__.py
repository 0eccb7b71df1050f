"""The assignors of kafka-node."""
