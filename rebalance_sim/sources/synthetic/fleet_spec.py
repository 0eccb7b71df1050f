"""The specification of a synthetic fleet: reads and checks the files of ``conf/fleets``."""

from os import PathLike
from typing import Annotated, Generic, TypeAlias, TypeVar

from msgspec import Meta, Struct

from rebalance_sim.errors import UserError
from rebalance_sim.sources.yaml_checks import read_as
from rebalance_sim.sources.yaml_files import find_yaml, read_yaml

MAX_MEMBERS = 1_000_000
MAX_TOPICS = 10_000_000
MAX_PARTITIONS = 1_000_000
"""As in ``rebalance_sim.tables``, which needs Spark and is therefore not imported here; a test compares them."""
_MAX_INT = 2**31 - 1
_MOST_GROUPS = 1_000_000_000

Share = Annotated[float, Meta(ge=0, le=1)]
Weight = Annotated[float, Meta(gt=0, le=1e12)]
Exponent = Annotated[float, Meta(ge=0, le=10)]
Name = Annotated[str, Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], Meta(min_length=1, description="a list of names")]
Clusters = Annotated[int, Meta(ge=1, le=100_000)]
Topics = Annotated[int, Meta(ge=1, le=MAX_TOPICS)]
Members = Annotated[int, Meta(ge=1, le=MAX_MEMBERS)]
Partitions = Annotated[int, Meta(ge=1, le=MAX_PARTITIONS)]
Subscribed = Annotated[int, Meta(ge=1, le=10_000)]
Replicas = Annotated[int, Meta(ge=1, le=1000)]
PositiveInt = Annotated[int, Meta(ge=1, le=_MAX_INT)]
N = TypeVar("N", bound=int)


