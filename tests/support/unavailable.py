"""What a machine may lack, on which tests are skipped (``tests/conftest.py``)."""


class Unavailable(Exception):  # noqa: N818 - a reason to skip, not a fault
    """A program, library or registry that this machine lacks; the message names what is missing."""
