"""The assignors of other client libraries, called live, return the predicted assignments."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rebalance_sim.kafka.assignors.by_library import GUARANTEES
from rebalance_sim.releases import PartitionOrder, kafka_version
from tests.oracle.random_cases import assignor_cases
from tests.support import other_libraries
from tests.support.batches import Batch
from tests.support.bounds import outside
from tests.support.cases import Answer, group_of
from tests.support.librdkafka_leader import ask_librdkafka
from tests.support.model import VERSIONS, Assignment, Group, Member, Partition
from tests.support.shares import Draws
from tests.support.strategies import as_sent

pytestmark = [pytest.mark.clients, pytest.mark.filterwarnings("ignore:(read|open)_text is deprecated")]


def some_groups(seed: int, count: int) -> list[Group]:
    return [as_sent(group_of(case)) for case in assignor_cases(seed, count)]


def in_order(answer: Answer) -> Answer:
    """Sort lists: librdkafka's depend on the order of topics in the broker's metadata."""
    return answer if isinstance(answer, str) else {member_id: sorted(has) for member_id, has in answer.items()}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_librdkafka_returns_the_predicted_assignment(strategy: str, version: str, seed: int, draws: Draws) -> None:
    groups = some_groups(seed, draws(600))
    ours = Batch(groups).answers(version, f"librdkafka-{strategy}")
    theirs = ask_librdkafka(strategy, other_libraries.as_listed(version, groups))
    assert [pair for pair in zip(map(in_order, theirs), ours, strict=True) if pair[0] != pair[1]] == []
    assert theirs != Batch(groups).assign(version, strategy)


class Subscription(NamedTuple):
    topics: list[str]


class Joined(NamedTuple):
    """The attributes of a member that kafka-python's assignors use."""

    member_id: str
    group_instance_id: str | None
    metadata: Any


class Claim(NamedTuple):
    topic: str
    partitions: list[int]


class Claiming(NamedTuple):
    """The attributes of a cooperative subscription."""

    topics: list[str]
    owned_partitions: list[Any]
    generation_id: int


class Metadata:
    """The methods of cluster metadata that kafka-python's assignors call."""

    def __init__(self, partitions: Mapping[str, int]) -> None:
        self._partitions = partitions

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(range(self._partitions[topic])) if topic in self._partitions else None

    def topics(self) -> set[str]:
        return set(self._partitions)


def partitions_of(assigned: Any) -> list[Partition]:
    """Return the partitions of an assignment of Python's libraries, which is by topic."""
    return [Partition(topic, number) for topic, numbers in assigned for number in numbers]


def ask_kafka_python(assignor: Any, group: Group) -> Answer:
    joined = [Joined(m.member_id, m.instance_id, Subscription(list(m.topics))) for m in group.members]
    try:
        answer = assignor.assign(Metadata(group.cluster.partitions), joined)
    except KeyError as error:
        return type(error).__name__
    return {member_id: partitions_of(assigned.assigned_partitions) for member_id, assigned in answer.items()}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_kafka_python_returns_the_predicted_assignment(strategy: str, version: str, seed: int, draws: Draws) -> None:
    from kafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415 - the whole package, which warns
    from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415

    assignor = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}[strategy]
    groups = some_groups(seed, draws(3000))
    ours = Batch(groups).answers(version, f"kafka-python-{strategy}")
    theirs = [ask_kafka_python(assignor, group) for group in other_libraries.as_listed(version, groups)]
    assert [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]] == []
    assert ("KeyError" in theirs) == (strategy == "roundrobin")
    assert theirs != Batch(groups).answers(version, strategy)


class Subscribed(NamedTuple):
    """The attribute of a member that aiokafka's range and roundrobin use."""

    subscription: list[str]


