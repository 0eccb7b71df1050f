"""What MirrorMaker 2's connectors replicate: which topics and consumer groups of their source cluster."""

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from rebalance_sim.errors import UserError
from rebalance_sim.releases import MirrorRules

CLASS, TASKS_MAX = "connector.class", "tasks.max"
SOURCE_ALIAS, _TARGET_ALIAS = "source.cluster.alias", "target.cluster.alias"
_POLICY, _SEPARATOR = "replication.policy.class", "replication.policy.separator"
_INTERNAL_SEPARATOR = "replication.policy.internal.topic.separator.enabled"
_REPLICATES_HEARTBEATS = "heartbeats.replication.enabled"
_ENABLED, _SECONDS = "enabled", "interval.seconds"
SETTINGS = (
    *(CLASS, TASKS_MAX, SOURCE_ALIAS, _TARGET_ALIAS, _ENABLED, _POLICY, _SEPARATOR, _INTERNAL_SEPARATOR),
    *("topic.filter.class", "topics", "topics.exclude", "topics.blacklist", _REPLICATES_HEARTBEATS),
    *("group.filter.class", "groups", "groups.exclude", "groups.blacklist"),
    *(f"emit.checkpoints.{name}" for name in (_ENABLED, _SECONDS)),
)
"""The settings of a connector on which its tasks depend."""
_PACKAGE, _SUFFIX = "org.apache.kafka.connect.mirror.", "Connector"
_EXCLUDED = {"topic": r"mm2.*\.internal, .*\.replica, __.*", "group": "console-consumer-.*, connect-.*, __.*"}
"""What is not replicated by default (``DefaultTopicFilter`` since 4.0, ``DefaultGroupFilter``)."""
_EXCLUDED_BEFORE_4_0 = _EXCLUDED | {"topic": r".*[\-\.]internal, .*\.replica, __.*"}
_HEARTBEATS, _INTERNAL = "heartbeats", "internal"
_NO_NAME = re.compile("(?!)")


class MirrorKind(StrEnum):
    """The connectors of MirrorMaker 2 whose tasks divide something. ``MirrorHeartbeatConnector`` has one task."""

    SOURCE = "MirrorSourceConnector"
    CHECKPOINT = "MirrorCheckpointConnector"


@dataclass(frozen=True)
class MirrorConnector:
    """A connector as it is configured, in a release.

    Raises UserError, as do its members, for a setting that names a class of its user, or that Kafka would not accept.
    """

    config: Mapping[str, str]
    rules: MirrorRules

    @cached_property
    def kind(self) -> MirrorKind | None:
        """Which connector it is; Connect also takes the name of a class without its package, and without the suffix."""
        name = self.config.get(CLASS, "").removeprefix(_PACKAGE)
        return next((kind for kind in MirrorKind if name in (kind, kind.removesuffix(_SUFFIX))), None)

    @property
    def source(self) -> str:
        """The name of the cluster from which it replicates."""
        return self.config.get(SOURCE_ALIAS, "")

    @property
    def tasks_max(self) -> int:
        """The most tasks that it may have."""
        return self._number(TASKS_MAX, 1)

    @property
    def is_enabled(self) -> bool:
        """Whether it is to replicate or emit something; otherwise it has no tasks."""
        if not self._flag(_ENABLED):
            return False
        if self.kind is MirrorKind.SOURCE or self.rules < MirrorRules.IN_TURN:
            return True
        return self._flag(f"emit.checkpoints.{_ENABLED}") and self._number(f"emit.checkpoints.{_SECONDS}", 60) >= 0

    def replicates_topic(self, topic: str) -> bool:
        """Return whether it replicates a topic (``MirrorSourceConnector.shouldReplicateTopic``)."""
        policy, target = self._policy, self.config.get(_TARGET_ALIAS, "target")
        with_heartbeats = self.rules < MirrorRules.OWN_INTERNAL or self._flag(_REPLICATES_HEARTBEATS)
        is_chosen = self._topics.takes(topic) or (with_heartbeats and policy.is_heartbeats(topic))
        return is_chosen and not self._is_internal(topic) and not policy.returns_to(target, topic)

    def replicates_group(self, group: str, consumed: set[str]) -> bool:
        """Return whether it emits checkpoints of a group with committed offsets of these topics."""
        if not self._groups.takes(group):
            return False
        # The topics are those of the filter alone: heartbeats and topics that are internal or in a cycle count, too.
        return self.rules < MirrorRules.COMMITTED or any(map(self._topics.takes, consumed))

    @cached_property
    def _topics(self) -> "_NameFilter":
        return self._filter("topic")

    @cached_property
    def _groups(self) -> "_NameFilter":
        return self._filter("group")

    def _filter(self, of: str) -> "_NameFilter":
        self._check_class(f"{of}.filter.class", f"Default{of.title()}Filter")
        names, default = [f"{of}s.exclude", f"{of}s.blacklist"], _EXCLUDED_BEFORE_4_0
        if self.rules < MirrorRules.EXCLUDED:
            names = names[1:]
        elif self.rules >= MirrorRules.OWN_INTERNAL:
            names, default = names[:1], _EXCLUDED
        excluded = next((self.config[name] for name in names if name in self.config), default[of])
        return _NameFilter(_pattern(self.config.get(f"{of}s", ".*")), _pattern(excluded))

    @cached_property
    def _policy(self) -> "_ReplicationPolicy":
        name = self._check_class(_POLICY, "DefaultReplicationPolicy", "IdentityReplicationPolicy")
        identity = name.startswith("Identity")
        return _ReplicationPolicy(self.config.get(_SEPARATOR, "."), self.source if identity else None)

    def _check_class(self, setting: str, *known: str) -> str:
        """Return the class of a setting without its package, by default the first that is known."""
        name = self.config.get(setting, known[0]).strip().removeprefix(_PACKAGE)
        if name not in known:
            raise UserError(f"{setting} {name!r} is not a class of Kafka: what it selects is unknown")
        return name

    def _is_internal(self, topic: str) -> bool:
        if topic.startswith(("__", ".")):
            return True
        has_own = self.rules < MirrorRules.SET_OF_GROUPS or self._flag(_INTERNAL_SEPARATOR)
        separator = self._policy.separator if has_own else "."
        suffix = f"{separator}{_INTERNAL}"
        if self.rules >= MirrorRules.OWN_INTERNAL:
            is_of_mm2 = topic.startswith("mm2") and topic.endswith(suffix)
            return is_of_mm2 or topic.endswith(f"{separator}checkpoints{suffix}")
        is_named_so = topic.endswith((f".{_INTERNAL}", f"-{_INTERNAL}"))
        return is_named_so or (self.rules >= MirrorRules.SEPARATED and topic.endswith(suffix))

    def _flag(self, name: str) -> bool:
        return self.config.get(name, "true").strip().lower() == "true"

    def _number(self, name: str, default: int) -> int:
        value = self.config.get(name, str(default))
        try:
            return int(value)
        except ValueError:
            raise UserError(f"{name} {value!r} is not a number") from None


