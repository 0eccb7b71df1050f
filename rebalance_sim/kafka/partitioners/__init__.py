"""To which partition a producer sends a record."""