@pytest.mark.parametrize("strategy", ["range", "roundrobin"])
def test_aiokafka_returns_the_predicted_assignment(strategy: str, seed: int, draws: Draws) -> None:
    from aiokafka.coordinator.assignors.range import RangePartitionAssignor  # noqa: PLC0415
    from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor  # noqa: PLC0415

    assignor = {"range": RangePartitionAssignor, "roundrobin": RoundRobinPartitionAssignor}[strategy]

    def ask(group: Group) -> Assignment:
        joined = {member.member_id: Subscribed(list(member.topics)) for member in group.members}
        answer = assignor.assign(Metadata(group.cluster.partitions), joined)
        return {member_id: partitions_of(assigned.assignment) for member_id, assigned in answer.items()}

    groups = some_groups(seed, draws(3000))
    ours = Batch(groups).answers("4.3", f"aiokafka-{strategy}")
    theirs = [ask(group) for group in groups]
    assert [pair for pair in zip(theirs, map(in_order, ours), strict=True) if pair[0] != pair[1]] == []
    assert theirs != Batch(groups).answers("4.3", strategy)


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory in which the programs are built once."""
    return tmp_path_factory.mktemp("programs")


@pytest.fixture(scope="module", params=VERSIONS)
def asked(
    request: pytest.FixtureRequest, programs: Path, seed: int, draws: Draws
) -> tuple[str, list[Group], list[dict[str, Answer]]]:
    """Ask the libraries of Go and JavaScript about groups of brokers of a version."""
    groups = [*other_libraries.some_groups(seed, draws(500)), *other_libraries.one_topic_groups(seed, draws(500))]
    of_go = other_libraries.ask_go(request.param, groups, programs)
    of_node = other_libraries.ask_node(request.param, groups, programs)
    return request.param, groups, [go | node for go, node in zip(of_go, of_node, strict=True)]


@pytest.mark.parametrize("version", VERSIONS)
def test_librdkafkas_cooperative_sticky_returns_the_predicted_assignment(version: str, seed: int, draws: Draws) -> None:
    """Groups that are not predicted are left out: in some of them librdkafka reads freed memory, and may crash."""
    some = [*other_libraries.some_groups(seed, draws(600)), *other_libraries.one_topic_groups(seed, draws(400))]
    groups = other_libraries.with_equal_subscriptions(some)
    answers = Batch(groups).answers(version, "librdkafka-cooperative-sticky")
    predicted = [(group, answer) for group, answer in zip(groups, answers, strict=True) if answer != "undetermined"]
    assert len(predicted) >= draws(500)
    listed = other_libraries.as_listed(version, [group for group, _ in predicted])
    theirs = map(in_order, ask_librdkafka("cooperative-sticky", listed))
    ours = [in_order(answer) for _, answer in predicted]
    assert [pair for pair in zip(theirs, ours, strict=True) if pair[0] != pair[1]] == []


@pytest.mark.parametrize("strategy", [*other_libraries.OF_GO, *other_libraries.OF_JAVASCRIPT])
def test_libraries_of_go_and_javascript_return_the_predicted_assignment(
    strategy: str, asked: tuple[str, list[Group], list[dict[str, Answer]]]
) -> None:
    """franz-go's sticky assignor determines the assignment of a group with one topic, if claims do not conflict.

    The programs list partitions in ascending order, which brokers before 4.3 need not do.
    """
    version, groups, answers = asked
    ours = [in_order(given) for given in Batch(groups).answers(version, strategy)]
    answered = [
        (answer[strategy], given) for answer, given in zip(answers, ours, strict=True) if given != "undetermined"
    ]
    assert [pair for pair in answered if pair[0] != pair[1]] == []
    in_brokers_order = strategy in ("kafka-go-range", "kafka-go-roundrobin", "kafkajs-roundrobin")
    if in_brokers_order and kafka_version(version).partition_order is not PartitionOrder.ASCENDING:
        assert answered
    elif strategy in other_libraries.STICKY_OF_ONE_TOPIC:
        assert len(answered) > 0.4 * len(groups)
    elif strategy == "kafka-node-roundrobin":
        assert len(answered) > 0.7 * len(groups)
    else:
        assert len(answered) == len(groups)


Ask = Callable[[str, Sequence[Group], Path], list[dict[str, Answer]]]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("ask", "strategies"),
    [(other_libraries.ask_ruby, other_libraries.OF_RUBY), (other_libraries.ask_erlang, other_libraries.OF_ERLANG)],
    ids=["ruby-kafka", "brod"],
)
def test_libraries_of_ruby_and_erlang_return_the_predicted_assignment(
    ask: Ask, strategies: Mapping[str, str], version: str, programs: Path, seed: int, draws: Draws
) -> None:
    """The programs list partitions in ascending order, which brokers before 4.3 need not do."""
    groups = [*other_libraries.some_groups(seed, draws(400)), *other_libraries.one_topic_groups(seed, draws(100))]
    answers = ask(version, groups, programs)
    for strategy in strategies:
        ours = map(in_order, Batch(groups).answers(version, strategy))
        answered = [(theirs[strategy], given) for theirs, given in zip(answers, ours, strict=True)]
        predicted = [pair for pair in answered if pair[1] != "undetermined"]
        assert predicted
        assert [pair for pair in predicted if pair[0] != pair[1]] == []


# ---- bounds of what cannot be predicted


@pytest.fixture(scope="module")
def bounded_groups(seed: int, draws: Draws) -> list[Group]:
    some, one_topic = other_libraries.some_groups(seed, draws(500)), other_libraries.one_topic_groups(seed, draws(200))
    return [*some, *other_libraries.with_equal_subscriptions(some[: draws(200)]), *one_topic]


def outside_of_bounds(
    strategy: str, groups: list[Group], ask: Callable[[Sequence[Group]], list[Assignment]]
) -> list[Group]:
    """Return the groups whose assignments by a library are not within the bounds."""
    cooperative = strategy.endswith("cooperative-sticky")
    bounds = Batch(groups).bounds(GUARANTEES[strategy], silent=not cooperative)
    answers = other_libraries.last_answers(groups, ask) if cooperative else ask(groups)
    return [group for group, bad in zip(groups, outside(Batch(groups), bounds, answers), strict=True) if bad]


@pytest.mark.parametrize("strategy", [*other_libraries.UNPREDICTABLE_OF_GO, *other_libraries.STICKY_OF_ONE_TOPIC])
def test_libraries_of_go_assign_within_the_bounds(strategy: str, bounded_groups: list[Group], programs: Path) -> None:
    def ask(groups: Sequence[Group]) -> list[Assignment]:
        answers = other_libraries.ask_go("4.3", groups, programs)
        return [given for answer in answers if not isinstance(given := answer[strategy], str)]

    assert outside_of_bounds(strategy, bounded_groups, ask) == []


@pytest.mark.parametrize(
    ("strategy", "ask"),
    [("kafka-node-roundrobin", other_libraries.ask_node), ("ruby-kafka-roundrobin", other_libraries.ask_ruby)],
)
def test_unknown_orders_lead_to_assignments_within_the_bounds(
    strategy: str, ask: Ask, bounded_groups: list[Group], programs: Path
) -> None:
    """Groups that subscribe to the same topics in another order are as good examples of what a broker may list."""
    answers = [answer[strategy] for answer in ask("4.3", bounded_groups, programs)]
    groups = [group for group, answer in zip(bounded_groups, answers, strict=True) if not isinstance(answer, str)]
    given = [answer for answer in answers if not isinstance(answer, str)]
    bounds = Batch(groups).bounds(GUARANTEES[strategy], silent=True)
    assert not outside(Batch(groups), bounds, given).any()


class Had(NamedTuple):
    """A partition as Python's assignors name it."""

    topic: str
    partition: int


