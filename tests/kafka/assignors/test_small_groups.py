"""Two members with the assignors of every library and release: as plain Python at once, and nothing is compiled."""

import json
import os
import subprocess
import sys
from pathlib import Path

from rebalance_sim.kafka.assignors import CLIENTS_ASSIGNORS, assignors_of
from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES
from rebalance_sim.releases import NEWEST_TESTED, kafka_version
from tests.support.batches import Batch
from tests.support.model import Cluster, Group, Member

ROOT = Path(__file__).parents[3]
RELEASES = ("0.11", "1.0", "2.0", "2.3", "2.4", "2.5", "2.8", "3.0", "3.3", "3.5", "3.7", "3.8", "3.9", "4.0", "4.4")
ASSIGN = """
import json, sys
from rebalance_sim.kafka.runtime.compiled_code import number_compiled
from tests.kafka.assignors.test_small_groups import assigned
print(json.dumps([assigned(), "rebalance_sim.kafka.runtime.numba_internals" in sys.modules, number_compiled()]))
"""


def assigned() -> dict[str, str]:
    """Return the assignment of two members by each assignor, as text."""
    cases = [(release, name) for release in RELEASES for name in assignors_of(kafka_version(release))]
    cases += [(NEWEST_TESTED, name) for name in CLIENTS_ASSIGNORS]
    members = tuple(Member(f"consumer-{n}", ("orders", "clicks")[: n + 1]) for n in range(2))
    cluster = Cluster({"orders": 5, "clicks": 3}, ids={"orders": (1, 2), "clicks": (3, 4)})
    batch = Batch([Group(members, cluster)])
    return {f"{release} {name}": repr(batch.answers(release, name)) for release, name in cases}


def test_a_small_group_is_assigned_without_a_compiler_and_as_compiled_rules_do(tmp_path: Path) -> None:
    of_users = {name: value for name, value in os.environ.items() if name not in (ALWAYS_COMPILES, "NUMBA_DISABLE_JIT")}
    done = subprocess.run(
        [sys.executable, "-c", ASSIGN],
        cwd=ROOT,
        env=of_users | {ALWAYS_COMPILES: "", "NUMBA_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers, loaded_compiler, compiled = json.loads(done.stdout)
    assert (loaded_compiler, compiled) == (False, 0)
    assert answers == assigned()
