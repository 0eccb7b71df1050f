"""The limits from which something is worth a finding."""

from dataclasses import dataclass

from rebalance_sim.engine.simulation.pays import Pays


@dataclass(frozen=True)
class Thresholds:
    """Limits of the findings; ``conf/audit.yaml`` lists them with these defaults."""

    imbalance_partitions: int = 2
    """How many partitions another assignor must take from the member with the most."""
    topic_partitions_per_subscriber: int = 2
    """How many partitions per subscriber a topic that lies on one member must have."""
    migration_partitions: int = 2
    """How many partitions the member with the most must gain by a migration."""
    lag_records: int = 1000
    """How much lag another assignor must take from the member with the most."""
    large_lag_records: int = 10_000
    """How far behind a partition must be."""
    large_lag_minutes: int = 60
    """Or how long ago its lag must have begun to arrive, as far as an earlier audit shows it."""
    growth_share: float = 0.1
    """The share of what arrived since an earlier audit by which the lag of a partition must have grown."""
    growth_minutes: int = 10
    """How much earlier that audit must be."""
    lag_share: float = 0.5
    """The share of the group's lag that one member or partition must have."""
    restart_ms: int = 30_000
    """How long a consumer takes to restart, for the sessions of static members."""
    expiry_hours: int = 48
    """How soon offsets must expire, counted from the latest commit of the cluster."""
    poll_interval_share: float = 0.8
    """The share of max.poll.interval.ms for which a member with lag must have committed nothing."""
    rebalances_per_hour: int = 20
    """How many rebalances a group must have in the hour before its last generation."""
    hot_partition_times: int = 3
    """How many times the mean per partition the hottest partition of a topic must have."""
    hot_partition_records: int = 1000
    """How many records this partition must have."""
    shared_keys_share: float = 0.5
    """The share of keys that two topics must have in common to count as joined."""
    downtime_ms: int = 1000
    """How much mean downtime per partition another setting must save in the rollout."""
    downtime_share: float = 0.2
    """The share of the downtime that it must save."""
    ranges_up_to_members: int = 20_000
    """Up to how many members in the fleet every group is simulated over the ranges of assumed latencies; in a larger
    fleet, groups with a setting that pays as assumed are."""
    news_share: float = 0.5
    """The share by which a finding's decisive figure must grow or shrink since an earlier audit to be news."""

    @property
    def pays(self) -> Pays:
        """From when another setting is worth its change."""
        return Pays(self.downtime_ms, self.downtime_share)
