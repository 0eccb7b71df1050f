"""A record is all that the program knows of a client library: an invented one is found everywhere."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from rebalance_sim.kafka.clients import JAVA, LIBRARIES
from rebalance_sim.kafka.clients.library import REBALANCE_TIMEOUT, ClientLibrary, LibraryAssignor

PAGE = Path(__file__).parents[3] / "docs" / "other-libraries.md"
WITH_AN_INVENTED_LIBRARY = """
import contextlib, io, json
from rebalance_sim.kafka.clients import LIBRARIES, refused_by_default
from rebalance_sim.kafka.clients.library import *
from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import *

LIBRARIES["samara"] = ClientLibrary(
    "samara",
    client_ids=r"samara/(?P<release>[0-9.]+)",
    default_protocols=(((0,), ("dealt",)), ((2, 0), ("dealt", "range"))),
    subscriptions=Subscriptions((1,), lambda protocol, sent: sent.content.user_data == b"dealt", end_early=True),
    assignors=(
        LibraryAssignor(
            "dealt",
            "samara-dealt",
            Rules("rebalance_sim.kafka.assignors.java.round_robin_assignor"),
            earlier=(Earlier((2, 0), "samara-1.0-dealt", Rules("rebalance_sim.kafka.assignors.java.range_assignor")),),
            since=Since((1, 5), "it threw dice"),
            in_brokers_order=True,
        ),
        LibraryAssignor(
            "cooperative-sticky",
            "samara-cooperative-sticky",
            unpredictable="it throws dice",
            guarantee=Guarantee.LEAST_LOADED,
            reports_owned=False,
            adds_user_data=True,
        ),
    ),
    settings={ASSIGNORS: "samara.Dealers", SESSION_TIMEOUT: "samara.Session"},
    consumer_protocol_since=(3, 0),
    mixes_assignors=False,
    assigns_leaders_topics=True,
    names_its_group=lambda client_id, group_id, instance_id: client_id == f"samara of {group_id}",
    partitioners=(Client("samara-crc32", KeyHash.CRC32, Unkeyed.RANDOM),),
)

from rebalance_sim.cli import main
from rebalance_sim.commands.job_options import JOBS
from rebalance_sim.kafka.assignors import CLIENTS_ASSIGNORS
from rebalance_sim.kafka.assignors.by_library import *
from rebalance_sim.kafka.assignors.resolved import Assignors
from rebalance_sim.kafka.brokers import Brokers
from rebalance_sim.kafka.clients.assumed_protocols import Offer, offered_protocols
from rebalance_sim.kafka.clients.recognition import Signs, recognize
from rebalance_sim.kafka.group_kinds import GroupKind
from rebalance_sim.kafka.migration import MigratingGroup, migration
from rebalance_sim.kafka.partitioners.clients import CLIENTS
from rebalance_sim.kafka.wire.consumer_protocol import decode_sent_subscription
from rebalance_sim.preparation import Others
from rebalance_sim.releases import kafka_version
from rebalance_sim.sources.assumptions import LIBRARY_DEFAULTS

def help_of(job):
    with contextlib.redirect_stdout(io.StringIO()) as printed, contextlib.suppress(SystemExit):
        main([job, "--help"])
    return " ".join(printed.getvalue().split())

