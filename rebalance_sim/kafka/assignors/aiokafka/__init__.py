"""The assignors of aiokafka."""
