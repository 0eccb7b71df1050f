"""What changes the key of a rule, so that it is compiled again, and what does not: edits of a copy of the package."""

import shutil
from pathlib import Path

import pytest

from rebalance_sim.kafka.runtime.compiled_code import PACKAGE
from rebalance_sim.kafka.runtime.rule_keys import RuleSources, rule_key

STICKY = "rebalance_sim.kafka.assignors.sticky.since_3_0._assign"
SIMULATION = "rebalance_sim.kafka.simulation.batch._advance_all"
HASHES = "rebalance_sim.kafka.runtime.strings.java_hashes"
RULES = (STICKY, SIMULATION, HASHES)
EDITS = {
    "a docstring": (
        "kafka/runtime/strings.py",
        '"""Return eight bytes as one number',
        '"""Return 8 bytes as a number',
        (),
    ),
    "a comment and the lines below it": (
        "kafka/runtime/strings.py",
        "    # Names are",
        "    # So.\n\n    # Names are",
        (),
    ),
    "a constant two modules away": ("kafka/runtime/strings.py", "_FEW = 32", "_FEW = 31", (STICKY,)),
    "a called function two modules away": (
        "kafka/runtime/hash_order.py",
        "def java_bucket(",
        "def java_bucket(unused: int, ",
        (STICKY, SIMULATION),
    ),
    "a field of a record two modules away": (
        "kafka/coordinator/classic/classic_group.py",
        "class ClassicGroupMember:",
        "class ClassicGroupMember:\n    added: int",
        (SIMULATION,),
    ),
    "a number of an enumeration": ("kafka/simulation/pauses.py", "TARGET = ", "TARGET = 100 + ", (SIMULATION,)),
    "the kind of rule": (
        "kafka/runtime/strings.py",
        "@kernel\ndef java_hash(",
        "@inner_kernel\ndef java_hash(",
        (HASHES,),
    ),
    "the compiler": (
        "kafka/runtime/numba_internals.py",
        "class KernelCompiler(",
        "X = 1\n\n\nclass KernelCompiler(",
        RULES,
    ),
    "plain Python around rules": (
        "kafka/assignors/sticky/since_3_0.py",
        "def assign(",
        "def unused() -> None: ...\n\n\ndef assign(",
        (),
    ),
    "another name from the same module": (
        "kafka/simulation/batch.py",
        "from rebalance_sim.kafka.simulation.group_simulation import ",
        "from rebalance_sim.kafka.simulation.group_simulation import _play, ",
        (),
    ),
}


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copied = tmp_path_factory.mktemp("copy") / "rebalance_sim"
    shutil.copytree(PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__", "conf"))
    return copied


@pytest.fixture(scope="module")
def keys(copy: Path) -> dict[str, str]:
    return keys_of_rules(copy)


def keys_of_rules(package: Path) -> dict[str, str]:
    sources = RuleSources(package)
    return {rule: sources.key(rule) for rule in RULES}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_changes_the_keys_of_the_rules_that_are_made_of_it(copy: Path, keys: dict[str, str], edit: str) -> None:
    name, before, after, expected = EDITS[edit]
    file = copy / name
    original = file.read_text()
    assert before in original, f"{name} no longer has {before!r}"
    file.write_text(original.replace(before, after, 1))
    try:
        changed = tuple(rule for rule, key in keys_of_rules(copy).items() if key != keys[rule])
    finally:
        file.write_text(original)
    assert changed == expected


def test_a_copy_elsewhere_has_the_same_keys(keys: dict[str, str]) -> None:
    assert keys == {rule: rule_key(rule) for rule in RULES}


def test_a_function_that_no_module_defines_has_no_key() -> None:
    with pytest.raises(LookupError, match="no module of this package defines"):
        rule_key("rebalance_sim.kafka.balance.no_rule")
