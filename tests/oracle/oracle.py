"""Build the Maven project beside this file, and ask it for the answers of Kafka's released classes.

It is built in a copy that all clones on this machine share.
"""

import functools
import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any

from tests.support.built_once import copied, kept, locked
from tests.support.maven import SHORT_LIFE, maven_environment
from tests.support.unavailable import Unavailable

_HERE = Path(__file__).resolve().parent
VERSIONS = ("1.0", "2.3", "3.9", "4.3")
PRODUCER_VERSIONS = ("1.0", "2.3", "2.8", "3.9", "4.3")
"""Releases that represent the rules of producers; 2.8 has no other cases."""
GOLDEN_PRODUCERS = ("2.3", "2.8", "4.3")
"""One release of each generation of their rules; the live tests cover the others."""
DEFAULT_PARTITIONER_VERSIONS = ("1.0", "2.3", "2.8", "3.9")
BUILT_IN_PARTITIONER_VERSIONS = ("3.9", "4.3")
_SINCE_2_4 = ("2.4.0", "2.5.1", "2.8.1", "3.0.0", "3.4.1", "3.5.0", "3.5.2", "3.7.1", "4.4.0")
CLIENT_RULES = {
    "range": ("0.11.0.3", "2.1.1", "2.4.0", "3.5.0", "4.4.0"),
    "roundrobin": ("0.11.0.3", "2.4.0", "4.4.0"),
    "sticky": ("0.11.0.3", "2.1.1", "2.3.0", *_SINCE_2_4),
    "cooperative-sticky": _SINCE_2_4,
}
"""For each assignor of consumers, the releases at which its rules change, and the newest."""
SERVER_VERSIONS = ("4.0", "4.3")
"""Releases that represent the rules of the server-side assignors since 4.0: 4.0.0, and 4.0.1 and later."""
SERVER_RULES = {
    "server-range": ("3.7.0", "3.9.0", "4.4.0"),
    "server-uniform": ("3.7.0", "3.8.0", "4.0.0", "4.0.1", "4.4.0"),
}
"""The same of the coordinator's assignors (KIP-848)."""
SHARE_RELEASES = ("4.0.2", "4.1.2", "4.2.2", "4.3.1", "4.4.0")
"""Releases with the assignor of share groups (KIP-932), whose rules change with 4.1 and 4.2."""
SHARE_GROUP_RELEASES = ("4.0.0", "4.1.0", "4.2.0", "4.3.0", "4.4.0")
"""Releases that change what the coordinator of share groups (KIP-932) answers."""
STREAMS_RELEASES = ("4.1.2", "4.2.1", "4.2.2", "4.3.1", "4.4.0")
"""Releases with the task assignor of streams groups (KIP-1071), whose rules change with 4.2.0, 4.2.2, 4.3.0 and 4.4."""
STREAMS_GROUP_RELEASES = ("4.2.0", "4.2.2", "4.3.0", "4.4.0")
"""Releases that change what the coordinator of streams groups (KIP-1071) answers, or which tasks it assigns."""
STREAMS_RECORD_RELEASES = ("4.1.2", "4.2.0", "4.3.0", "4.4.0")
"""The releases that add fields to the records of streams groups."""
CONSUMER_GROUP_RELEASES = ("4.0.0", "4.0.1", "4.0.2", "4.1.0", "4.1.1", "4.1.2", "4.2.0", "4.3.0", "4.4.0")
"""The releases at which rules of consumer-protocol groups (KIP-848) change."""
CLASSIC_GROUP_RELEASES = (
    *("2.4.0", "2.4.1", "2.5.0", "2.6.0", "2.6.1", "2.8.0", "2.8.1", "2.8.2"),
    *("3.0.0", "3.0.1", "3.1.0", "3.1.1", "3.2.0", "3.3.0", "3.3.2"),
)
"""The releases between 2.3 and 3.9 at which rules of classic groups change."""
KAFKA_STREAMS_RELEASES = ("2.6.3", "3.2.3", "3.6.2", "3.9.2", "4.3.1")
"""Releases that represent the rules of Kafka Streams' task assignors."""
CONNECT_RELEASES = (
    *("2.3.1", "2.4.1", "2.5.1", "2.6.2", "2.7.0", "2.8.2", "3.3.2", "3.4.1", "3.5.2", "3.6.0", "3.9.2"),
    *("4.3.1", "4.4.0"),
)
"""Releases of Connect workers: those at which the leader's rules change, and some between."""
MIRROR_RELEASES = ("2.7.2", "2.8.2", "3.0.2", "3.1.2", "3.4.0", "3.4.1", "3.5.1", "3.6.0", "3.9.2", "4.0.0", "4.3.1")
"""Releases of MirrorMaker 2: those at which its rules change, and some between. Kafka has not published others before
2.7.2, nor 4.4.0."""
_ANY = "any"
_SCALA_COORDINATOR = "kafka-2.4-3.4"
_COORDINATOR = "kafka-4.x"
"""The modules that are built for each release whose coordinator is asked."""
_STREAMS_GROUPS = (4, 2)
"""The first release whose coordinator is asked about streams groups."""
_CONNECT = "kafka-connect"
_MIRROR = "kafka-mirror"
_KAFKA_STREAMS = "kafka-streams"
"""Likewise, for each release whose workers or task assignors are asked."""
_SCALA_2_12 = "kafka-scala-2.12"
"""The module that is built for each release below."""
SCALA_2_12_BUILDS = {"2.3.1": ("-Doracle.assignors=assignors-map",), "3.9.2": ()}
"""Releases whose builds with Scala 2.12 answer elections (before and since 2.12.13), with their module's properties."""
_MODULES = ("1.0", "2.3", "2.8", "3.9", "4.3", _ANY)
_JARS_SINCE = {
    "kafka-clients": (0, 11),
    "kafka-server-common": (3, 7),
    "kafka-group-coordinator": (3, 7),
    "kafka-group-coordinator-api": (3, 8),
    "kafka-coordinator-common": (4, 0),
}
"""The jars of a release that its assignors need, and the first release with them."""

