"""Connectors of MirrorMaker 2 of random cases, whose tasks the rules predict."""

from typing import Any, NamedTuple

from rebalance_sim.kafka.connect.mirror_connectors import MirrorConnector
from rebalance_sim.kafka.connect.mirror_tasks import MirrorShare, shares_of_groups, shares_of_topics
from rebalance_sim.releases import kafka_version
from tests.oracle.mirror_cases import IDENTITY

JsonObject = dict[str, Any]


def is_valid(case: JsonObject, release: str) -> bool:
    """Return whether a release accepts a case: it has its classes, and since 4.2 no list has an empty element."""
    settings, numbers = case["config"]["settings"], tuple(map(int, release.split(".")))
    if settings.get("replication.policy.class") == IDENTITY and numbers < (3,):
        return False
    lists = [f"{of}{suffix}" for of in ("topics", "groups") for suffix in ("", ".exclude")]
    read = lists if "consumed" in case["config"] else lists[:2]
    return numbers < (4, 2) or all("" not in settings.get(name, ".*").split(",") for name in read)


class Compared(NamedTuple):
    """What is predicted of a connector, and what Kafka's classes do instead."""

    different: list[tuple[str, int | None, int | None]]
    """Names with the task that is predicted, and Kafka's; None for a name without a task."""
    certain: int
    shares: int


def compared(case: JsonObject, answer: JsonObject, release: str) -> Compared:
    """Return where certain tasks differ from Kafka's, and names or the number of tasks."""
    shares = _predicted(case, release)
    ours = {_label(share): share.task for share in shares}
    theirs = {name: task for task, names in enumerate(answer["tasks"]) for name in names}
    certain = {_label(share) for share in shares if share.is_certain}
    different = [
        (name, ours.get(name), theirs.get(name))
        for name in ours | theirs
        if name not in ours or name not in theirs or (name in certain and ours[name] != theirs[name])
    ]
    counts = len(set(ours.values())), len(answer["tasks"])
    if counts[0] != counts[1]:
        different.append(("tasks", *counts))
    return Compared(different, len(certain), len(shares))


def _label(share: MirrorShare) -> str:
    return share.name if share.partition is None else f"{share.name}-{share.partition}"


def _predicted(case: JsonObject, release: str) -> list[MirrorShare]:
    config = case["config"]
    kind = "MirrorCheckpointConnector" if "consumed" in config else "MirrorSourceConnector"
    connector = MirrorConnector({"connector.class": kind} | config["settings"], kafka_version(release).mirror)
    if "consumed" in config:
        return shares_of_groups(connector, {group: set(topics) for group, topics in config["consumed"].items()})
    return shares_of_topics(connector, case["topics"], config["as_kraft"])
