"""The group coordinator: what it keeps of a group, and what it answers to whom, when."""
