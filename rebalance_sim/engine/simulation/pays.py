"""When another setting is worth its change."""

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

Figures = TypeVar("Figures", float, NDArray[np.int64])


@dataclass(frozen=True)
class Pays:
    """From when another setting is worth its change."""

    downtime_ms: int
    """How much mean downtime per partition it must save in a rollout."""
    share: float
    """The share of the downtime that it must save."""

    def by(self, saved_ms: Figures, unowned_ms: Figures, partitions: Figures) -> Any:
        """Return whether it pays, for one group or for several, given their downtime and partitions without it."""
        return (saved_ms >= self.downtime_ms * partitions) & (saved_ms >= self.share * unowned_ms) & (saved_ms > 0)
