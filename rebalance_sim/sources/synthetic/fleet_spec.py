"""The specification of a synthetic fleet: reads and checks the files of ``conf/fleets``.

Every number that varies is a distribution of whole numbers from 1, in one of these forms:

- ``5``: always this number (``Constant``);
- ``{choice: {1: 70, 3: 30}}``: the numbers and their weights (``WeightedChoice``);
- ``{uniform: [2, 6]}``: every number from the first to the last is equally likely (``Uniform``);
- ``{lognormal: {median: 3, sigma: 1.0, max: 500}}``: a long tail, rounded and cut to 1..max (``Lognormal``);
- ``{zipf: {exponent: 1.2, max: 100}}``: a power law, 1 the most frequent (``Zipf``).

A share is a number from 0 to 1, a weight a number above 0.
"""

import difflib
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from os import PathLike
from typing import Any, TypeVar

from rebalance_sim.errors import UserError
from rebalance_sim.sources.yaml_files import find_yaml, read_yaml

MAX_MEMBERS = 1_000_000
MAX_TOPICS = 10_000_000
MAX_PARTITIONS = 1_000_000
"""As in ``rebalance_sim.tables``, which needs Spark and is therefore not imported here; a test compares them."""
_MAX_INT = 2**31 - 1
_MAX_EXPONENT = 10


@dataclass(frozen=True)
class Constant:
    """Always the same number."""

    value: int


@dataclass(frozen=True)
class WeightedChoice:
    """One of some numbers, each with its weight."""

    weights: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Uniform:
    """A number from ``low`` to ``high``, all equally likely."""

    low: int
    high: int


@dataclass(frozen=True)
class Lognormal:
    """The number whose logarithm is normal with mean ``ln(median)`` and deviation ``sigma``, cut to 1..max."""

    median: float
    sigma: float
    max: int


@dataclass(frozen=True)
class Zipf:
    """A number from 1 to ``max``; k occurs in proportion to the area under ``x ** -exponent`` from k to k + 1."""

    exponent: float
    max: int


Distribution = Constant | WeightedChoice | Uniform | Lognormal | Zipf


@dataclass(frozen=True)
class ClusterSpec:
    """The clusters, and the distribution of groups over them."""

    count: int = 1
    skew: float = 0.0
    """Exponent of a power law over the clusters; 0 gives every cluster the same share of the groups."""


@dataclass(frozen=True)
class TopicSpec:
    """The topics of the clusters; either ``per_group`` or ``per_cluster`` is set."""

    partitions: Distribution
    per_group: float = 0.0
    """Topics per group of the cluster; the number of topics grows with that of groups."""
    per_cluster: int | None = None
    without_partitions: float = 0.0
    """Share of the topics without partitions."""


@dataclass(frozen=True)
class SubscriptionSpec:
    """The subscriptions of the groups."""

    topics: Distribution
    """Topics of a group, at most as many as the cluster has."""
    popularity: float = 0.0
    """Exponent of a power law over the topics of the cluster; 0 makes all equally likely."""
    differing: float = 0.0
    """Share of the groups with several topics whose members each subscribe to only some of them."""
    missing: float = 0.0
    """Share of the groups that also subscribe to a topic that does not exist."""


@dataclass(frozen=True)
class MemberSpec:
    """The members of the groups."""

    count: Distribution
    static: float = 0.0
    """Share of the groups whose members have a ``group.instance.id``."""
    per_host: Distribution = Constant(1)
    """Members of a group on the same host."""
    session_timeout_ms: Distribution = Constant(45_000)
    rebalance_timeout_ms: Distribution = Constant(300_000)


@dataclass(frozen=True)
class ProtocolLists:
    """A class of groups, by the candidate protocols of their members."""

    weight: float
    lists: tuple[tuple[str, ...], ...]
    """Each member offers one of these lists, all equally likely; the preferred protocol comes first."""
    upgrading: bool = False
    """Whether the groups are in a rolling restart from the first list to the second: members that joined last offer the
    second."""


@dataclass(frozen=True)
class RackSpec:
    """The racks of clients and replicas."""

    names: tuple[str, ...]
    groups: float = 0.0
    """Share of the groups whose members set client.rack."""
    topics: float = 0.0
    """Share of the topics whose replicas have racks."""
    replicas: Distribution = Constant(3)
    """Replicas of a topic's partitions."""


