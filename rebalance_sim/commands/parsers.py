"""The parser of the command line: one parser for each job, and one line for each mistake."""

from argparse import Action, ArgumentParser, Namespace
from collections.abc import Sequence
from importlib.metadata import version
from itertools import takewhile
from typing import Any, NoReturn

import shtab
from rich_argparse import RawDescriptionRichHelpFormatter

from rebalance_sim.commands.job_options import JOBS, OptionGroups, add_operation_options
from rebalance_sim.errors import UserError, check_choice

_PROGRAM = "rebalance-sim"
_COMPLETED = {"PATH": shtab.FILE, "FILE": shtab.FILE, "DIR": shtab.DIRECTORY}
"""What a shell completes for an option, by its metavar."""


class _Help(RawDescriptionRichHelpFormatter):
    """Colours on a terminal; brackets in texts are no markup."""

    help_markup = text_markup = False
    group_name_formatter = str


class _Parser(ArgumentParser):
    """Reports a mistake in one line, with the nearest valid name.

    Abbreviations are not allowed: each new option could change their meaning.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(formatter_class=_Help, allow_abbrev=False, **settings)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Namespace | None = None
    ) -> tuple[Namespace, list[str]]:
        """Check the names of options first: a misspelled one is more helpful than the one that is missing then."""
        given = list(args or ())
        # Behind the name of a job, the options are the job's.
        own = takewhile(lambda arg: arg.startswith("-"), given) if self._subparsers else given
        for option in (arg.partition("=")[0] for arg in own if arg.startswith("--")):
            check_choice("option", option, [name for name in self._option_string_actions if name.startswith("--")])
        return super().parse_known_args(args, namespace)

    def _check_value(self, action: Action, value: Any) -> None:
        if action.choices is not None:
            check_choice(str([*action.option_strings, action.metavar][0]), value, list(action.choices))

    def error(self, message: str) -> NoReturn:
        """Raise UserError instead of printing the usage, which would be longer than a screen."""
        raise UserError(f"{message}; see {self.prog} --help")


def parsers() -> tuple[ArgumentParser, dict[str, ArgumentParser]]:
    """Return the parser, and those of the jobs."""
    parser = _Parser(
        prog=_PROGRAM,
        usage="%(prog)s JOB [OPTION ...] [then JOB [OPTION ...] ...]",
        description="Predict what Kafka does with a fleet of consumer groups and with the records that producers send.",
        epilog=f"{_PROGRAM} JOB --help lists the options of a job.\n"
        "Jobs separated by the word `then` run in one Spark session, until one fails.",
    )
    parser.add_argument("--version", action="version", version=f"{_PROGRAM} {version('rebalance-sim')}")
    shtab.add_argument_to(parser, "--print-completion", help="print a completion script for this shell")
    of_jobs = parser.add_subparsers(dest="job", required=True, metavar="JOB", title="Jobs", prog=_PROGRAM)
    jobs: dict[str, ArgumentParser] = {}
    for name, job in JOBS.items():
        jobs[name] = of_jobs.add_parser(
            name,
            usage="%(prog)s [OPTION ...]",
            help=job.summary,
            description=f"{job.summary[0].upper()}{job.summary[1:]}.",
            epilog="\n".join(["Examples:", *(f"  {_PROGRAM} {name} {example}" for example in job.examples)]),
        )
        groups = OptionGroups.of(jobs[name])
        job.add_options(groups)
        add_operation_options(groups)
        for action in jobs[name]._actions:
            _finish(action)
    return parser, jobs


def _finish(action: Action) -> None:
    """Mark a required option in its help, and let shells complete paths."""
    if action.required:
        action.help = f"{action.help} (required)"
    if str(action.metavar) in _COMPLETED:
        action.complete = _COMPLETED[str(action.metavar)]  # type: ignore[attr-defined]
