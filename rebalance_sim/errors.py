"""What ends a command with a line of its own."""

from collections.abc import Sequence
from difflib import get_close_matches


class UserError(Exception):
    """A mistake in an option or an input, told in one line; the commands end with exit code 2."""


class CheckError(Exception):
    """More was found than a check allows, told in one line; the command ends with exit code 3."""


def check_choice(what: str, value: str, allowed: Sequence[str]) -> None:
    """Raise UserError, with the nearest allowed value, for one that is not allowed."""
    if value not in allowed:
        nearest = get_close_matches(value, allowed, n=1)
        hint = f" (did you mean {nearest[0]!r}?)" if nearest else ""
        raise UserError(f"{what}: {value!r} is not known{hint}; allowed: {', '.join(allowed)}")