@dataclass(frozen=True)
class PreviousSpec:
    """The assignments before the rebalance."""

    groups: float
    """Share of the groups that had an assignment."""
    generation: Distribution = Constant(1)
    """Generation of that assignment."""
    left: float = 0.5
    """Share of these groups that one member has left since then; the other groups have a new member."""


@dataclass(frozen=True)
class GiantSpec:
    """A large extra group whose members all subscribe to the group's own topics."""

    members: int
    topics: int
    partitions: int
    """Partitions of each of its topics."""


@dataclass(frozen=True)
class FleetSpec:
    """A synthetic fleet, except for the number of groups and the seed."""

    topics: TopicSpec
    subscriptions: SubscriptionSpec
    members: MemberSpec
    protocols: tuple[ProtocolLists, ...]
    clusters: ClusterSpec = ClusterSpec()
    racks: RackSpec | None = None
    previous: PreviousSpec | None = None
    giants: tuple[GiantSpec, ...] = ()


def load(path: str | PathLike[str]) -> FleetSpec:
    """Read a fleet's YAML file, by the name of one in ``conf/fleets`` or by its path.

    >>> load("benchmark-assignment").members.count
    Constant(value=5)

    Raises UserError, naming the file and the key, for unreadable files and for missing, unknown or invalid values.
    """
    file = find_yaml("--synthetic", str(path), "fleets")
    return _FLEET(read_yaml(file), _Location(str(file)))


@dataclass(frozen=True)
class _Location:
    """A key of a file, for errors."""

    file: str
    key: str = ""

    def at(self, key: object) -> "_Location":
        return _Location(self.file, f"{self.key}.{key}" if self.key else str(key))

    def item(self, index: int) -> "_Location":
        return _Location(self.file, f"{self.key}[{index}]")

    def wrong(self, what: str) -> UserError:
        return UserError(": ".join(filter(None, [self.file, self.key, what])))

    def expected(self, what: str, value: object) -> UserError:
        return self.wrong(f"expected {what}, got {_shown(value)}")


T = TypeVar("T")
_Reader = Callable[[Any, _Location], T]


def _shown(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case Mapping():
            return "a mapping"
        case list():
            return f"a list of {len(value)}"
        case _:
            text = repr(value)
            return text if len(text) <= 60 else f"{text[:57]}..."


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _whole(low: int, high: int, instead: str = "") -> _Reader[int]:
    def read(value: Any, place: _Location) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise place.expected(f"a whole number from {low} to {high}{instead}", value)
        return value

    return read


def _number(low: float, high: float) -> _Reader[float]:
    def read(value: Any, place: _Location) -> float:
        if not _is_number(value) or not low <= value <= high:
            raise place.expected(f"a number from {low:g} to {high:g}", value)
        return float(value)

    return read


def _above_zero(value: Any, place: _Location) -> float:
    if not _is_number(value) or not 0 < value < math.inf:
        raise place.expected("a number above 0", value)
    return float(value)


def _flag(value: Any, place: _Location) -> bool:
    if not isinstance(value, bool):
        raise place.expected("true or false", value)
    return value


def _name(value: Any, place: _Location) -> str:
    if not isinstance(value, str) or not value:
        raise place.expected("a name", value)
    return value


def _list_of(entry: _Reader[T], what: str, fewest: int = 1) -> _Reader[tuple[T, ...]]:
    def read(value: Any, place: _Location) -> tuple[T, ...]:
        if not isinstance(value, list) or len(value) < fewest:
            raise place.expected(f"a list of {what}", value)
        return tuple(entry(item, place.item(index)) for index, item in enumerate(value))

    return read


def _distinct_names(what: str) -> _Reader[tuple[str, ...]]:
    names = _list_of(_name, what)

    def read(value: Any, place: _Location) -> tuple[str, ...]:
        given = names(value, place)
        for name in given:
            if given.count(name) > 1:
                raise place.wrong(f"{name!r} is listed twice")
        return given

    return read


def _mapping(value: Any, allowed: Collection[str], place: _Location) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise place.expected(f"a mapping with the keys {', '.join(allowed)}", value)
    for key in value:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise place.at(key).wrong(f"unknown key; {hint}allowed: {', '.join(allowed)}")
    return value


def _section(kind: Callable[..., T], **readers: _Reader[Any]) -> _Reader[T]:
    """Read a mapping into a dataclass; fields without a default are required."""
    required = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]

    def read(value: Any, place: _Location) -> T:
        given = _mapping(value, readers, place)
        for name in required:
            if name not in given:
                raise place.at(name).wrong("is missing")
        return kind(**{name: readers[name](entry, place.at(name)) for name, entry in given.items()})

    return read


