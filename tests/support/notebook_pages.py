"""A page that shows cells and their results as a notebook does: the calls of docs/notebooks.md.

Run as a program, with the file to write, it uses Spark Connect, which needs a process of its own.
"""

import ast
import re
import sys
from html import escape
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from rebalance_sim.engine.spark.session import FOR_FEW_ROWS
from tests.support.spark_settings import FOR_A_SHORT_LIFE

NOTEBOOKS = Path(__file__).parents[2] / "docs" / "notebooks.md"
_STYLE = (
    "body{font:15px/1.5 sans-serif;margin:24px;color:#333}"
    "pre{background:#f6f6f6;border:1px solid #ddd;padding:8px 12px}"
    "table{border:4px solid red}h3,p,a{color:red;letter-spacing:4px}"
)
"""Styles of a notebook. No text or table in a frame may be red."""


def cells() -> list[str]:
    """Return the cells of the page."""
    return re.findall(r"^```python\n(.*?)^```$", NOTEBOOKS.read_text(), re.MULTILINE | re.DOTALL)


def results() -> list[tuple[str, Any]]:
    """Run the cells one after the other; return each with the value of its last line, None without one."""
    names: dict[str, Any] = {}
    found = []
    for cell in cells():
        *first, last = ast.parse(cell).body
        is_value = isinstance(last, ast.Expr)
        exec(compile(ast.Module([*first, *([] if is_value else [last])], []), "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if isinstance(last, ast.Expr) else None
        found.append((cell, value))
    return found


def page(title: str) -> str:
    """Return the page of the cells' results in the session of this process."""
    drawn = [
        f"<div class=cell><pre>{escape(cell)}</pre>{'' if value is None else value._repr_html_()}</div>"
        for cell, value in results()
    ]
    head = f'<meta charset="utf-8"><title>Notebook</title><style>{_STYLE}</style>'
    return f'<!DOCTYPE html><html lang="en">{head}<b>{escape(title)}</b>{"".join(drawn)}</html>'


if __name__ == "__main__":
    on_connect = SparkSession.builder.remote("local[1]").config(map={**FOR_A_SHORT_LIFE, **FOR_FEW_ROWS}).getOrCreate()
    Path(sys.argv[1]).write_text(page(f"Spark Connect, Spark {on_connect.version}"))
    on_connect.stop()
