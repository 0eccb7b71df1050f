"""
Random sequences of rebalances of Connect clusters: workers come, go, return and miss answers while time passes.

Names share hash codes and buckets, as in the other cases; at most eight share one. No worker runs 12, 24, 48, ...
connectors, of which Java 19 and later copy a set into a smaller table.
"""

import random

from tests.oracle.random_cases import JsonObject, drawn
from tests.support.java import PREFIXES

PROTOCOLS = ("sessioned", "sessioned", "compatible", "default")


@drawn("c")
def connect_cases(rng: random.Random, case_id: str) -> JsonObject:
    max_delay_ms = rng.choice((0, 1, 40, 1000, 60_000, 300_000, rng.randint(2, 400_000)))
    play = _Play(rng, max_delay_ms)
    steps = [play.step() for _ in range(rng.choice((3, 20, 24, 30)))]
    return {"rule": "connect", "id": case_id, "config": {"max_delay_ms": max_delay_ms}, "steps": steps}


class _Play:
    """What happens to a cluster, one rebalance after the other."""

    def __init__(self, rng: random.Random, max_delay_ms: int) -> None:
        self.rng = rng
        self.max_delay_ms = max_delay_ms
        self.now_ms, self.generation, self.offset = rng.randint(1, 10**12), rng.randint(0, 3), 1
        self.made = 0
        self.workers = [self._new_id() for _ in range(rng.choice((1, 2, 3, 4, 6, 14)))]
        self.joined: set[str] = set()
        self.away: list[str] = []
        self.connectors: dict[str, int] = {}
        for _ in range(rng.choice((0, 1, 3, 8))):
            self._configure()
        self.leader = rng.choice(self.workers)
        self.leaves = rng.choice((0.05, 0.2, 0.5))
        self.misses = rng.choice((0.0, 0.0, 0.05, 0.3))
        self.configures = rng.choice((0.0, 0.1, 0.5))

    def step(self) -> JsonObject:
        rng = self.rng
        renamed = self._change_workers()
        if rng.random() < self.configures:
            self._configure()
        if self.connectors and rng.random() < self.configures / 2:
            del self.connectors[rng.choice(list(self.connectors))]
        if self.leader not in self.workers or rng.random() < 0.04:
            self.leader = rng.choice(self.workers)
        rng.shuffle(self.workers)
        self.joined.update(self.workers)
        self.now_ms += rng.choice((0, 1, 40, 1600, 64_000, self.max_delay_ms // 2, self.max_delay_ms, 400_000))
        self.generation += 1 if rng.random() < 0.95 else 2
        return {
            "now_ms": self.now_ms,
            "generation": self.generation,
            "protocol": rng.choice(PROTOCOLS) if rng.random() < 0.04 else "sessioned",
            "offset": self.offset,
            "leader": self.leader,
            "workers": list(self.workers),
            "renamed": renamed,
            "missed": [worker for worker in self.workers if rng.random() < self.misses],
            "connectors": dict(self.connectors),
        }

    def _change_workers(self) -> dict[str, str]:
        """Let workers leave, start, and return, some of them with what they ran, under a new id."""
        rng, renamed = self.rng, {}
        for worker in list(self.workers):
            if len(self.workers) > 1 and rng.random() < self.leaves / 2:
                self.workers.remove(worker)
                if worker in self.joined:
                    self.away.append(worker)
        if rng.random() < self.leaves:
            self.workers.append(self._new_id())
        if self.away and rng.random() < self.leaves:
            returns = self.away.pop(rng.randrange(len(self.away)))
            if rng.random() < 0.5:
                renamed[self._new_id()] = returns
                returns = next(iter(renamed))
            self.workers.append(returns)
        return renamed

    def _new_id(self) -> str:
        self.made += 1
        if self.rng.random() < 0.2:
            return f"{PREFIXES[self.made % 4]}{self.made // 4}"
        return f"connect-1-{self.rng.getrandbits(64):016x}"

    def _configure(self) -> None:
        self.offset += 1
        names = ["sink", "source", "größe", "\U0001f600", "～", *(f"{prefix}s" for prefix in PREFIXES)]
        self.connectors[self.rng.choice([*names, *(f"job-{i}" for i in range(20))])] = self.rng.choice(
            (0, 1, 1, 2, 3, 5, 10, 40)
        )
