"""The files of this machine that a table was read from."""

from urllib.parse import unquote, urlparse

from pyspark.sql import DataFrame


def local_files(rows: DataFrame) -> list[str] | None:
    """Return the paths of a table's files; None if some are not on this machine."""
    urls = [urlparse(url) for url in rows.inputFiles()]
    return [unquote(url.path) for url in urls] if all(url.scheme == "file" for url in urls) else None
