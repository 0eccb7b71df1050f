"""The assignors of Sarama."""
