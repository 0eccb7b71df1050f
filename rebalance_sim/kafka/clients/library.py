"""The fields of a client library's record.

Nothing here imports a rule, so that ``--help`` lists the names of all records at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
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

ASSIGNORS, INSTANCE_ID = "partition.assignment.strategy", "group.instance.id"
PROTOCOL, REMOTE_ASSIGNOR = "group.protocol", "group.remote.assignor"
SESSION_TIMEOUT, HEARTBEAT_INTERVAL = "session.timeout.ms", "heartbeat.interval.ms"
POLL_INTERVAL, POLL_RECORDS = "max.poll.interval.ms", "max.poll.records"
REBALANCE_TIMEOUT = "rebalance.timeout.ms"
"""Kafka's names of the settings of consumers that groups depend on.

The last is a field of JoinGroup, for which Java's consumers send ``max.poll.interval.ms``."""
SETTINGS = (*(ASSIGNORS, INSTANCE_ID, PROTOCOL, REMOTE_ASSIGNOR), *(SESSION_TIMEOUT, HEARTBEAT_INTERVAL, POLL_INTERVAL))
"""Settings that libraries have which name them as Kafka does."""
OF_CLASSIC_PROTOCOL = (ASSIGNORS, SESSION_TIMEOUT, HEARTBEAT_INTERVAL)
"""Settings that the coordinator decides for members that use the consumer protocol (KIP-848)."""


