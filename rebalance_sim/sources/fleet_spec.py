"""What a synthetic fleet looks like: reads and checks the files of ``conf/fleets``.

Every number that varies is given as a distribution of whole numbers from 1, in one of these forms:

- ``5``: always this number (``Constant``);
- ``{choice: {1: 70, 3: 30}}``: the numbers and their weights (``Choice``);
- ``{uniform: [2, 6]}``: all from the first to the last alike (``Uniform``);
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
from rebalance_sim.sources.yaml_files import read_yaml

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
class Choice:
    """One of some numbers, each with its weight."""

    weights: tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Uniform:
    """A number from ``low`` to ``high``, all alike."""

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
    """A number from 1 to ``max``; k comes up in proportion to the area under ``x ** -exponent`` from k to k + 1."""

    exponent: float
    max: int


Distribution = Constant | Choice | Uniform | Lognormal | Zipf


@dataclass(frozen=True)
class Clusters:
    """The clusters and how the groups spread over them."""

    count: int = 1
    skew: float = 0.0
    """Exponent of a power law over the clusters; 0 gives every cluster the same share of the groups."""


@dataclass(frozen=True)
class Topics:
    """The topics of the clusters. One of ``per_group`` and ``per_cluster`` is given."""

    partitions: Distribution
    per_group: float = 0.0
    """Topics for each group of the cluster: the topics become more with the groups."""
    per_cluster: int | None = None
    without_partitions: float = 0.0
    """Share of the topics that have no partition."""


@dataclass(frozen=True)
class Subscriptions:
    """What the groups subscribe to."""

    topics: Distribution
    """Topics of a group, at most as many as the cluster has."""
    popularity: float = 0.0
    """Exponent of a power law over the topics of the cluster; 0 makes all alike."""
    differing: float = 0.0
    """Share of the groups, of two topics or more, whose members each subscribe to some of the group's topics."""
    missing: float = 0.0
    """Share of the groups that subscribe to one more topic, which does not exist."""


@dataclass(frozen=True)
class Members:
    """The members of the groups."""

    count: Distribution
    static: float = 0.0
    """Share of the groups whose members have a ``group.instance.id``."""
    per_host: Distribution = Constant(1)
    """Members of a group that run on the same host."""
    session_timeout_ms: Distribution = Constant(45_000)
    rebalance_timeout_ms: Distribution = Constant(300_000)


@dataclass(frozen=True)
class ProtocolLists:
    """A kind of group by the protocol lists that its members offer."""

    weight: float
    lists: tuple[tuple[str, ...], ...]
    """Each member offers one of these, the preferred protocol first; all lists alike."""
    upgrading: bool = False
    """In the middle of a rolling restart from the first list to the second: who joined last offers the second."""


@dataclass(frozen=True)
class Racks:
    """The racks of clients and replicas."""

    names: tuple[str, ...]
    groups: float = 0.0
    """Share of the groups whose members tell their rack."""
    topics: float = 0.0
    """Share of the topics whose replicas have racks."""
    replicas: Distribution = Constant(3)
    """Replicas of a topic's partitions."""


@dataclass(frozen=True)
class Previous:
    """Assignments from before the rebalance."""

    groups: float
    """Share of the groups that had one."""
    generation: Distribution = Constant(1)
    """Generation that it comes from."""
    left: float = 0.5
    """Share of these groups that one member has left since; one has joined the others."""


@dataclass(frozen=True)
class Giant:
    """A group beside the ordinary ones, all of whose members subscribe to the group's own topics."""

    members: int
    topics: int
    partitions: int
    """Partitions of each of its topics."""


@dataclass(frozen=True)
class FleetSpec:
    """What a synthetic fleet looks like, but for the number of groups and the seed."""

    topics: Topics
    subscriptions: Subscriptions
    members: Members
    protocols: tuple[ProtocolLists, ...]
    clusters: Clusters = Clusters()
    racks: Racks | None = None
    previous: Previous | None = None
    giants: tuple[Giant, ...] = ()


def load(path: str | PathLike[str]) -> FleetSpec:
    """Read a fleet's YAML file.

    >>> load("conf/fleets/benchmark-assignment.yaml").members.count
    Constant(value=5)

    Raises UserError, naming the file and the key, for what cannot be read, is missing, unknown or out of range.
    """
    return _FLEET(read_yaml(path), _Place(str(path)))


@dataclass(frozen=True)
class _Place:
    """A key of a file, for errors."""

    file: str
    key: str = ""

    def at(self, key: object) -> "_Place":
        return _Place(self.file, f"{self.key}.{key}" if self.key else str(key))

    def item(self, index: int) -> "_Place":
        return _Place(self.file, f"{self.key}[{index}]")

    def wrong(self, what: str) -> UserError:
        return UserError(": ".join(filter(None, [self.file, self.key, what])))

    def expected(self, what: str, value: object) -> UserError:
        return self.wrong(f"expected {what}, got {_shown(value)}")


T = TypeVar("T")
_Reader = Callable[[Any, _Place], T]


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
    def read(value: Any, place: _Place) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise place.expected(f"a whole number from {low} to {high}{instead}", value)
        return value

    return read


def _number(low: float, high: float) -> _Reader[float]:
    def read(value: Any, place: _Place) -> float:
        if not _is_number(value) or not low <= value <= high:
            raise place.expected(f"a number from {low:g} to {high:g}", value)
        return float(value)

    return read


def _above_zero(value: Any, place: _Place) -> float:
    if not _is_number(value) or not 0 < value < math.inf:
        raise place.expected("a number above 0", value)
    return float(value)