JsonObject = dict[str, Any]

_BUILT = "built"
"""The file that marks a complete build."""
_PACKAGE = "rebalancesim.oracle"
_OLDEST_JAVA = 17
_RELEASE = re.compile(r"\d+(\.\d+){1,3}")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1"

# Maven's messages when the cause is the network or the JDK, and not this project.
_UNREACHABLE = re.compile(
    r"Could not transfer|Unknown host|Connection (?:refused|reset|timed out)|Connect timed out"
    r"|Cannot access \S+ \(.*\) in offline mode|previous attempt|Network is unreachable"
)
_NO_COMPILER = re.compile(r"No compiler is provided|release version \d+ not supported")


def build() -> None:
    """Build the oracle unless it is up to date. Several processes may call this at once."""
    _require_java()
    stamp = _folder() / _BUILT
    with locked(_folder()):
        if not (stamp.exists() and _has_jars()):
            _run_maven("package")
            stamp.touch()


def answers(version: str, cases: Iterable[JsonObject], seconds: int = 10) -> list[JsonObject]:
    """
    Return the answer of Kafka `version` to each case, in order, with a time limit. A case has its rule in "rule".

    Any release, like "2.5.1" or "4.0" for 4.0.0, answers cases about assignors; its jars are fetched.
    """
    build()
    return _answers(version, _classpath(version), cases, seconds)


def coordinator_answers(release: str, cases: Iterable[JsonObject]) -> list[JsonObject]:
    """Return what the group coordinator of a release from 2.4.0 to 3.4.1 or since 4.0.0 answers to cases.

    It is built first. Before 4.0 it is the one in Scala, in the build that Kafka recommended for the release.
    """
    numbers = tuple(map(int, release.split(".")))
    if numbers >= (4,):
        streams = ("-Doracle.streams=coordinator-streams",) if numbers >= _STREAMS_GROUPS else ()
        return _answers(release, _built_for(release, _COORDINATOR, *streams), cases)
    scala = "2.13" if numbers >= (2, 6) else "2.12"
    return _answers(release, _built_for(release, _SCALA_COORDINATOR, f"-Doracle.scala={scala}"), cases)


def kafka_streams_answers(release: str, cases: Iterable[JsonObject]) -> list[JsonObject]:
    """Return what Kafka Streams of a release since 2.6.0 answers to cases; the oracle is built for it first.

    The first case takes long on a busy machine: Mockito instruments classes.
    """
    return _answers(release, _built_for(release, _KAFKA_STREAMS), cases, seconds=120)


