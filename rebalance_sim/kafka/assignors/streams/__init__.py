"""The coordinator's task assignor of streams groups (KIP-1071)."""
