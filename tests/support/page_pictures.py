"""The pictures in the documentation: the page of an audit of the example capture, and cells of notebooks.

To take them again: python -m tests.support.page_pictures.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from rebalance_sim.cli import main
from rebalance_sim.engine.spark.session import session
from tests.support import notebook_pages
from tests.support.submitted_jobs import environment

DOCS = Path(__file__).parents[2] / "docs"
FLAGS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
)  # fmt: skip
PICTURES = {
    "page.png": ("", ""),
    "page-group.png": ("own-topics-roundrobin", ""),
    "page-restart.png": ("idle", ".group:target .rollout"),
}
"""By file: the group whose details are shown, none for the top of the page, and the part of the page, if not all."""
SIZE: ViewportSize = {"width": 1200, "height": 1100}
_UNTIL_FRAMES_FIT_MS = 500
NOTEBOOKS = ("notebook-classic.png", "notebook-connect.png")
"""Of the same cells in a classic session and on Spark Connect."""
SHOWN_CELLS = (1, 3)
ONLY_CELLS = """shown => document.querySelectorAll(".cell").forEach(
    (cell, place) => { cell.style.display = shown.includes(place) ? "" : "none"; })"""


def chromium() -> str | None:
    """Return the path of Chromium; None if there is none."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@contextmanager
def started_chromium() -> Iterator[Browser]:
    """Start Chromium without a window."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium(), headless=True, args=FLAGS)
        yield browser
        browser.close()


def take(browser: Browser, page: Path, folder: Path) -> None:
    """Take the pictures of a page into a folder."""
    for name, (group, part) in PICTURES.items():
        shown = browser.new_page(viewport=SIZE)
        shown.goto(page.as_uri())
        if group:
            shown.locator(".affected a", has_text=group).first.click()
        (shown.locator(part) if part else shown).screenshot(path=folder / name)
        shown.close()


def take_cells(browser: Browser, page: Path, picture: Path) -> None:
    """Take the picture of some cells of a notebook's page."""
    shown = browser.new_page(viewport=SIZE)
    shown.goto(page.as_uri())
    shown.evaluate(ONLY_CELLS, SHOWN_CELLS)
    shown.wait_for_timeout(_UNTIL_FRAMES_FIT_MS)
    shown.screenshot(path=picture, full_page=True)
    shown.close()


def write_on_connect(page: Path) -> None:
    """Write the page of a notebook on Spark Connect, in a process of its own."""
    command = [sys.executable, "-m", notebook_pages.__name__, str(page)]
    subprocess.run(command, env=os.environ | environment(), check=True)


def write_page(folder: Path) -> Path:
    """Audit the example capture into a folder, and return its page."""
    assert main(["audit", "--kafka-tools", str(DOCS / "examples" / "kafka-4.3.1"), "--out", str(folder)]) == 0
    return folder / "report.html"


if __name__ == "__main__":
    to = Path(sys.argv[1]) if sys.argv[1:] else DOCS
    with tempfile.TemporaryDirectory() as made, started_chromium() as opened:
        take(opened, write_page(Path(made) / "audit"), to)
        classic, on_connect = (Path(made) / name for name in ("classic.html", "connect.html"))
        classic.write_text(notebook_pages.page(f"Classic session, Spark {session('notebook').version}"))
        write_on_connect(on_connect)
        for name, page in zip(NOTEBOOKS, (classic, on_connect), strict=True):
            take_cells(opened, page, to / name)
