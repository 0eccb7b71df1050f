"""Times actions in turn, so that a machine that slows down slows all of them."""

import time
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame

Actions = Mapping[str, Callable[[], DataFrame]]


def seconds(actions: Actions, rounds: int) -> dict[str, list[float]]:
    """Write what each action returns into the noop sink, in several rounds after one to warm up."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for nth in range(rounds + 1):
        for name, action in actions.items():
            started = time.perf_counter()
            action().write.format("noop").mode("overwrite").save()
            if nth > 0:
                times[name].append(time.perf_counter() - started)
    return times
