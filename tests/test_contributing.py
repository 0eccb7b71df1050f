"""What CONTRIBUTING.md, the Makefile and the pre-commit hooks say of each other."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[1]
MAKEFILE = (ROOT / "Makefile").read_text()


def test_pre_commit_runs_the_checks_of_make_lint() -> None:
    recipe = re.findall(r"^lint:.*\n((?:\t.+\n)+)", MAKEFILE, re.MULTILINE)[0]
    commands = [line.strip().replace("$(BIN)", ".venv/bin") for line in recipe.splitlines()]
    (repository,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    hooks = repository["hooks"]
    assert [hook["entry"] for hook in hooks] == commands
    # All files, as make does: mypy's verdict on one file depends on the others.
    assert all(hook["pass_filenames"] is False and hook["language"] == "system" for hook in hooks)


def test_the_paths_and_targets_in_contributing_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    paths = re.findall(r"(?:rebalance_sim|tests|docs|conf|\.ci)/[\w./-]*\w", text)
    assert len(paths) > 15
    assert [path for path in paths if not (ROOT / path).exists()] == []
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z-]+)", text)) <= targets
