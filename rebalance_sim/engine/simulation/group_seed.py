"""The seed of a group's random numbers."""

import mmh3


def group_seed(seed: int, cluster: str, group_id: str) -> int:
    """Return a function of the group's name and the run's seed alone."""
    return int(mmh3.hash64(f"{cluster}\0{group_id}", seed & 0xFFFFFFFF)[0])
