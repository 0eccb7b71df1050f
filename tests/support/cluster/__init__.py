"""Real Kafka brokers and consumers from released jars, and captures of them."""
