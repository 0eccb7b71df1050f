"""The assignors of kafka-go."""
