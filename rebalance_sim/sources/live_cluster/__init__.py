"""Read fleets and records from a live cluster."""