def _flag(value: Any, place: _Place) -> bool:
    if not isinstance(value, bool):
        raise place.expected("true or false", value)
    return value


def _name(value: Any, place: _Place) -> str:
    if not isinstance(value, str) or not value:
        raise place.expected("a name", value)
    return value


def _list_of(entry: _Reader[T], what: str, fewest: int = 1) -> _Reader[tuple[T, ...]]:
    def read(value: Any, place: _Place) -> tuple[T, ...]:
        if not isinstance(value, list) or len(value) < fewest:
            raise place.expected(f"a list of {what}", value)
        return tuple(entry(item, place.item(index)) for index, item in enumerate(value))

    return read


def _distinct_names(what: str) -> _Reader[tuple[str, ...]]:
    names = _list_of(_name, what)

    def read(value: Any, place: _Place) -> tuple[str, ...]:
        given = names(value, place)
        for name in given:
            if given.count(name) > 1:
                raise place.wrong(f"{name!r} is given twice")
        return given

    return read


def _mapping(value: Any, allowed: Collection[str], place: _Place) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise place.expected(f"a mapping with the keys {', '.join(allowed)}", value)
    for key in value:
        if key not in allowed:
            near = difflib.get_close_matches(str(key), allowed, 1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise place.at(key).wrong(f"unknown key; {hint}allowed: {', '.join(allowed)}")
    return value


def _section(kind: Callable[..., T], **readers: _Reader[Any]) -> _Reader[T]:
    """Read a mapping into a dataclass; the fields without a default must be given."""
    required = [field.name for field in fields(kind) if field.default is MISSING]  # type: ignore[arg-type]

    def read(value: Any, place: _Place) -> T:
        given = _mapping(value, readers, place)
        for name in required:
            if name not in given:
                raise place.at(name).wrong("is missing")
        return kind(**{name: readers[name](entry, place.at(name)) for name, entry in given.items()})

    return read


def _choice(whole: _Reader[int]) -> _Reader[Choice]:
    def read(value: Any, place: _Place) -> Choice:
        if not isinstance(value, Mapping) or not value:
            raise place.expected("a mapping of numbers to weights", value)
        return Choice(tuple((whole(key, place), _above_zero(weight, place.at(key))) for key, weight in value.items()))

    return read


def _uniform(whole: _Reader[int]) -> _Reader[Uniform]:
    bounds = _list_of(whole, "two numbers")

    def read(value: Any, place: _Place) -> Uniform:
        given = bounds(value, place)
        if len(given) != 2 or given[0] > given[1]:
            raise place.wrong(f"expected two numbers, the lower one first, got {list(given)}")
        return Uniform(*given)

    return read


def _lognormal(whole: _Reader[int]) -> _Reader[Lognormal]:
    section = _section(Lognormal, median=_above_zero, sigma=_number(0, _MAX_EXPONENT), max=whole)

    def read(value: Any, place: _Place) -> Lognormal:
        given = section(value, place)
        if given.median > given.max:
            raise place.at("median").wrong(f"is {given.median:g}, above max, which is {given.max}")
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

    def read(value: Any, place: _Place) -> Distribution:
        if not isinstance(value, Mapping):
            return Constant(constant(value, place))
        given = _mapping(value, forms, place)
        if len(given) != 1:
            raise place.wrong(f"expected one of {', '.join(forms)}, got {', '.join(given) or 'none'}")
        [(form, entry)] = given.items()
        return forms[form](entry, place.at(form))

    return read


_SHARE = _number(0, 1)


def _topics(value: Any, place: _Place) -> Topics:
    given = _section(
        Topics,
        per_group=_number(0, MAX_TOPICS),
        per_cluster=_whole(1, MAX_TOPICS),
        partitions=_distribution(MAX_PARTITIONS),
        without_partitions=_SHARE,
    )(value, place)
    if (given.per_group > 0) == (given.per_cluster is not None):
        raise place.wrong("expected either per_group above 0 or per_cluster")
    return given


def _protocol_lists(value: Any, place: _Place) -> ProtocolLists:
    given = _section(
        ProtocolLists,
        weight=_above_zero,
        lists=_list_of(_distinct_names("protocols"), "lists of protocols"),
        upgrading=_flag,
    )(value, place)
    if given.upgrading and len(given.lists) != 2:
        raise place.at("lists").wrong(f"an upgrade is from one list to another, got {len(given.lists)} of them")
    return given


_FLEET = _section(
    FleetSpec,
    clusters=_section(Clusters, count=_whole(1, 100_000), skew=_number(0, _MAX_EXPONENT)),
    topics=_topics,
    subscriptions=_section(
        Subscriptions,
        topics=_distribution(10_000),
        popularity=_number(0, _MAX_EXPONENT),
        differing=_SHARE,
        missing=_SHARE,
    ),
    members=_section(
        Members,
        count=_distribution(MAX_MEMBERS),
        static=_SHARE,
        per_host=_distribution(MAX_MEMBERS),
        session_timeout_ms=_distribution(_MAX_INT),
        rebalance_timeout_ms=_distribution(_MAX_INT),
    ),
    protocols=_list_of(_protocol_lists, "protocol lists and their weights"),
    racks=_section(Racks, names=_distinct_names("racks"), groups=_SHARE, topics=_SHARE, replicas=_distribution(1000)),
    previous=_section(Previous, groups=_SHARE, generation=_distribution(_MAX_INT), left=_SHARE),
    giants=_list_of(
        _section(
            Giant,
            members=_whole(1, 10 * MAX_MEMBERS),
            topics=_whole(1, MAX_TOPICS),
            partitions=_whole(0, MAX_PARTITIONS),
        ),
        "giant groups",
        fewest=0,
    ),
)
