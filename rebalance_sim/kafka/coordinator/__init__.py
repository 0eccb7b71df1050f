"""The group coordinator: its state, and its answers to the members of a group."""
