"""What becomes of a real capture on its way: its text is shifted, cut, lost, merged or wrapped, and encoded."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

CAPTURE = Path(__file__).parents[2] / "docs" / "examples" / "kafka-4.3.1"
_FEW = ("backfill", "billing", "idle", "next-generation", "static-tills", "web shop (blue/green)")
Texts = dict[str, str]
"""The text of each file."""


def capture() -> Texts:
    """Return the files of the capture as they are."""
    return {file.name: file.read_text() for file in sorted(CAPTURE.glob("*.txt"))}


def small_capture() -> Texts:
    """Return the files with the tables of a few groups: one with spaces in its id, one without members, and others."""
    return {name: "\n\n".join(filter(_is_kept, text.split("\n\n"))) for name, text in capture().items()}


def _is_kept(block: str) -> bool:
    """Return whether a block of text is no table of a group, or that of one of the few."""
    return not block.startswith("GROUP ") or any(f"\n{group} " in block for group in _FEW)


def _shifted(text: str, rng: random.Random) -> str:
    """Every run of spaces has another length, but no column is glued to the next."""
    return re.sub(r"(?<=\S) {2,}(?=\S)", lambda _: " " * rng.randint(2, 9), text)


def _cut(text: str, rng: random.Random) -> str:
    """One line in four ends early."""
    return "\n".join(line[: rng.randint(0, len(line))] if rng.random() < 0.25 else line for line in text.split("\n"))


def _lost(text: str, rng: random.Random) -> str:
    return "\n".join(line for line in text.split("\n") if rng.random() > 0.2)


def _single_spaced(text: str, _: random.Random) -> str:
    return re.sub(" {2,}", " ", text)


def _headless(text: str, rng: random.Random) -> str:
    return "\n".join(line for line in text.split("\n") if not line.startswith("GROUP") or rng.random() < 0.5)


def _merged(text: str, rng: random.Random) -> str:
    """The tables of a file are pasted in another order, some of them twice."""
    blocks = text.split("\n\n")
    return "\n\n".join(rng.sample(blocks, len(blocks)) + rng.sample(blocks, len(blocks) // 3))


def _wrapped(text: str, _: random.Random) -> str:
    """A terminal of 100 columns has broken the lines."""
    return "\n".join(part for line in text.split("\n") for part in (re.findall(".{1,100}", line) or [""]))


_CHANGES: dict[str, Callable[[str, random.Random], str]] = {
    "shifted": _shifted,
    "cut": _cut,
    "lost": _lost,
    "single-spaced": _single_spaced,
    "headless": _headless,
    "merged": _merged,
    "wrapped": _wrapped,
}
_ENCODINGS = ("utf-8", "utf-8-sig", "utf-16")


class Mutilated(NamedTuple):
    """A capture of which something was lost or changed."""

    change: str
    seed: int

    def __str__(self) -> str:
        return f"{self.change}-{self.seed}"

    @property
    def encoding(self) -> str:
        """The encoding of its files."""
        return _ENCODINGS[self.seed % len(_ENCODINGS)]

    def of(self, texts: Texts) -> Texts:
        """Return what is left of these files."""
        rng = random.Random(self.seed)
        return {name: _CHANGES[self.change](text, rng) for name, text in texts.items()}


MUTILATED = [Mutilated(change, seed) for change in _CHANGES for seed in range(8)]
