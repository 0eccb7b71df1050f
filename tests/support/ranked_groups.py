"""The groups of an audit in the order in which it names them."""

import re
from pathlib import Path

import pyarrow.parquet as pq


def ranked(out: Path) -> list[str]:
    """Return the groups in the order of their ranks in ``verdicts``."""
    return [row["group_id"] for row in pq.read_table(out / "verdicts").sort_by("rank").to_pylist()]


def on_console(printed: str) -> list[str]:
    """Return the groups in the order in which the console names them first."""
    return list(dict.fromkeys(re.findall(r"^    ([\w-]+): ", printed, re.MULTILINE)))


def on_page(out: Path) -> list[str]:
    """Return the groups in the order in which the page says first what to do about them."""
    shown = (out / "report.html").read_text().partition('id="what-to-do"')[2]
    linked = re.findall(r'<a [^>]*href="#group-\d+"[^>]*>.*?([\w-]+)(?:</bdi>)?</a>', shown)
    return list(dict.fromkeys(linked))
