"""The history of groups, as the records of ``__consumer_offsets`` tell it, and what would have been predicted."""
