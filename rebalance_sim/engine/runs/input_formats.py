"""Recognize the formats of input files by their names or first bytes; reject wrong files before Spark reads them."""

from rebalance_sim.defaults import AUTO
from rebalance_sim.engine.runs.files import Files, read_by_spark
from rebalance_sim.engine.runs.run_files import unfinished_job
from rebalance_sim.errors import UserError

TEXT = "text"
"""The format of lines of any content."""

_FORMATS = {"json": "json", "jsonl": "json", "ndjson": "json", "csv": "csv", "parquet": "parquet", "orc": "orc"}
"""By file extension; that of a compression may follow."""
_BINARY = {b"PAR1": "parquet", b"ORC": "orc"}
"""By the first bytes of a file."""
_SAMPLE_BYTES = 1024


def format_of(path: str, usual: str) -> str:
    """Return the format that a file name's extension implies, or else ``usual``.

    >>> format_of("plans/events.json.gz", "parquet"), format_of("out/events", "parquet")
    ('json', 'parquet')
    """
    names = path.rstrip("/").rpartition("/")[2].lower().split(".")[1:]
    return next((_FORMATS[name] for name in reversed(names) if name in _FORMATS), usual)


def input_format(files: Files, table: str, path: str, asked: str) -> str:
    """Return the format of an input, by its name or, if the name shows none, the format that is asked for.

    With ``AUTO``, the first bytes decide where the name does not. Raises UserError for a path that does not exist, for
    files without content, for a table of a run that has not finished, and if the first bytes contradict both the name
    and the format that is asked for; the error names the right option.
    """
    unfinished = unfinished_job(files, path)
    if unfinished is not None:
        raise UserError(
            f"{table}: {path!r} belongs to a run of {unfinished} that has not finished; wait for that run or repeat it"
        )
    if asked not in (AUTO, TEXT, *_FORMATS.values()):
        return format_of(path, asked)
    try:
        file = _first_file(files, path)
        start = files.first_bytes(file, _SAMPLE_BYTES) if file else b""
    except OSError as problem:
        raise UserError(f"{table}: cannot read {path!r}: {problem.strerror or problem}") from problem
    if file is None:
        raise UserError(f"{table}: cannot read {path!r}: it does not exist")
    if asked == TEXT or start is None:
        return format_of(path if asked == TEXT else file, asked)
    if not start.strip():
        raise UserError(f"{table}: {path!r} is empty: it has no rows and no columns")
    named, found = format_of(file, AUTO), _format_of_content(start)
    if found in (named, asked) or named == asked == AUTO:
        return found
    raise UserError(
        f"{table}: {path!r} is not {named if asked == AUTO else asked}, it looks like {found}; "
        + (f"leave out --format, or use --format {found}" if named == AUTO else f"use --format {found}")
    )


def check_exists(files: Files, what: str, path: str) -> None:
    """Raise UserError for the path of an input, other than a table, that does not exist."""
    try:
        if files.matching(path):
            return
    except OSError as problem:
        raise UserError(f"cannot read {what} {path!r}: {problem.strerror or problem}") from problem
    raise UserError(f"cannot read {what} {path!r}: it does not exist")


def _first_file(files: Files, path: str) -> str | None:
    """Return the first file of a path that has content, else an empty name; None if nothing exists there."""
    matched = files.matching(path)
    if not matched:
        return None
    return next((file for each in matched for file, size in read_by_spark(files, each) if size), "")


def _format_of_content(start: bytes) -> str:
    r"""Return the format of a file that begins with these bytes.

    >>> _format_of_content(b"PAR1\x15"), _format_of_content(b' {"topic": "t"}'), _format_of_content(b"topic,partitions")
    ('parquet', 'json', 'csv')
    """
    for magic, name in _BINARY.items():
        if start.startswith(magic):
            return name
    return "json" if start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b"{", b"[")) else "csv"
