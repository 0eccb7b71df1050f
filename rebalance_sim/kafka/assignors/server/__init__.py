"""The coordinator's own assignors: of consumer groups (KIP-848) and of share groups (KIP-932)."""
