"""Input tables: reading and checking them, topic metadata, and Arrow arrays."""
