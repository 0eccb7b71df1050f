"""The commands that reproduce what a page shows of a group."""

import shlex
from collections.abc import Mapping
from typing import Any

from rebalance_sim.defaults import SCENARIO

_DEFAULTS = {"kafka_version", "scala_version", "client_version", "clusters", "assignors"}
_COMMAND = "rebalance-sim"


def command_of(family: str, options: Mapping[str, Any], group: str, cluster: str) -> str:
    """Return the command that reproduces a finding, from its family and the options of the audit.

    >>> command_of("elections", {"members": "out/fleet/members", "out": "out"}, "my group", "default")
    "rebalance-sim explain election --members out/fleet/members --cluster default --group 'my group'"
    """
    rules = [part for name in sorted(_DEFAULTS) if options.get(name) for part in (_option(name), str(options[name]))]
    members, topics = (["--" + name, str(options.get(name) or "")] for name in ("members", "topics"))
    match family:
        case "elections":
            parts = ["explain", "election", *members, "--cluster", cluster, "--group", group, *rules]
        case "balance":
            parts = ["assign", *topics, *members, "--strategy", "all", *rules, "--out", "assigned"]
        case "rollouts":
            played = ["--scenario", str(options.get("scenario") or SCENARIO), "--advice", "--follow", group]
            parts = ["simulate", *topics, *members, *played, *rules, "--out", "simulated"]
        case "keys":
            records = ["--records", str(options.get("records") or "")]
            parts = ["partition", *topics, *records, "--out", "placed"]
        case _:
            parts = ["report", "--runs", str(options.get("out") or ""), "--groups", group, "--out", "page"]
    return shlex.join([_COMMAND, *parts])


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
