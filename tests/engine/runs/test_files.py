"""Files of this machine are what Hadoop finds there."""

import bz2
import gzip
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.engine.runs.files import Files, LocalFiles, read_by_spark
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles

JSON = '{"topic": "t", "partitions": 3}\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write plain, compressed, hidden and linked files."""
    folder = tmp_path_factory.mktemp("files")
    (folder / "inner").mkdir()
    for name in ("plain", "_SUCCESS", ".hidden", "inner/ä b.json"):
        (folder / name).write_text(JSON)
    (folder / "a.gz").write_bytes(gzip.compress(JSON.encode()))
    (folder / "b.bz2").write_bytes(bz2.compress(JSON.encode()))
    (folder / "linked").symlink_to(folder / "inner")
    return folder


def paths_below(files: Files, path: str) -> list[tuple[str, int]]:
    return sorted((file.removeprefix("file:"), size) for file, size in files.below(path))


def visible(files: Files, path: str) -> list[str]:
    return sorted(file.removeprefix("file:") for file, _ in read_by_spark(files, files.matching(path)[0]))


ASKED: dict[str, Callable[[Files, str], object]] = {
    "exists": lambda files, path: files.exists(path),
    "is_file": lambda files, path: files.exists(path) and files.is_file(path),
    "names_in": lambda files, path: files.exists(path) and not files.is_file(path) and files.names_in(path),
    "text": lambda files, path: files.text(path) if path.endswith(("plain", "none")) else None,
    "matching": lambda files, path: [found.removeprefix("file:") for found in files.matching(path)],
    "below": lambda files, path: files.exists(path) and paths_below(files, path),
    "visible": lambda files, path: files.exists(path) and visible(files, path),
    "first_bytes": lambda files, path: files.exists(path) and files.is_file(path) and files.first_bytes(path, 20),
    "full": lambda files, path: files.full(path),
}


@pytest.mark.parametrize("name", ["", "/plain", "/a.gz", "/b.bz2", "/inner", "/linked", "/none", "/plain/none"])
@pytest.mark.parametrize("asked", ASKED)
def test_the_answers_are_those_of_hadoop(spark: SparkSession, folder: Path, name: str, asked: str) -> None:
    answers = [ASKED[asked](files, f"{folder}{name}") for files in (LocalFiles(), HadoopFiles(spark))]
    assert answers[0] == answers[1]


def test_what_cannot_be_read_is_an_os_error(spark: SparkSession, folder: Path) -> None:
    for files in (LocalFiles(), HadoopFiles(spark)):
        with pytest.raises(OSError, match="none"):
            list(files.below(f"{folder}/none"))
