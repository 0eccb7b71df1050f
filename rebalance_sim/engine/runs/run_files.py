"""The files beside the tables in a run's folder that show whether the tables are complete."""

import json
from typing import Any

from rebalance_sim.engine.runs.files import Files
from rebalance_sim.errors import UserError

RECORD = "_run.json"
"""Written last: job, options, versions, row counts and assumptions."""
BEGUN = "_begun.json"
"""Exists while a run is working: the tables that it replaces, and its process."""


def unfinished_job(files: Files, table_path: str) -> str | None:
    """Return the job that has begun to write a table and not finished, or None.

    Tables that no run wrote have no such file beside them, or are not named in it.
    """
    begun = read_beside(files, table_path, BEGUN)
    if begun is None or read_beside(files, table_path, RECORD) is not None:
        return None
    return begun["job"] if table_path.rstrip("/").rpartition("/")[2] in begun["replaces"] else None


def read_beside(files: Files, table_path: str, name: str) -> dict[str, Any] | None:
    """Read the file of this name beside a table; None if there is none.

    Raises UserError if a run did not write it.
    """
    folder, slash, _ = table_path.rstrip("/").rpartition("/")
    return read_json(files, f"{folder}{slash}{name}")


def read_json(files: Files, path: str) -> dict[str, Any] | None:
    """Read a file that a run writes about itself; None if there is none. Raises UserError if it is no JSON object."""
    text = files.text(path)
    if text is None:
        return None
    try:
        content = json.loads(text)
    except ValueError as problem:
        raise UserError(f"{path}: is not JSON, so no run wrote it: {problem}") from problem
    if not isinstance(content, dict):
        raise UserError(f"{path}: is not a JSON object, so no run wrote it")
    return content
