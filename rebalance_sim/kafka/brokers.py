"""The brokers of each cluster of a fleet: their release and settings, which decide what their coordinators do."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_sim.errors import check_choice
from rebalance_sim.releases import NEWEST, OFFSETS_PARTITIONS, KafkaVersion, kafka_version, scala_versions

BIDIRECTIONAL = "bidirectional"
MIGRATION_POLICIES = (BIDIRECTIONAL, "upgrade", "downgrade", "disabled")
"""The values of group.consumer.migration.policy, the default first (``ConsumerGroupMigrationPolicy``, since 4.0)."""


@dataclass(frozen=True)
class Brokers:
    """The brokers of a cluster, and the Java clients of its members that name no release.

    Raises UserError for a release that is not known, and for a build that does not exist.
    """

    version: str = NEWEST
    """Their Kafka release."""
    scala: str | None = None
    """The Scala version of their build (``kafka_version``)."""
    clients: str | None = None
    """Release of the Java clients; None for that of the brokers."""
    offsets_partitions: int = OFFSETS_PARTITIONS
    """offsets.topic.num.partitions"""
    migration_policy: str = BIDIRECTIONAL
    """group.consumer.migration.policy, one of ``MIGRATION_POLICIES``."""

    def __post_init__(self) -> None:
        self.rules()
        check_choice("migration policy", self.migration_policy, MIGRATION_POLICIES)

    @property
    def allow_upgrades(self) -> bool:
        """Whether a consumer of the consumer protocol may convert a classic group (``isUpgradeEnabled``)."""
        return self.migration_policy in (BIDIRECTIONAL, "upgrade")

    def rules(self, clients: str | None = None) -> KafkaVersion:
        """Return the rules of these brokers and of Java clients of a release, by default of ``clients``."""
        return kafka_version(self.version, self.scala, clients or self.clients)

    @property
    def other_builds(self) -> dict[str, KafkaVersion]:
        """The rules of the builds that the brokers may have instead, by Scala version; none if theirs is known.

        >>> list(Brokers("3.9").other_builds), Brokers("3.9", "2.13").other_builds
        (['2.12'], {})
        """
        if self.scala is not None:
            return {}
        builds = {scala: kafka_version(self.version, scala, self.clients) for scala in scala_versions(self.version)}
        return {
            scala: rules for scala, rules in builds.items() if rules.coordinator_map != self.rules().coordinator_map
        }

    @property
    def all_rules(self) -> tuple[KafkaVersion, tuple[tuple[str, KafkaVersion], ...], int]:
        """Everything that these brokers decide, which those of another release may decide alike.

        >>> Brokers("3.6.1").all_rules == Brokers("3.6.2").all_rules
        True
        """
        return self.rules(), tuple(self.other_builds.items()), self.offsets_partitions


@dataclass(frozen=True)
class Clusters:
    """The brokers of all clusters.

    >>> clusters = Clusters(Brokers("4.3"), {"old": Brokers("2.8")})
    >>> clusters.of("old").version, clusters.of("new").version
    ('2.8', '4.3')
    """

    others: Brokers = Brokers()
    """The brokers of clusters that are not named."""
    named: Mapping[str, Brokers] = field(default_factory=dict)

    @property
    def kinds(self) -> tuple[Brokers, ...]:
        """The brokers that some cluster has, each once."""
        return tuple(dict.fromkeys([self.others, *self.named.values()]))

    def of(self, cluster: str) -> Brokers:
        """Return the brokers of a cluster."""
        return self.named.get(cluster, self.others)
