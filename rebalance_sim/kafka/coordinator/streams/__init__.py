"""The group coordinator's rules for streams groups (KIP-1071)."""
