"""What went wrong on the user's side of the program."""


class UserError(Exception):
    """A mistake in an option or an input, told in one line; the commands end with exit code 2."""