def _choice(whole: _Reader[int]) -> _Reader[WeightedChoice]:
    def read(value: Any, place: _Location) -> WeightedChoice:
        if not isinstance(value, Mapping) or not value:
            raise place.expected("a mapping of numbers to weights", value)
        return WeightedChoice(
            tuple((whole(key, place), _above_zero(weight, place.at(key))) for key, weight in value.items())
        )

    return read


def _uniform(whole: _Reader[int]) -> _Reader[Uniform]:
    bounds = _list_of(whole, "two numbers")

    def read(value: Any, place: _Location) -> Uniform:
        given = bounds(value, place)
        if len(given) != 2 or given[0] > given[1]:
            raise place.wrong(f"expected two numbers, the lower one first, got {list(given)}")
        return Uniform(*given)

    return read


def _lognormal(whole: _Reader[int]) -> _Reader[Lognormal]:
    section = _section(Lognormal, median=_above_zero, sigma=_number(0, _MAX_EXPONENT), max=whole)

    def read(value: Any, place: _Location) -> Lognormal:
        given = section(value, place)
        if given.median > given.max:
            raise place.at("median").wrong(f"is {given.median:g}; allowed: at most max, {given.max}")
        return given

    return read


def _distribution(high: int) -> _Reader[Distribution]:
    whole = _whole(1, high)
    forms: dict[str, _Reader[Distribution]] = {
        "choice": _choice(whole),
        "uniform": _uniform(whole),
        "lognormal": _lognormal(whole),
        "zipf": _section(Zipf, exponent=_number(0, _MAX_EXPONENT), max=whole),
    }
    constant = _whole(1, high, instead=f" or one of {', '.join(forms)}")

    def read(value: Any, place: _Location) -> Distribution:
        if not isinstance(value, Mapping):
            return Constant(constant(value, place))
        given = _mapping(value, forms, place)
        if len(given) != 1:
            raise place.wrong(f"expected one of {', '.join(forms)}, got {', '.join(given) or 'none'}")
        [(form, entry)] = given.items()
        return forms[form](entry, place.at(form))

    return read


_SHARE = _number(0, 1)


def _topics(value: Any, place: _Location) -> TopicSpec:
    given = _section(
        TopicSpec,
        per_group=_number(0, MAX_TOPICS),
        per_cluster=_whole(1, MAX_TOPICS),
        partitions=_distribution(MAX_PARTITIONS),
        without_partitions=_SHARE,
    )(value, place)
    if (given.per_group > 0) == (given.per_cluster is not None):
        raise place.wrong("expected either per_group above 0 or per_cluster")
    return given


def _protocol_lists(value: Any, place: _Location) -> ProtocolLists:
    given = _section(
        ProtocolLists,
        weight=_above_zero,
        lists=_list_of(_distinct_names("protocols"), "lists of protocols"),
        upgrading=_flag,
    )(value, place)
    if given.upgrading and len(given.lists) != 2:
        raise place.at("lists").wrong(f"an upgrade needs exactly two lists, got {len(given.lists)}")
    return given


_FLEET = _section(
    FleetSpec,
    clusters=_section(ClusterSpec, count=_whole(1, 100_000), skew=_number(0, _MAX_EXPONENT)),
    topics=_topics,
    subscriptions=_section(
        SubscriptionSpec,
        topics=_distribution(10_000),
        popularity=_number(0, _MAX_EXPONENT),
        differing=_SHARE,
        missing=_SHARE,
    ),
    members=_section(
        MemberSpec,
        count=_distribution(MAX_MEMBERS),
        static=_SHARE,
        per_host=_distribution(MAX_MEMBERS),
        session_timeout_ms=_distribution(_MAX_INT),
        rebalance_timeout_ms=_distribution(_MAX_INT),
    ),
    protocols=_list_of(_protocol_lists, "protocol lists and their weights"),
    racks=_section(
        RackSpec, names=_distinct_names("racks"), groups=_SHARE, topics=_SHARE, replicas=_distribution(1000)
    ),
    previous=_section(PreviousSpec, groups=_SHARE, generation=_distribution(_MAX_INT), left=_SHARE),
    giants=_list_of(
        _section(
            GiantSpec,
            members=_whole(1, 10 * MAX_MEMBERS),
            topics=_whole(1, MAX_TOPICS),
            partitions=_whole(0, MAX_PARTITIONS),
        ),
        "giant groups",
        fewest=0,
    ),
)