def connect_answers(release: str, cases: Iterable[JsonObject]) -> list[JsonObject]:
    """Return what the workers of Connect clusters of a release since 2.3 are told; it is built first."""
    return _answers(release, _built_for(release, _CONNECT), cases)


def mirror_answers(release: str, cases: Iterable[JsonObject]) -> list[JsonObject]:
    """Return how MirrorMaker 2 of a release since 2.4 divides what it replicates; it is built first."""
    return _answers(release, _built_for(release, _MIRROR), cases)


def connect_rebalances_per_second(release: str, cases: Iterable[JsonObject], seconds: float) -> float:
    """Return how many rebalances leaders of Connect clusters compute per processor second, each the last of a case."""
    program = [*SHORT_LIFE[:1], "-cp", _built_for(release, _CONNECT), f"{_PACKAGE}.ConnectBench", str(seconds)]
    (result,) = _converse(release, program, _Feed(cases))
    return float(result["cases_per_cpu_second"])


def scala_2_12_answers(release: str, cases: Iterable[JsonObject]) -> list[JsonObject]:
    """Return what the build of a release with Scala 2.12 answers to elections; it is built first."""
    return _answers(release, _built_for(release, _SCALA_2_12, *SCALA_2_12_BUILDS[release]), cases)


def _built_for(release: str, module: str, *properties: str) -> str:
    """Build a module for a release, unless it is up to date; return its classpath."""
    _require_java()
    target = _folder() / module / "target" / release
    with locked(_folder()):
        if not (target / _BUILT).exists():
            _run_maven("package", "-f", f"{module}/pom.xml", f"-Dkafka.version={release}", *properties)
            (target / _BUILT).touch()
    return f"{target / 'classes'}:{(target / 'classpath.txt').read_text().strip()}"


def _answers(version: str, classpath: str, cases: Iterable[JsonObject], seconds: int = 10) -> list[JsonObject]:
    fed = _Feed(cases)
    lines = _converse(version, [*SHORT_LIFE, f"-Doracle.seconds={seconds}", "-cp", classpath, f"{_PACKAGE}.Main"], fed)
    if len(lines) != fed.count:
        raise RuntimeError(f"the oracle gave {len(lines)} answers to {fed.count} cases")
    return lines


def measure(version: str, rule: str, cases: Iterable[JsonObject], seconds: float) -> JsonObject:
    """
    Return how many cases per second Kafka `version` handles on one warm thread, without I/O.

    `rule` is an assignor's name, the same with "-from-bytes" (since Kafka 4.0: from the bytes of subscriptions to those
    of assignments), "election" (only the vote) or "election_with_join" (a new group, its members added one by one, the
    vote). Cases that Kafka answers with an exception are left out.
    On a busy machine only "cases_per_cpu_second" is the speed of Kafka's code; "cases_per_second" is lower.
    """
    build()
    # One thread does the work; a parallel garbage collector would only take cores from other processes.
    program = ["-XX:+UseSerialGC", "-cp", _classpath(version), f"{_PACKAGE}.Bench", rule, str(seconds)]
    (result,) = _converse(version, program, _Feed(cases))
    return result


class _Feed:
    """Writes cases to a process, from its own thread, so that neither side waits on a full pipe."""

    def __init__(self, cases: Iterable[JsonObject]) -> None:
        self._cases = cases
        self.count = 0
        self.failure: Exception | None = None

    def write_to(self, stream: IO[bytes]) -> None:
        try:
            with stream:
                for case in self._cases:
                    stream.write(json.dumps(case, ensure_ascii=False).encode() + b"\n")
                    self.count += 1
        except BrokenPipeError:
            pass  # The process ended early; its exit status is checked later.
        except Exception as failure:
            self.failure = failure


