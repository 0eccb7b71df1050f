"""Which tests a change runs: what changed, what depends on it, and that no test falls through."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.support.changes import ROOT, Imports, changed_files, git
from tests.support.tiers import MINUTES, TIERS, base, last_passed, plan

RULES = {
    "election.py": "live: elections and consumers' assignors",
    "assignors/java/range_assignor.py": "live: elections and consumers' assignors",
    "assignors/sticky/before_3_0.py": "live: elections and consumers' assignors",
    "assignors/server/uniform.py": "live: server-side assignors",
    "assignors/franz_go/sticky_balancer.py": "live: other libraries' assignors",
    "clients/sarama.py": "live: other libraries' assignors",
    "partitioners/key_hashes.py": "live: partitioners",
    "coordinator/classic/requests.py": "live: classic groups",
    "coordinator/consumer/heartbeat.py": "live: consumer-protocol groups",
    "wire/consumer_protocol.py": "live: protocol bytes",
    "wire/offsets_topic.py": "live: offsets topic",
}
"""Files of rules, and the tier that compares them with Kafka's classes or the library."""
MODULE = '''"""A module."""

LIMIT = 1
"""A limit."""


def twice(n: int) -> int:
    """Return more."""
    return 2 * n
'''


@pytest.fixture(scope="module")
def imports() -> Imports:
    return Imports()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Return a repository whose test depends on a module through another one."""
    files = {
        "rebalance_sim/__init__.py": "",
        "rebalance_sim/low.py": MODULE,
        "rebalance_sim/high.py": "from rebalance_sim.low import twice\n",
        "rebalance_sim/other.py": "",
        "tests/conftest.py": "import rebalance_sim.other\n",
        "tests/test_high.py": "def test() -> None:\n    from rebalance_sim import high\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "--quiet")
    commit(tmp_path)
    return tmp_path


def commit(repository: Path) -> str:
    git(repository, "add", "--all")
    git(repository, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "--quiet", "--allow-empty", "-m", "t")
    return git(repository, "rev-parse", "HEAD").strip()


@pytest.mark.parametrize(
    ("old", "new", "is_code"),
    [
        ("A module.", "The module.", False),
        ("A limit.", "The limit.", False),
        ("Return more.", "Return twice as much.", False),
        ("    return 2 * n", "    # Twice.\n    return (2\n        * n)", False),
        ("LIMIT = 1", "LIMIT = 2", True),
        ("return 2 * n", "return 3 * n", True),
        ("return 2 * n", "return", True),
        (MODULE, "def broken(", True),
    ],
)
def test_docstrings_comments_and_layout_are_no_change(repository: Path, old: str, new: str, is_code: bool) -> None:
    file = repository / "rebalance_sim" / "low.py"
    file.write_text(MODULE.replace(old, new))
    assert changed_files("HEAD", repository) == {"rebalance_sim/low.py": is_code}


def test_new_and_deleted_files_are_changes(repository: Path) -> None:
    before = commit(repository)
    (repository / "new").touch()
    (repository / "rebalance_sim" / "high.py").unlink()
    commit(repository)
    (repository / "tests" / "test_new.py").touch()
    changed = ("new", "rebalance_sim/high.py", "tests/test_new.py")
    assert changed_files(before, repository) == dict.fromkeys(changed, True)


def test_a_test_depends_on_what_its_imports_import(repository: Path) -> None:
    """Also on packages and every conftest.py; imports are followed into some folders only."""
    imports = Imports(repository)
    tests = {"tests/test_high.py", "tests/conftest.py"}
    modules = {f"rebalance_sim/{name}.py" for name in ("__init__", "high", "low", "other")}
    assert imports.closure(["tests/test_high.py"], ("tests/", "rebalance_sim/")) == tests | modules
    assert imports.closure(["tests/test_high.py"], ("tests/",)) == tests
    ends = ["rebalance_sim/high.py"]
    low = {"rebalance_sim/low.py"}
    assert imports.closure(["tests/test_high.py"], ("tests/", "rebalance_sim/"), ends) == tests | modules - low
    assert imports.below(("rebalance_sim/h", "tests/c")) == [*ends, "tests/conftest.py"]


@pytest.mark.parametrize("name", RULES)
def test_a_changed_rule_runs_its_live_comparison_in_full(name: str, imports: Imports) -> None:
    planned = plan({f"rebalance_sim/kafka/{name}": True}, 0, imports)
    assert RULES[name] in {tier.name for tier in planned.in_full}
    tier = next(tier for tier in planned.in_full if tier.name == RULES[name])
    assert f"--in-full={tier.files[0]}" in planned.arguments()
    assert any(RULES[name] in line and name in line for line in planned.lines())


def test_a_change_of_everything_runs_as_much_as_there_is_time_for_and_postpones_the_rest(imports: Imports) -> None:
    everything = {"requirements.txt": True}
    waiting: dict[str, dict[str, bool]] = {}
    ran: set[str] = set()
    for changes in range(1, len(TIERS)):
        planned = plan(everything if changes == 1 else {}, 0, imports, waiting)
        assert sum(tier.minutes for tier in planned.in_full) <= MINUTES
        assert {tier.name for tier in planned.in_full}.isdisjoint(ran)
        ran |= {tier.name for tier in planned.in_full}
        named = [*planned.in_full, *planned.postponed]
        assert ran | {tier.name for tier in named} == {tier.name for tier in TIERS}
        assert {tier for tier in planned.postponed if tier.always} <= set(planned.in_part)
        lines = "\n".join(planned.lines())
        assert all(f"  next time: {tier.name} (requirements.txt changed)" in lines for tier in planned.postponed)
        waiting = {tier.name: everything for tier in planned.postponed}
        if not waiting:
            break
    assert ran == {tier.name for tier in TIERS}
    assert changes > 2


def test_what_a_change_touches_runs_first_and_of_that_what_was_postponed(imports: Imports) -> None:
    """So a small change is checked at once, and of large ones in a row each runs other tiers."""
    (own,) = (tier for tier in TIERS if tier.name == RULES["partitioners/key_hashes.py"])
    everything = {"requirements.txt": True}
    waiting = {tier.name: everything for tier in TIERS if tier is not own}
    assert own in plan({"rebalance_sim/kafka/partitioners/key_hashes.py": True}, 0, imports, waiting).in_full
    assert own not in plan(everything, 0, imports, waiting).in_full
    of_more = {**everything, "docs/audit.md": True}
    assert plan(everything, 0, imports, {TIERS[-1].name: of_more}).in_full[TIERS[-1]] == [*of_more]


def test_a_tier_without_a_minute_left_runs_alone(imports: Imports, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.support.tiers.MINUTES", 0.0)
    assert len(plan({"requirements.txt": True}, 0, imports).in_full) == 1


def test_a_rule_of_one_tier_does_not_run_the_others_in_full(imports: Imports) -> None:
    def touched(name: str) -> set[str]:
        planned = plan({f"rebalance_sim/kafka/{name}": True}, 0, imports)
        return {tier.name for tier in (*planned.in_full, *planned.postponed) if tier.always}

    assert touched("assignors/java/range_assignor.py") == {"live: elections and consumers' assignors", "invariants"}
    assert touched("partitioners/key_hashes.py") == {"live: partitioners"}
    assert touched("runtime/hash_order.py") >= set(RULES.values()) - {"live: protocol bytes", "live: offsets topic"}


def test_without_a_change_a_part_of_the_comparisons_and_one_environment_run(imports: Imports) -> None:
    turns = Counter[str]()
    for seed in range(100):
        planned = plan({"docs/simulate.md": False, "rebalance_sim/kafka/election.py": False}, seed, imports)
        assert [tier.name for tier in planned.in_full] == ["documents"]
        assert planned.in_part == [tier for tier in TIERS if tier.always]
        assert planned.in_turn is not None
        turns[planned.in_turn.name] += 1
        named = [*planned.in_full, *planned.in_part, planned.in_turn, *planned.left_out]
        assert sorted(tier.name for tier in named) == sorted(tier.name for tier in TIERS)
        assert all(any(tier.name in line for line in planned.lines()) for tier in TIERS)
    assert turns.keys() == {tier.name for tier in TIERS if not tier.always} - {"documents"}


def test_every_test_of_make_test_real_belongs_to_one_tier() -> None:
    (real,) = re.findall(r"^REAL := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    marker = re.compile(rf"pytest\.mark\.({real.replace(' or ', '|')})\b")
    marked = [file for file in (ROOT / "tests").rglob("test_*.py") if marker.search(file.read_text())]
    assert len(marked) > 35
    assert Counter(file for tier in TIERS for file in tier.files) == {str(file.relative_to(ROOT)): 1 for file in marked}


def test_every_input_of_a_tier_exists() -> None:
    """A folder that is renamed would no longer count."""
    files = git(ROOT, "ls-files").splitlines()
    inputs = {begin for tier in TIERS for begin in (*tier.inputs, *tier.within)}
    assert [begin for begin in inputs if not any(file.startswith(begin) for file in files)] == []


def test_changes_are_those_since_the_last_commit_that_passed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not one of another branch; without one, those of HEAD itself."""
    monkeypatch.delenv("CI_BASE", raising=False)
    first = git(repository, "rev-parse", "HEAD").strip()
    assert changed_files(base(None, repository)[0], repository)["rebalance_sim/low.py"]
    second, third = commit(repository), commit(repository)
    elsewhere = "0" * 40
    assert last_passed([first, second, elsewhere], repository) == (second, {})
    assert last_passed([elsewhere], repository) == (None, {})
    assert last_passed([third], repository) == (third, {})
    postponed = f'{{"browser": "{first}", "wheel": "{elsewhere}"}}'
    assert last_passed([f"{second} {postponed}", elsewhere], repository) == (second, {"browser": first})
    assert base(None, repository)[0] == second
    assert base(third, repository)[0] == third
    monkeypatch.setenv("CI_BASE", "HEAD~2")
    assert base(second, repository) == (first, "CI_BASE")
