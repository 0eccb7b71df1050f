"""Reads the thresholds of audits: files like ``conf/audit.yaml``."""

from dataclasses import fields
from typing import Annotated

from msgspec import Meta, Struct, defstruct
from msgspec.structs import asdict

from rebalance_sim.engine.audit.thresholds import Thresholds
from rebalance_sim.sources.yaml_checks import read_as
from rebalance_sim.sources.yaml_files import read_yaml

_MOST = 10**12
_Count = Annotated[int, Meta(ge=1, le=_MOST)]
_Share = Annotated[float, Meta(ge=0, le=1)]
ThresholdsFile: type[Struct] = defstruct(
    "ThresholdsFile",
    [(of.name, _Share if of.name.endswith("_share") else _Count, of.default) for of in fields(Thresholds)],
    frozen=True,
    forbid_unknown_fields=True,
)
"""Thresholds that are not given have their defaults."""


def read_thresholds(path: str) -> Thresholds:
    """Read the thresholds of a file; without a path, return the defaults.

    Raises UserError for a file that cannot be read, and for a key or a value that is not allowed.

    >>> read_thresholds("conf/audit.yaml") == read_thresholds("") == Thresholds()
    True
    """
    if not path:
        return Thresholds()
    return Thresholds(**asdict(read_as(read_yaml(path), ThresholdsFile)))
