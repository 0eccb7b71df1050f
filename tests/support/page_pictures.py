"""The pictures of the page in the documentation: the page of an audit of the example capture.

To take them again: python -m tests.support.page_pictures.
"""

import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, ViewportSize, sync_playwright

from rebalance_sim.cli import main

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


def write_page(folder: Path) -> Path:
    """Audit the example capture into a folder, and return its page."""
    assert main(["audit", "--kafka-tools", str(DOCS / "examples" / "kafka-4.3.1"), "--out", str(folder)]) == 0
    return folder / "report.html"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as made, started_chromium() as opened:
        take(opened, write_page(Path(made) / "audit"), Path(sys.argv[1]) if sys.argv[1:] else DOCS)