class Spec(Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping of the file; fields without a default are required."""


class Lognormal(Spec, Generic[N], frozen=True):
    """A long tail: the number whose logarithm is normal with mean ln(median) and deviation sigma, cut to 1..max."""

    median: Weight
    sigma: Exponent
    max: N

    def __post_init__(self) -> None:
        if self.median > self.max:
            raise ValueError(f"median is {self.median:g}; allowed: at most max, {self.max}")


class Zipf(Spec, Generic[N], frozen=True):
    """A power law: k from 1 to max occurs in proportion to the area under x ** -exponent from k to k + 1."""

    exponent: Exponent
    max: N


class Varying(Spec, Generic[N], frozen=True):
    """A distribution of whole numbers from 1, in one of four forms."""

    choice: Annotated[dict[N, Weight], Meta(min_length=1, description="a mapping of numbers to weights")] | None = None
    uniform: Annotated[tuple[N, N], Meta(description="two numbers, the lower one first")] | None = None
    """Every number from the first to the second is equally likely."""
    lognormal: Lognormal[N] | None = None
    zipf: Zipf[N] | None = None

    def __post_init__(self) -> None:
        forms = self.__struct_fields__
        given = [form for form in forms if getattr(self, form) is not None]
        if len(given) != 1:
            raise ValueError(f"expected one of {', '.join(forms)}, got {', '.join(given) or 'none'}")
        if self.uniform and self.uniform[0] > self.uniform[1]:
            raise ValueError(f"expected two numbers in uniform, the lower one first, got {list(self.uniform)}")


Distribution: TypeAlias = N | Varying[N]
"""Always the same number, or one that varies."""


class ClusterSpec(Spec, frozen=True):
    """The clusters, and the distribution of groups over them."""

    count: Clusters = 1
    skew: Exponent = 0.0
    """Exponent of a power law over the clusters; 0 gives every cluster the same share of the groups."""


class TopicSpec(Spec, frozen=True):
    """The topics of the clusters; either ``per_group`` or ``per_cluster`` is set."""

    partitions: Distribution[Partitions]
    per_group: Annotated[float, Meta(ge=0, le=MAX_TOPICS)] = 0.0
    """Topics per group of the cluster; the number of topics grows with that of groups."""
    per_cluster: Topics | None = None
    without_partitions: Share = 0.0
    """Share of the topics without partitions."""

    def __post_init__(self) -> None:
        if (self.per_group > 0) == (self.per_cluster is not None):
            raise ValueError("expected either per_group above 0 or per_cluster")


class SubscriptionSpec(Spec, frozen=True):
    """The subscriptions of the groups."""

    topics: Distribution[Subscribed]
    """Topics of a group, at most as many as the cluster has."""
    popularity: Exponent = 0.0
    """Exponent of a power law over the topics of the cluster; 0 makes all equally likely."""
    differing: Share = 0.0
    """Share of the groups with several topics whose members each subscribe to only some of them."""
    missing: Share = 0.0
    """Share of the groups that also subscribe to a topic that does not exist."""


class MemberSpec(Spec, frozen=True):
    """The members of the groups."""

    count: Distribution[Members]
    static: Share = 0.0
    """Share of the groups whose members have a ``group.instance.id``."""
    per_host: Distribution[Members] = 1
    """Members of a group on the same host."""
    session_timeout_ms: Distribution[PositiveInt] = 45_000
    rebalance_timeout_ms: Distribution[PositiveInt] = 300_000


class ProtocolLists(Spec, frozen=True):
    """A class of groups, by the candidate protocols of their members."""

    weight: Weight
    lists: Annotated[tuple[Names, ...], Meta(min_length=1, description="a list of lists of protocols")]
    """Each member offers one of these lists, all equally likely; the preferred protocol comes first."""
    upgrading: bool = False
    """Whether the groups are in a rolling restart from the first list to the second: members that joined last offer the
    second."""

    def __post_init__(self) -> None:
        for names in self.lists:
            _check_distinct("lists", names)
        if self.upgrading and len(self.lists) != 2:
            raise ValueError(f"an upgrade needs exactly two lists, got {len(self.lists)}")


class RackSpec(Spec, frozen=True):
    """The racks of clients and replicas."""

    names: Names
    groups: Share = 0.0
    """Share of the groups whose members set client.rack."""
    topics: Share = 0.0
    """Share of the topics whose replicas have racks."""
    replicas: Distribution[Replicas] = 3
    """Replicas of a topic's partitions."""

    def __post_init__(self) -> None:
        _check_distinct("names", self.names)


class PreviousSpec(Spec, frozen=True):
    """The assignments before the rebalance."""

    groups: Share
    """Share of the groups that had an assignment."""
    generation: Distribution[PositiveInt] = 1
    """Generation of that assignment."""
    left: Share = 0.5
    """Share of these groups that one member has left since then; the other groups have a new member."""


class GiantSpec(Spec, frozen=True):
    """A large extra group whose members all subscribe to the group's own topics."""

    members: Annotated[int, Meta(ge=1, le=10 * MAX_MEMBERS)]
    topics: Topics
    partitions: Annotated[int, Meta(ge=0, le=MAX_PARTITIONS)]
    """Partitions of each of its topics."""


class FleetSpec(Spec, frozen=True):
    """A synthetic fleet, except for the number of groups and the seed."""

    topics: TopicSpec
    subscriptions: SubscriptionSpec
    members: MemberSpec
    protocols: Annotated[
        tuple[ProtocolLists, ...], Meta(min_length=1, description="a list of protocol lists and their weights")
    ]
    clusters: ClusterSpec = ClusterSpec()
    racks: RackSpec | None = None
    previous: PreviousSpec | None = None
    giants: Annotated[tuple[GiantSpec, ...], Meta(description="a list of giant groups")] = ()


def check_size(groups: int, seed: int) -> None:
    """Raise UserError for a number of groups or a seed out of range."""
    if not 0 <= groups <= _MOST_GROUPS:
        raise UserError(f"groups: expected a whole number from 0 to {_MOST_GROUPS}, got {groups}")
    if not -(2**63) <= seed < 2**63:
        raise UserError(f"seed: expected a whole number of 64 bits, got {seed}")


def _check_distinct(key: str, names: Names) -> None:
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{key}: {name!r} is listed twice")


def load(path: str | PathLike[str]) -> FleetSpec:
    """Read a fleet's YAML file, by the name of one in ``conf/fleets`` or by its path.

    >>> load("benchmark-assignment").members.count
    5

    Raises UserError, naming file, line and key, for unreadable files and for missing, unknown or invalid values.
    """
    return read_as(read_yaml(find_yaml("--synthetic", str(path), "fleets")), FleetSpec)
