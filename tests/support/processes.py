"""Start processes whose output goes to a log, and end them."""

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

STOP_SECONDS = 30


def started(
    command: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    *,
    folder: Path | None = None,
    stdin: int = subprocess.DEVNULL,
    own_group: bool = False,
) -> subprocess.Popen[bytes]:
    """Start a command, whose output is appended to the log; ``own_group`` gives it a process group of its own."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=stdin,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=own_group,
        )


def ended_within(process: subprocess.Popen[Any], seconds: float) -> bool:
    """Wait so long for the end of a process, and return whether it has ended."""
    try:
        process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it does not."""
    process.terminate()
    kill_unless_ended(process, STOP_SECONDS)


def kill_unless_ended(process: subprocess.Popen[Any], seconds: float) -> None:
    """Wait so long for the end of a process, and kill it then."""
    if not ended_within(process, seconds):
        process.kill()
        process.wait()


def path_with_python(folder: Path) -> str:
    """Return a PATH of this machine's commands with its own Python, which has nothing that tests have installed."""
    commands = folder / "bin"
    python = commands / f"python{sys.version_info.major}.{sys.version_info.minor}"
    if not python.exists():
        commands.mkdir(parents=True)
        python.symlink_to(Path(sys._base_executable).resolve())  # type: ignore[attr-defined]
    return f"{commands}:/usr/bin:/bin"
