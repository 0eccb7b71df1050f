"""Validate the options of ``report``."""

from argparse import Namespace
from importlib.util import find_spec

from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.errors import UserError

_OPTIONAL = {"vl_convert", "jinja2"}


def validate(options: Namespace, known: KnownFiles) -> None:
    """Raise UserError for a mistake that shows without reading tables, and if a library is missing."""
    known.runs("--runs", options.runs)
    missing = missing_library()
    if missing:
        raise UserError(
            f"report needs vl-convert and Jinja2, and {missing} is missing: pip install rebalance-sim[report]"
        )
    known.check_out(options)


def missing_library() -> str | None:
    """Return the name of a library that only pages need and that is missing; None if there is none."""
    return next((name for name in sorted(_OPTIONAL) if find_spec(name) is None), None)
