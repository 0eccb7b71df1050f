"""Report mistakes before Spark starts: all that are mistakes whatever the rows of the inputs are.

Each job has a module of its name here, with ``validate`` and the functions that read its options; the job calls these
functions too. Nothing here imports Spark's session or Kafka's rules, unless an option needs a rule.
"""

import logging
from argparse import Namespace
from collections.abc import Sequence
from importlib import import_module

from rebalance_sim.commands.validation.known_files import KnownFiles
from rebalance_sim.releases import untested

_LOG = logging.getLogger(__name__)


def validate(options: Namespace, jobs: Sequence[Namespace]) -> None:
    """Raise UserError for a mistake in the options of one of ``jobs``, or in files of this machine that they name."""
    job = import_module(f"{__name__}.{options.job}")
    earlier = jobs[: jobs.index(options)]
    job.validate(options, KnownFiles(tuple(each.out for each in earlier if "out" in each)))
    release = getattr(options, "kafka_version", None)
    warning = None if release is None else untested(release)
    if warning:
        _LOG.warning("%s", warning)
