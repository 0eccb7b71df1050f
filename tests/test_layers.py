"""Imports point down only, as docs/architecture.md shows the layers, and never in a circle."""

import ast
import subprocess
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "rebalance_sim"
LAYERS = (
    ("errors", "logs", "wording", "defaults"),
    ("releases",),
    ("kafka",),
    ("explanations",),
    ("tables",),
    ("engine",),
    ("sources",),
    ("report", "api"),
    ("commands",),
)
"""From the bottom to the top; above them are the modules that only start a program, and the package itself."""


def module_of(file: Path) -> str:
    return ".".join(["rebalance_sim", *file.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


FILES = {module_of(file): file for file in PACKAGE.rglob("*.py")}


@cache
def tree(module: str) -> ast.Module:
    return ast.parse(FILES[module].read_text())


def imported(module: str, at_import: bool = False) -> set[str]:
    """Return the names of the modules that a module imports; ``at_import``: only those that it loads with itself."""
    found = set()
    for node in tree(module).body if at_import else ast.walk(tree(module)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # A name is a module of its own, or else lies in the module that it is imported from.
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in FILES else node.module for name in names}
    return found


def layer(module: str) -> int:
    part = [*module.split("."), "__init__"][1]
    return next((height for height, parts in enumerate(LAYERS) if part in parts), len(LAYERS))


def test_no_import_points_up() -> None:
    up = [
        f"{module} imports {target}"
        for module in FILES
        for target in imported(module) & FILES.keys()
        if layer(target) > layer(module)
    ]
    assert up == []


def test_no_modules_import_each_other() -> None:
    TopologicalSorter({module: imported(module, at_import=True) & FILES.keys() for module in FILES}).prepare()


def test_kafkas_rules_need_no_spark() -> None:
    names = [module for module in FILES if module.startswith("rebalance_sim.kafka")]
    code = f"import sys, {', '.join(names)}\nsys.exit('pyspark' in sys.modules or 'py4j' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