def subscription(assignor: Any, member: Member) -> Any:
    """Return what a member sends: sticky members put what they own into user data."""
    topics = list(member.topics)
    if assignor.name == "sticky":
        return assignor._metadata(topics, [Had(*partition) for partition in member.owned], member.generation)
    return Claiming(topics, [Claim(topic, [number]) for topic, number in member.owned], member.generation)


def ask_kafka_pythons_sticky(assignor: Any, group: Group) -> Assignment | None:
    """Return the assignment; None if the leader fails."""
    joined = [Joined(m.member_id, m.instance_id, subscription(assignor, m)) for m in group.members]
    try:
        answer = assignor.assign(Metadata(group.cluster.partitions), joined)
    except KeyError:
        return None
    return {member_id: partitions_of(assigned.assigned_partitions) for member_id, assigned in answer.items()}


def ask_aiokafkas_sticky(assignor: Any, group: Group) -> Assignment | None:
    """Return the assignment; None if the leader fails."""
    joined = {m.member_id: subscription(assignor, m) for m in group.members}
    try:
        answer = assignor.assign(Metadata(group.cluster.partitions), joined)
    except KeyError:
        return None
    return {member_id: partitions_of(assigned.assignment) for member_id, assigned in answer.items()}


def python_assigns_within_the_bounds(
    strategy: str, some: list[Group], ask_for: Callable[[Group], Assignment | None]
) -> None:
    groups = [group for group in some if ask_for(group) is not None]
    assert len(groups) > 0.5 * len(some)

    def ask(some: Sequence[Group]) -> list[Assignment]:
        return [answer for group in some if (answer := ask_for(group)) is not None]

    assert outside_of_bounds(strategy, groups, ask) == []


@pytest.mark.parametrize("strategy", ["sticky", "cooperative-sticky"])
def test_kafka_python_assigns_within_the_bounds(strategy: str, bounded_groups: list[Group]) -> None:
    from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor  # noqa: PLC0415
    from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor  # noqa: PLC0415

    assignor = {"sticky": StickyPartitionAssignor, "cooperative-sticky": CooperativeStickyAssignor}[strategy]()
    python_assigns_within_the_bounds(
        f"kafka-python-{strategy}", bounded_groups, lambda group: ask_kafka_pythons_sticky(assignor, group)
    )


def test_aiokafka_assigns_within_the_bounds(bounded_groups: list[Group]) -> None:
    from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor  # noqa: PLC0415

    python_assigns_within_the_bounds(
        "aiokafka-sticky", bounded_groups, lambda group: ask_aiokafkas_sticky(StickyPartitionAssignor, group)
    )