def _converse(version: str, program: Sequence[str], feed: _Feed) -> list[JsonObject]:
    with (
        tempfile.TemporaryFile() as complaints,
        subprocess.Popen(
            ["java", *program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        writer = threading.Thread(target=feed.write_to, args=(process.stdin,), daemon=True)
        writer.start()
        lines: list[JsonObject] = [json.loads(line) for line in process.stdout]
        writer.join()
        status = process.wait()
        complaints.seek(0)
        complaint = complaints.read().decode(errors="replace").strip()
    if feed.failure is not None:
        raise feed.failure
    if status != 0:
        raise RuntimeError(f"the oracle of Kafka {version} ended with {status}: {complaint[-2000:]}")
    return lines


def _module(version: str) -> Path:
    if version not in _MODULES and _RELEASE.fullmatch(version):
        version = _ANY
    if version not in _MODULES:
        raise ValueError(f"no oracle for Kafka {version}; there are {', '.join(_MODULES)}")
    return _folder() / f"kafka-{version}"


def jars(version: str) -> list[str]:
    """Return the jars of a Kafka version and their dependencies, after the oracle is built."""
    listed = _module(version) / "target" / "classpath.txt"
    return listed.read_text().strip().split(":") if listed.exists() else []


def _classpath(version: str) -> str:
    found = [str(_module(version) / "target" / "classes"), *jars(version)]
    if _module(version).name == f"kafka-{_ANY}":
        numbers = tuple(map(int, version.split(".")))
        release = version if len(numbers) > 2 else f"{version}.0"
        own = _jars_of(release, [name for name, since in _JARS_SINCE.items() if numbers >= since])
        replaced = re.compile(f"({'|'.join(_JARS_SINCE)})-[0-9.]+jar")
        found = [*own, *(jar for jar in found if not replaced.fullmatch(Path(jar).name))]
    return ":".join(found)


def _jars_of(release: str, names: Iterable[str]) -> list[str]:
    """Return jars of a release; Maven fetches those that are missing, all at once."""
    folder = kept("releases")
    jars = {name: folder / f"{name}-{release}.jar" for name in names}
    with locked(folder):
        missing = [name for name, jar in jars.items() if not jar.exists()]
        if missing:
            project = folder / f"{release}.xml"
            project.write_text(_fetching(release, missing))
            _run_maven(f"{_COPY}:copy", "-f", str(project), f"-DoutputDirectory={folder}")
    return list(map(str, jars.values()))


def _fetching(release: str, names: Iterable[str]) -> str:
    """Return a project of Maven that copies jars of a release."""
    group, artifact, version = _COPY.split(":")
    of_kafka = "<groupId>org.apache.kafka</groupId><artifactId>{}</artifactId><version>{}</version>"
    items = [f"<artifactItem>{of_kafka.format(name, release)}</artifactItem>" for name in names]
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>rebalancesim</groupId><artifactId>jars</artifactId>"
        "<version>1</version><packaging>pom</packaging><build><plugins><plugin>"
        f"<groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        f"<configuration><artifactItems>{''.join(items)}</artifactItems>"
        "</configuration></plugin></plugins></build></project>"
    )


def _has_jars() -> bool:
    """Return whether the jars are still there: Maven's local repository may have been emptied."""
    return all(jars(v) and all(Path(jar).exists() for jar in jars(v)) for v in _MODULES)


@functools.cache
def _folder() -> Path:
    """Return the folder in which these sources are built."""
    sources = [*_HERE.rglob("*.java"), *_HERE.rglob("pom.xml"), *_HERE.rglob("mockito-extensions/*")]
    return copied("oracle", _HERE, (path for path in sources if "target" not in path.relative_to(_HERE).parts))


def _run_maven(*goals: str) -> None:
    if shutil.which("mvn") is None:
        raise Unavailable("mvn is not on the PATH, and the oracle is not built yet")
    result = subprocess.run(
        ["mvn", "-q", "-B", *goals],
        cwd=_folder(),
        env=maven_environment(),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode == 0:
        return
    output = (result.stdout + result.stderr)[-4000:]
    if _UNREACHABLE.search(output):
        raise Unavailable(f"Maven cannot reach its repository:\n{output}")
    if _NO_COMPILER.search(output):
        raise Unavailable(f"Maven needs a JDK {_OLDEST_JAVA} or newer:\n{output}")
    raise RuntimeError(f"the oracle does not build:\n{output}")


@functools.cache
def _require_java() -> None:
    if shutil.which("java") is None:
        raise Unavailable("java is not on the PATH")
    printed = subprocess.run(["java", "-version"], capture_output=True, text=True, check=False).stderr
    found = re.search(r'version "(\d+)', printed)
    if found is None or int(found.group(1)) < _OLDEST_JAVA:
        raise Unavailable(f"the oracle needs Java {_OLDEST_JAVA} or newer, not {printed.strip()}")
