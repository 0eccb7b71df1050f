"""The assignors of librdkafka."""