@dataclass(frozen=True)
class _ReplicationPolicy:
    """``DefaultReplicationPolicy``, or ``IdentityReplicationPolicy``: how remote topics are named."""

    separator: str
    identity_of: str | None
    """The source cluster, if remote topics but heartbeats have the names of their sources."""

    def source_of(self, topic: str) -> str | None:
        """Return the cluster of which a topic seems to be a remote topic; None for none."""
        if self.identity_of is not None and not topic.endswith(_HEARTBEATS):
            return self.identity_of
        parts = topic.split(self.separator) if self.separator else [*topic]
        # Java's split leaves out empty parts at the end.
        return parts[0] if any(parts[1:]) else None

    def upstream_of(self, topic: str, source: str) -> str:
        """Return what a remote topic is called in its source cluster."""
        if self.identity_of is not None and not topic.endswith(_HEARTBEATS):
            return topic
        return topic[len(source) + len(self.separator) :]

    def is_heartbeats(self, topic: str) -> bool:
        """Return whether a topic is that of heartbeats, of this cluster or of one before it."""
        return self._origins(topic)[-1] == _HEARTBEATS

    def returns_to(self, cluster: str, topic: str) -> bool:
        """Return whether a topic comes from a cluster (``isCycle``)."""
        return any(self.source_of(each) == cluster for each in self._origins(topic))

    def _origins(self, topic: str) -> list[str]:
        """Return a topic's name, and what it is called in the cluster before, and in the one before that."""
        names = [topic]
        while (source := self.source_of(names[-1])) is not None:
            upstream = self.upstream_of(names[-1], source)
            if upstream == names[-1]:
                break
            names.append(upstream)
        return names


@dataclass(frozen=True)
class _NameFilter:
    """Names that match one pattern, and not another one."""

    included: re.Pattern[str]
    excluded: re.Pattern[str]

    def takes(self, name: str) -> bool:
        return self.included.fullmatch(name) is not None and self.excluded.fullmatch(name) is None


def _pattern(value: str) -> re.Pattern[str]:
    """Return the pattern of a list of names and regular expressions (``MirrorUtils.compilePatternList``)."""
    if not value.strip():
        return _NO_NAME
    joined = "|".join(re.split(r"\s*,\s*", value.strip()))
    try:
        with warnings.catch_warnings():
            # Sets within sets, which Java has and Python does not.
            warnings.simplefilter("error", FutureWarning)
            # Java's classes of characters are those of ASCII.
            return re.compile(joined, re.ASCII)
    except (re.error, FutureWarning) as problem:
        raise UserError(f"the regular expression {joined!r} is read by Java alone ({problem})") from problem
