"""The assignors of kafka-python."""
