"""When a rule runs as plain Python, when kept code is loaded, and when it is compiled."""

import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from rebalance_sim.kafka.runtime.hash_order import java_order
from rebalance_sim.kafka.runtime.kernel import ALWAYS_COMPILES
from tests.support.examples import COMPILED

pytestmark = pytest.mark.skipif(not COMPILED, reason="every rule runs as plain Python")
ROOT = Path(__file__).parents[3]

IN_ANOTHER_PROCESS = """
import sys, numpy as np
from rebalance_sim.kafka.runtime.compiled_code import being_compiled, number_compiled
from rebalance_sim.kafka.runtime import kernel
from rebalance_sim.kafka.runtime.hash_order import java_order, java_table_size

def order(count):
    return java_order(np.arange(count), np.arange(count, dtype=np.int32), java_table_size(count)).tolist()

"""


def printed_by(code: str, folder: Path) -> list[str]:
    """Run code with the policy of users, who have not asked to always compile."""
    inherited = {
        name: value for name, value in os.environ.items() if name not in (ALWAYS_COMPILES, "NUMBA_DISABLE_JIT")
    }
    done = subprocess.run(
        [sys.executable, "-c", IN_ANOTHER_PROCESS + code],
        cwd=ROOT,
        env=inherited | {"NUMBA_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_few_numbers_need_no_numba_and_many_are_compiled(tmp_path: Path) -> None:
    few = "print(order(100) == list(range(100)), 'numba' in sys.modules, number_compiled());"
    many = "print(order(40_000) == list(range(40_000)), 'numba' in sys.modules, number_compiled());"
    assert printed_by(few, tmp_path) == ["True", "False", "0"]
    assert printed_by(many + few, tmp_path) == ["True", "True", "1", "True", "True", "1"]


def test_a_rule_that_takes_long_is_loaded_if_it_is_kept_and_compiled_after_much_longer(tmp_path: Path) -> None:
    often = "for _ in range(50): order(100)\nprint('numba' in sys.modules, number_compiled())\n"
    assert printed_by("kernel._IMPORTING_S = 0\n" + often, tmp_path) == ["False", "0"]
    assert printed_by("kernel._COMPILING_S = 0\n" + often, tmp_path) == ["True", "2"]
    assert printed_by(often, tmp_path) == ["False", "2"]
    assert printed_by("kernel._IMPORTING_S = 0\n" + often, tmp_path) == ["True", "2"]


def test_arguments_for_which_no_code_is_kept_run_as_plain_python(tmp_path: Path) -> None:
    printed_by("order(40_000)", tmp_path)
    other = "print(java_order(np.arange(9.0).astype(np.int8), np.arange(9, dtype=np.int32), 16).tolist() == order(9))"
    assert printed_by(f"kernel._IMPORTING_S = -1\n{other}; print(number_compiled())", tmp_path) == ["True", "1"]


def test_processes_wait_for_each_other_and_one_compiles(tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as both:
        runs = [both.submit(printed_by, "order(40_000); print(number_compiled())", tmp_path) for _ in range(2)]
        assert [run.result() for run in runs] == [["1"], ["1"]]
    hits = "print(len(java_order.compiled.stats.cache_hits), being_compiled())"
    assert printed_by(f"order(40_000); {hits}", tmp_path) == ["1", "[]"]


def test_a_rule_is_pickled_by_its_name() -> None:
    assert pickle.loads(pickle.dumps(java_order)) is java_order
