"""The fields of a client library's record.

Nothing here imports a rule, so that ``--help`` lists the names of all records at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rebalance_sim.kafka.guarantees import Guarantee
from rebalance_sim.kafka.partitioners.partitioner import Client

if TYPE_CHECKING:
    from rebalance_sim.kafka.groups import AssignmentOutcome
    from rebalance_sim.kafka.wire.consumer_protocol import SentSubscription

Release = tuple[int, ...]
RELEASE_PATTERN = r"(?P<release>\d+(?:\.\d+)+(?:[.-]?(?:a|b|rc|dev|post)\d*)*)"
"""The pattern of a release in a client id, as Python's libraries name theirs."""


@dataclass(frozen=True)
class Rules:
    """The function of this package that assigns the groups of a batch; its module is imported at the first call."""

    module: str
    function: str = "assign"

    def __call__(self, *arguments: Any) -> "AssignmentOutcome":
        """Assign the groups of a batch."""
        return getattr(import_module(self.module), self.function)(*arguments)


@dataclass(frozen=True)
class Earlier:
    """The rules that earlier releases of a library follow under the same protocol name."""

    before: Release
    """The first release that no longer follows these rules."""
    strategy: str
    rules: Rules
    guarantee: Guarantee | None = None
    """What they guarantee for groups whose assignment cannot be predicted."""
    in_brokers_order: bool = False
    """Whether they take the partitions of a topic in the order in which brokers list them."""


@dataclass(frozen=True)
class Since:
    """The first release whose rules are reproduced."""

    release: Release
    reason: str
    """Why earlier releases cannot be predicted."""


@dataclass(frozen=True)
class LibraryAssignor:
    """The assignor that a leader of a library runs under a protocol name."""

    protocol: str
    """The name under which members offer it."""
    strategy: str
    """The name under which this program shows it."""
    rules: Rules | None = None
    """None if its assignments cannot be predicted."""
    unpredictable: str = ""
    """Why its assignments cannot be predicted."""
    guarantee: Guarantee | None = None
    """What it guarantees for groups whose assignment cannot be predicted."""
    earlier: tuple[Earlier, ...] = ()
    """The rules of earlier releases, the oldest first."""
    since: Since | None = None
    """None if all releases are reproduced."""
    remembers: bool = False
    """Whether its assignments depend on the partitions that members own."""
    in_brokers_order: bool = False
    """Whether it takes the partitions of a topic in the order in which brokers list them."""
    reports_owned: bool = True
    """Whether a leader of another library learns the partitions that a member owns, which the prediction needs."""
    adds_user_data: bool = False
    """Whether it puts user data beside the assigned partitions, which the coordinator cannot convert."""

    @property
    def is_cooperative(self) -> bool:
        """Whether members keep their partitions until they are revoked (KIP-429)."""
        return self.protocol == "cooperative-sticky"

    @property
    def strategies(self) -> dict[str, Rules]:
        """The rules that can be predicted, by strategy."""
        newest = {self.strategy: self.rules} if self.rules else {}
        return newest | {each.strategy: each.rules for each in self.earlier}

    @property
    def strategies_in_brokers_order(self) -> tuple[str, ...]:
        """The strategies that take the partitions of a topic in the order in which brokers list them."""
        newest = (self.strategy,) if self.in_brokers_order else ()
        return newest + tuple(each.strategy for each in self.earlier if each.in_brokers_order)

    @property
    def guarantees(self) -> dict[str, Guarantee]:
        """By strategy, what is guaranteed for groups whose assignment cannot be predicted."""
        given = {self.strategy: self.guarantee} | {each.strategy: each.guarantee for each in self.earlier}
        return {strategy: guarantee for strategy, guarantee in given.items() if guarantee is not None}

    def strategy_of(self, release: Release) -> str:
        """Return the strategy of a release; None if its rules are not reproduced."""
        return next((each.strategy for each in self.earlier if release < each.before), self.strategy)


def _always(_: str, __: "SentSubscription") -> bool:
    return True


def _never(_: str, __: "SentSubscription") -> bool:
    return False


def has_empty_user_data(_: str, sent: "SentSubscription") -> bool:
    """Return whether the user data are empty, where Java sends null."""
    return sent.content.user_data == b""


def has_no_user_data(_: str, sent: "SentSubscription") -> bool:
    """Return whether the user data are null: only a user's own assignor sends any."""
    return sent.content.user_data is None


@dataclass(frozen=True)
class Subscriptions:
    """The subscriptions that members of a library send."""

    versions: tuple[int, ...]
    could_be: Callable[[str, "SentSubscription"], bool] = _always
    """Returns whether a member that offers a protocol may have sent a subscription of one of these versions."""
    is_rare: Callable[[str, "SentSubscription"], bool] = _never
    """Returns whether members rarely send it, so that another library that sends it is more likely."""
    end_early: bool = False
    """Whether they end after the user data, before the owned partitions that their version has.

    Java's consumer cannot read them; a leader fails with a SchemaException."""


def _is_none(_: str, __: str, ___: str | None) -> bool:
    return False


@dataclass(frozen=True)
class ClientLibrary:
    """Everything that this program knows about a client library."""

    name: str
    """As the column ``client_library`` names it."""
    client_ids: str | None
    """A pattern of the whole client ids that it uses unless one is configured, with the library's release in the
    pattern's group ``release``; None if there is no default."""
    default_protocols: tuple[tuple[Release, tuple[str, ...]], ...]
    """The first release of each list, in ascending order, and the protocols, most preferred first."""
    subscriptions: Subscriptions
    assignor_setting: str
    """The consumer's setting, option or field that lists its assignors, the most preferred first."""
    assignors: tuple[LibraryAssignor, ...] = ()
    """Empty for Java, whose assignors are those of the Kafka release (``rebalance_sim.kafka.assignors.ASSIGNORS``)."""
    consumer_protocol_since: Release | None = None
    """The first release whose consumers can use ``group.protocol=consumer`` in production; None: no release."""
    has_static_members: bool = True
    """Whether consumers can have a ``group.instance.id`` (KIP-345, static membership)."""
    mixes_assignors: bool = True
    """Whether a consumer can list eager and cooperative assignors together."""
    assigns_leaders_topics: bool = False
    """Whether a leader assigns only the topics to which it subscribes itself, and those to all members."""
    names_its_group: Callable[[str, str, str | None], bool] = _is_none
    """Returns whether a client id is a default that contains names of the member: its group id or instance id."""
    partitioners: tuple[Client, ...] = ()
    protocol_types: tuple[str, ...] = ()
    """Protocol types, other than that of consumers, whose members all use this library."""

    @property
    def strategies(self) -> dict[str, Rules]:
        """The rules of all assignors that can be predicted, by strategy."""
        return {name: rules for each in self.assignors for name, rules in each.strategies.items()}

    def assignor(self, protocol: str) -> LibraryAssignor | None:
        """Return the assignor for a protocol name, if there is one."""
        return next((each for each in self.assignors if each.protocol == protocol), None)

    def protocols_of(self, release: Release | None = None) -> tuple[str, ...]:
        """Return the protocols that consumers offer unless they are configured otherwise, most preferred first.

        Without a release, those of the newest one.
        """
        return [protocols for since, protocols in self.default_protocols if release is None or since <= release][-1]