sent = decode_sent_subscription(bytes.fromhex("0001 00000001 000174 00000005") + b"dealt")
SAMARA = Leader("samara", "2.0")
resolved = Assignors(kafka_version("4.3")).of_leader("cooperative-sticky", SAMARA, True)
Others(libraries=["samara"]).check()
print(json.dumps({
    "client id": recognize(Signs("g", "m", "samara/2.1")),
    "group": recognize(Signs("g", "m", "samara of g")),
    "protocol": recognize(Signs("g", "m", "app", protocols=("dealt",))),
    "bytes": recognize(Signs("g", "m", "app", protocols=("own",), subscription=sent)),
    "readable": is_readable_for_java("samara"),
    "defaults": [offered_protocols([Offer(Leader("samara", each))], None)[0].protocols for each in ("1.9", "2.0", "")],
    "assumption": LIBRARY_DEFAULTS["samara", ("dealt",)],
    "refused": "samara" in refused_by_default(["roundrobin"]) and "samara" not in refused_by_default(["dealt"]),
    "strategies": [name for name in CLIENTS_ASSIGNORS if name.startswith("samara")],
    "prepared": [job[-1] for job in Others(libraries=["samara"]).jobs],
    "releases": [leaders_assignor("dealt", Leader("samara", release)).name for release in ("1.9", "2.0", "")],
    "too old": leaders_assignor("dealt", Leader("samara", "1.4")).problem,
    "predictable": predictable_protocols("samara"),
    "topics": "samara" in ASSIGN_LEADERS_TOPICS,
    "guarantee": GUARANTEES["samara-cooperative-sticky"].name,
    "unpredictable": resolved.problem,
    "bounds": [resolved.guarantee.name, resolved.protocol.name],
    "told": [f(name, "cooperative-sticky") for f, name in ((tells_owned, "samara"), (adds_user_data, SAMARA))],
    "migration": migration(MigratingGroup(GroupKind.CONSUMERS, "range", (SAMARA,), 0), Brokers("4.3")).reason,
    "client": CLIENTS["samara-crc32"].hash.name,
    "help": ["samara-1.0-dealt" in help_of("assign"), "samara-crc32" in help_of("partition")],
}))
"""


def test_an_invented_library_is_found_everywhere() -> None:
    command = [sys.executable, "-c", WITH_AN_INVENTED_LIBRARY]
    printed = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert json.loads(printed) == {
        "client id": ["samara", "2.1", "client id"],
        "group": ["samara", "", "client id"],
        "protocol": ["samara", "", "protocol dealt"],
        "bytes": ["kafka-go;platformatic-kafka;samara", "", "subscription bytes"],
        "readable": False,
        "defaults": [["dealt"], ["dealt", "range"], ["dealt", "range"]],
        "assumption": "the protocols of {} are unknown; samara's default, dealt, is used",
        "refused": True,
        "strategies": ["samara-dealt", "samara-1.0-dealt"],
        "prepared": ["samara-dealt", "samara-1.0-dealt"],
        "releases": ["samara-1.0-dealt", "samara-dealt", "samara-dealt"],
        "too old": "samara: dealt before 1.5 cannot be predicted: it threw dice",
        "predictable": ["dealt"],
        "topics": True,
        "guarantee": "LEAST_LOADED",
        "unpredictable": "samara: cooperative-sticky cannot be predicted: it throws dice",
        "bounds": ["LEAST_LOADED", "COOPERATIVE"],
        "told": [False, True],
        "migration": "stop all members first: the coordinator cannot read the subscription of 1 member (samara); "
        "after an upgrade of samara to 3.0 (1 member)",
        "client": "CRC32",
        "help": [True, True],
    }


def test_the_names_of_libraries_are_read_without_numpy() -> None:
    """``--help`` lists them, and answers at once."""
    code = "import sys, rebalance_sim.kafka.clients\nsys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize("library", LIBRARIES.values(), ids=LIBRARIES)
def test_records_hold_together(library: ClientLibrary) -> None:
    releases = [since for since, _ in library.default_protocols]
    assert releases == sorted(releases)
    assert releases[0] == (0,)
    assert library.name == JAVA or all(library.assignor(protocol) for protocol in library.protocols_of((99,)))
    assert library.settings.keys() <= LIBRARIES[JAVA].settings.keys() | {REBALANCE_TIMEOUT}
    for rules in library.strategies.values():
        assert callable(getattr(import_module(rules.module), rules.function))


@pytest.mark.parametrize("assignor", [each for library in LIBRARIES.values() for each in library.assignors])
def test_an_assignor_has_rules_or_a_reason_why_not(assignor: LibraryAssignor) -> None:
    assert (assignor.rules is None) == bool(assignor.unpredictable)
    # The members of a group under ruby-kafka's "standard" do not name the topics that they consume.
    unbounded = assignor.strategy == "ruby-kafka-standard"
    assert assignor.rules is not None or (assignor.guarantee is None) == unbounded


OTHERS = [name for name in LIBRARIES if name != JAVA]


@pytest.mark.parametrize("library", [LIBRARIES[name] for name in OTHERS], ids=OTHERS)
def test_the_documented_assignors_are_those_of_the_record(library: ClientLibrary) -> None:
    row = re.search(rf"^\| `{library.name}` \| (.*) \| (.*)\|$", PAGE.read_text(), re.MULTILINE)
    assert row is not None
    predicted, unpredicted = row.groups()
    names = {each.protocol: each.rules is not None for each in library.assignors}
    assert set(re.findall("`(.*?)`", predicted)) == {name for name, is_predicted in names.items() if is_predicted}
    assert {name for name, is_predicted in names.items() if not is_predicted} <= set(re.findall("`(.*?)`", unpredicted))
    assert set(re.findall("`(.*?)`", unpredicted)) <= names.keys()
    changed = [earlier.before for each in library.assignors for earlier in each.earlier]
    changed += [each.since.release for each in library.assignors if each.since]
    releases = {".".join(map(str, release)) for release in changed}
    assert releases <= set(re.findall(r"\d+(?:\.\d+)+", predicted))
