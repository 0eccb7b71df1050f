"""The past of a group: what changed from each generation to the next, why, and which changes belong together."""
