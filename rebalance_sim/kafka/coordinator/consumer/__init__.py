"""The consumer protocol (KIP-848): ConsumerGroupHeartbeat."""