@dataclass(frozen=True)
class Unit:
    """The unit in which a library takes durations."""

    milliseconds: int
    written: str = "{}"
    """How a number of it is written."""

    def of(self, milliseconds: int) -> str:
        """Return a duration as the library takes it.

        >>> GO_SECONDS.of(60_000), SECONDS.of(45_000), MILLISECONDS.of(45_000)
        ('60 * time.Second', '45', '45000')
        """
        return self.written.format(milliseconds // self.milliseconds)

    def in_milliseconds(self, value: str) -> int:
        """Return a duration of ``of`` as a number.

        >>> GO_SECONDS.in_milliseconds("60 * time.Second")
        60000
        """
        return int(value.split(maxsplit=1)[0]) * self.milliseconds


MILLISECONDS, SECONDS, GO_SECONDS = Unit(1), Unit(1000), Unit(1000, "{} * time.Second")


@dataclass(frozen=True)
class Rules:
    """The function of this package that assigns the groups of a batch; its module is imported at the first call."""

    module: str
    function: str = "assign"

    def __call__(self, *arguments: Any) -> "AssignmentOutcome":
        """Assign the groups of a batch."""
        return getattr(import_module(self.module), self.function)(*arguments)


_BYTE_ORDER = "rebalance_sim.kafka.assignors.steps.byte_order"
RANGES_BY_MEMBER_ID = Rules(_BYTE_ORDER, "assign_ranges_by_member_id")
IN_TURN_BY_MEMBER_ID = Rules(_BYTE_ORDER, "assign_in_turn_by_member_id")
"""The rules of libraries that sort all members by the bytes of their ids, the static ones, too."""


@dataclass(frozen=True)
class Earlier:
    """The rules that earlier releases of a library follow under the same protocol name."""

    before: Release
    """The first release that no longer follows these rules."""
    strategy: str
    rules: Rules
    guarantee: Guarantee | None = None
    """What they guarantee for groups whose assignment cannot be predicted."""
    deals_each_topic: bool = False
    """Whether they deal out every topic on its own, as later ones do not, so that the same members get most."""


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
    configured_as: str = ""
    """How the library's configuration names it; empty: by its protocol name."""
    added: Release = (0,)
    """The first release that has it."""

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
    settings: Mapping[str, str]
    """The settings, options or fields of its consumers, by Kafka's names; without what it does not have.

    The one of ``ASSIGNORS`` lists its assignors, the most preferred first."""
    assignors: tuple[LibraryAssignor, ...] = ()
    """Empty for Java, whose assignors are those of the Kafka release (``rebalance_sim.kafka.assignors.ASSIGNORS``)."""
    configured_assignors: Mapping[str, str] = field(default_factory=dict)
    """By protocol name, how its configuration names assignors that are not listed in ``assignors``."""
    durations: Unit = MILLISECONDS
    """How its settings take durations."""
    single_assignor: tuple[Release, str] | None = None
    """The first release whose setting takes a list of assignors, and the setting of earlier ones, which takes one."""
    consumer_protocol_since: Release | None = None
    """The first release whose consumers can use ``group.protocol=consumer`` in production; None: no release."""
    protocol_value: str = "consumer"
    """The value of the setting for this."""
    remote_assignors: Mapping[str, str] = field(default_factory=dict)
    """By assignor of the coordinator, the own assignor that stands for it, where it has no setting for that."""
    rejected_beside_protocol: tuple[str, ...] = ()
    """Settings, by Kafka's names, that a consumer rejects beside the consumer protocol."""
    static_members_since: Release = (0,)
    """The first release whose consumers can have a ``group.instance.id``, if there is one (KIP-345)."""
    mixes_assignors: bool = True
    """Whether a consumer can list eager and cooperative assignors together."""
    returns_to_eager: bool = True
    """Whether a cooperative group can return to an eager assignor without stopping all members."""
    assigns_leaders_topics: bool = False
    """Whether a leader assigns only the topics to which it subscribes itself, and those to all members."""
    assigns_all_topics_since: Release | None = None
    """The first release whose leader assigns the topics of all members, if earlier ones do not; None: no release."""
    names_its_group: Callable[[str, str, str | None], bool] = _is_none
    """Returns whether a client id is a default that contains names of the member: its group id or instance id."""
    partitioners: tuple[Client, ...] = ()
    protocol_types: tuple[str, ...] = ()
    """Protocol types, other than that of consumers, whose members all use this library."""

    @property
    def assignor_setting(self) -> str:
        """The setting that lists its assignors, the most preferred first."""
        return self.settings[ASSIGNORS]

    @property
    def has_static_members(self) -> bool:
        """Whether consumers can have a ``group.instance.id`` (KIP-345, static membership)."""
        return INSTANCE_ID in self.settings

    def has_assignor(self, protocol: str) -> bool:
        """Return whether it has an assignor of its own for a protocol name."""
        return self.assignor(protocol) is not None or protocol in self.configured_assignors

    def configured(self, protocol: str) -> str:
        """Return how its configuration names an assignor; one that it does not know by its protocol name.

        >>> from rebalance_sim.kafka.clients import LIBRARIES
        >>> LIBRARIES["aiokafka"].configured("range"), LIBRARIES["librdkafka"].configured("range")
        ('RangePartitionAssignor', 'range')
        """
        known = self.assignor(protocol)
        named = known.configured_as if known else self.configured_assignors.get(protocol)
        return named or protocol

    def protocol_configured_as(self, value: str) -> str:
        """Return the protocol name of an assignor that its configuration names."""
        protocols = (*(each.protocol for each in self.assignors), *self.configured_assignors)
        return next((protocol for protocol in protocols if self.configured(protocol) == value), value)

    def consumer_protocol(self, assignor: str) -> dict[str, str]:
        """Return the settings for the consumer protocol with an assignor of the coordinator, ``uniform`` or ``range``.

        >>> from rebalance_sim.kafka.clients import LIBRARIES
        >>> LIBRARIES["platformatic-kafka"].consumer_protocol("uniform")
        {'groupProtocol': 'consumer', 'groupRemoteAssignor': 'uniform'}
        >>> LIBRARIES["franz-go"].consumer_protocol("range")
        {'kgo.ServerSideBalancer': 'enabled', 'kgo.Balancers': 'kgo.RangeBalancer()'}
        """
        protocol = {self.settings[PROTOCOL]: self.protocol_value}
        if REMOTE_ASSIGNOR in self.settings:
            return protocol | {self.settings[REMOTE_ASSIGNOR]: assignor}
        return protocol | {self.assignor_setting: self.configured(self.remote_assignors[assignor])}

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
