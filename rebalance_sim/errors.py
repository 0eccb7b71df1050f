"""Errors that end a command with one line on stderr."""

from collections.abc import Sequence
from difflib import get_close_matches


class UserError(Exception):
    """A mistake in an option or an input; commands print it in one line and exit with code 2."""


class CheckError(Exception):
    """A limit of ``check`` is exceeded; the command prints it in one line and exits with code 3."""


class IncompleteError(Exception):
    """An audit could not use too much of its input; the command prints it in one line and exits with code 4."""


class NewsError(Exception):
    """An audit found something new; the command prints it in one line and exits with code 5."""


def check_choice(what: str, value: str, allowed: Sequence[str]) -> None:
    """Raise UserError for a value that is not allowed, with the nearest allowed one."""
    if value not in allowed:
        nearest = get_close_matches(value, allowed, n=1)
        hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
        raise UserError(f"{what}: {value!r} is not known{hint}; allowed: {', '.join(allowed)}")
