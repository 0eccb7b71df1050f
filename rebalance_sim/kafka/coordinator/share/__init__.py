"""The coordinator's side of share groups (KIP-932)."""
