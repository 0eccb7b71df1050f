"""The assignors of KafkaJS."""
