"""Programs that are built once on a machine from exactly the same sources, whatever clone asks for them first."""

import fcntl
import hashlib
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def kept(name: str) -> Path:
    """Return a folder outside of the clone."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(caches) / "rebalance_sim" / "tests" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def copied(name: str, root: Path, sources: Iterable[Path]) -> Path:
    """Return a folder with a copy of the files below ``root``, to build in.

    Its name has a hash of their paths and contents: other sources get another folder.
    """
    files = {str(path.relative_to(root)): path for path in sources if path.is_file()}
    digest = hashlib.sha256()
    for place in sorted(files):
        digest.update(f"{place}\0{hashlib.sha256(files[place].read_bytes()).hexdigest()}\0".encode())
    folder = kept(name) / digest.hexdigest()[:16]
    with locked(folder):
        if not folder.exists():
            unfinished = folder.with_suffix(".unfinished")
            for place, path in files.items():
                (unfinished / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, unfinished / place)
            unfinished.rename(folder)
    return folder


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let only one of several processes build in a folder."""
    with folder.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
