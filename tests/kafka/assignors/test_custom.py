"""A user's own assignor: its input, what becomes of its result, and its errors."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.assignors import KNOWN_ASSIGNORS
from rebalance_sim.kafka.assignors.consumer_partition_assignor import ConsumerPartitionAssignor
from rebalance_sim.kafka.assignors.custom import AssignorError, assign_group, by_name, check_assignor
from rebalance_sim.kafka.rebalances import RebalanceProtocol
from rebalance_sim.kafka.wire.consumer_protocol import Subscription, TopicPartition
from rebalance_sim.releases import KafkaVersion, kafka_version
from tests.support.arrays import in_map_order
from tests.support.cases import assignment_of, golden, group_of
from tests.support.java import java_key
from tests.support.model import Assignment, Group, Partition

V1, V2, V3, V4 = map(kafka_version, ("1.0", "2.3", "3.9", "4.3"))
EAGER, COOPERATIVE = RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE
T0, T1, T2 = (TopicPartition("t", number) for number in range(3))

Assign = Callable[[dict[str, int], dict[str, Subscription]], Any]


class Mine(ConsumerPartitionAssignor):
    """An assignor that returns what a test says."""

    name = "mine"

    def __init__(self, answer: Assign, *protocols: RebalanceProtocol, user_data: Any = None) -> None:
        self.answer = answer
        self.supported_protocols = protocols or (EAGER,)
        self.user_data = user_data

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        assert isinstance(partitions, dict)
        assert isinstance(subscriptions, dict)
        return self.answer(partitions, subscriptions)

    def subscription_user_data(self, subscription: Subscription) -> bytes | None:
        return self.user_data(subscription) if callable(self.user_data) else self.user_data


MEMBERS = {"c1": Subscription(("t", "u")), "c2": Subscription(("t",))}


def run(
    assignor: ConsumerPartitionAssignor, members: dict[str, Subscription] = MEMBERS, version: KafkaVersion = V4
) -> dict[str, list[TopicPartition]]:
    return assign_group(assignor, {"t": 3, "u": 1, "empty": 0, "missing": -1}, members, version)


def failure(assignor: ConsumerPartitionAssignor, members: dict[str, Subscription] = MEMBERS) -> str:
    with pytest.raises(AssignorError) as caught:
        run(assignor, members)
    return str(caught.value)


# ---- range as a user's own assignor


class RangeInPython(ConsumerPartitionAssignor):
    """``RangeAssignor`` of consumers without racks, as a user would write it."""

    name = "range-in-python"

    def assign(
        self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]
    ) -> Mapping[str, Sequence[TopicPartition]]:
        assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in subscriptions}

        def place(member_id: str) -> tuple[bool, bytes]:
            instance_id = subscriptions[member_id].group_instance_id
            return instance_id is None, java_key(member_id if instance_id is None else instance_id)

        for topic, count in partitions.items():
            wanted_by = sorted((m for m, message in subscriptions.items() if topic in message.topics), key=place)
            share, extra = divmod(count, len(wanted_by))
            numbers = iter(range(count))
            for i, member_id in enumerate(wanted_by):
                assignment[member_id] += [TopicPartition(topic, next(numbers)) for _ in range(share + (i < extra))]
        return assignment


def by_range_in_python(group: Group) -> Assignment:
    sent = {m.member_id: Subscription(m.topics, group_instance_id=m.instance_id) for m in group.members}
    members = {member_id: sent[member_id] for member_id in in_map_order(list(sent))}
    named = dict.fromkeys(topic for subscription in members.values() for topic in subscription.topics)
    partitions = {topic: group.cluster.partitions.get(topic, -1) for topic in named}
    answer = assign_group(RangeInPython(), partitions, members, V4)
    return {member_id: [Partition(*partition) for partition in given] for member_id, given in answer.items()}


def test_range_written_in_python_gives_kafkas_answers() -> None:
    """Topics come in the order of Kafka's map, which each member's list shows."""
    compared = 0
    for case, answer in zip(golden("cases-assignors"), golden("range-4.3"), strict=True):
        group = group_of(case)
        if all(member.rack is None for member in group.members):
            compared += 1
            assert by_range_in_python(group) == assignment_of(answer)
    assert compared > 500


# ---- the input


def test_assign_gets_only_topics_that_exist() -> None:
    seen: list[dict[str, int]] = []

    def answer(partitions: dict[str, int], subscriptions: dict[str, Subscription]) -> Any:
        seen.append(dict(partitions))
        partitions.clear()
        subscriptions.clear()
        return {"c1": [("t", 2)], "c2": ()}

    assert run(Mine(answer)) == {"c1": [T2], "c2": []}
    assert seen == [{"t": 3, "u": 1}]


GIVEN = Subscription(("t",), b"mine", (T1,), 7, "rack-a", "instance")


@pytest.mark.parametrize(
    ("version", "protocols", "expected"),
    [
        (V4, (EAGER,), replace(GIVEN, owned=())),
        (V3, (EAGER,), replace(GIVEN, owned=())),
        (V4, (COOPERATIVE,), GIVEN),
        (V4, (COOPERATIVE, EAGER), GIVEN),
        (V2, (COOPERATIVE, EAGER), Subscription(("t",), b"mine")),
        (V1, (EAGER,), Subscription(("t",), b"mine")),
    ],
)
def test_the_leader_sees_the_subscription_that_the_release_sends(
    version: KafkaVersion, protocols: tuple[RebalanceProtocol, ...], expected: Subscription
) -> None:
    seen: list[dict[str, Subscription]] = []

    def answer(_: object, subscriptions: dict[str, Subscription]) -> Any:
        seen.append(subscriptions)
        return {"c": [T1]}

    run(Mine(answer, *protocols), {"c": GIVEN}, version)
    assert seen == [{"c": expected}]


def test_missing_user_data_comes_from_the_assignor() -> None:
    """The member creates it from what it owned."""

    def answer(_: object, subscriptions: dict[str, Subscription]) -> Any:
        assert [message.user_data for message in subscriptions.values()] == [b"", b"t-1"]
        return {member_id: [] for member_id in subscriptions}

    def user_data(subscription: Subscription) -> bytes:
        return b" ".join(f"{topic}-{number}".encode() for topic, number in subscription.owned or ())

    members = {"given": replace(GIVEN, user_data=b""), "made": replace(GIVEN, user_data=None)}
    run(Mine(answer, user_data=user_data), members)


# ---- invalid results


class Odd:
    """An object whose text contains its address in memory."""


LONG = "x" * 1000
WRONG: list[tuple[object, str]] = [
    (None, "returned None, not a mapping of member ids to partitions"),
    ([("c1", [T0])], "returned list, not a mapping of member ids to partitions"),
    ({"c1": [], "c2": [], "c9": []}, "named 'c9', which is not a member (members: 'c1', 'c2')"),
    ({"c1": [], "c2": [], 7: []}, "named 7, which is not a member (members: 'c1', 'c2')"),
    ({"c2": [T0]}, "has no list for 'c1', without which Kafka's consumer fails; allowed: an empty one"),
    ({"c1": None, "c2": []}, "assigned None to 'c1', not a list of partitions"),
    ({"c1": 5, "c2": []}, "assigned int to 'c1', not a list of partitions"),
    ({"c1": [], "c2": "t-0"}, "assigned str to 'c2', not a list of partitions"),
    ({"c1": [], "c2": {T0: 1}}, "assigned dict to 'c2', not a list of partitions"),
    ({"c1": T0, "c2": []}, "assigned 'c1' a list that contains str; allowed: TopicPartition"),
    ({"c1": [0], "c2": []}, "assigned 'c1' a list that contains int; allowed: TopicPartition"),
    ({"c1": [("t", "0")], "c2": []}, "assigned 'c1' a list that contains tuple; allowed: TopicPartition"),
    ({"c1": [("t", 0.0)], "c2": []}, "assigned 'c1' a list that contains tuple; allowed: TopicPartition"),
    ({"c1": [(0, 0)], "c2": []}, "assigned 'c1' a list that contains tuple; allowed: TopicPartition"),
    ({"c1": [("t", 0, 1)], "c2": []}, "assigned 'c1' a list that contains tuple; allowed: TopicPartition"),
    ({"c1": [T0], "c2": [T1, T0]}, "assigned partition t-0 to 'c1' and 'c2'"),
    ({"c1": [T1, T0, T1], "c2": []}, "assigned partition t-1 to 'c1' twice"),
    ({"c1": [], "c2": [("u", 0)]}, "assigned partition u-0 to 'c2', which does not subscribe to 'u'"),
    ({"c1": [("nowhere", 0)], "c2": []}, "assigned partition nowhere-0 to 'c1', which does not subscribe to 'nowhere'"),
    ({"c1": [("t", 3)], "c2": []}, "assigned unknown partition t-3 to 'c1' ('t' has 3 partitions)"),
    ({"c1": [], "c2": [("t", -1)]}, "assigned unknown partition t--1 to 'c2' ('t' has 3 partitions)"),
    ({"c1": [("t", 10**400)], "c2": []}, f"assigned unknown partition t-1{'0' * 98}… to 'c1' ('t' has 3 partitions)"),
    (
        {"c1": [], "c2": [(f"{LONG}\n", 0)]},
        f"assigned partition {'x' * 99}…-0 to 'c2', which does not subscribe to '{'x' * 98}…",
    ),
]


@pytest.mark.parametrize(("answer", "message"), WRONG)
def test_invalid_assignments_become_errors(answer: object, message: str) -> None:
    assert failure(Mine(lambda *_: answer)) == f"assignor 'mine' {message}"


@pytest.mark.parametrize("topic", ["missing", "empty"])
def test_partitions_of_a_topic_without_partitions_are_unknown(topic: str) -> None:
    members = {"c": Subscription((topic,))}
    message = f"assignor 'mine' assigned unknown partition {topic}-0 to 'c' ({topic!r} has 0 partitions)"
    assert failure(Mine(lambda *_: {"c": [(topic, 0)]}), members) == message


def test_errors_list_only_a_few_members() -> None:
    members = {f"c{i}": Subscription(("t",)) for i in range(1000)}
    message = failure(Mine(lambda _, subscriptions: dict.fromkeys([*subscriptions, "c-1", "c-2"], ())), members)
    assert message.endswith("named 'c-1', which is not a member (members: 'c0', 'c1', 'c2', 'c3', 'c4' and 995 more)")


def raising(problem: BaseException) -> Assign:
    def answer(*_: object) -> Any:
        raise problem

    return answer


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (KeyError("x"), "raised KeyError: 'x'"),
        (ValueError("two\n  lines"), "raised ValueError: two lines"),
        (ValueError(Odd()), f"raised ValueError: <{__name__}.Odd object>"),
        (ValueError(LONG), f"raised ValueError: {'x' * 287}…"),
        (RecursionError(), "raised RecursionError"),
    ],
)
def test_exceptions_become_errors(problem: Exception, message: str) -> None:
    assert failure(Mine(raising(problem))) == f"assignor 'mine' {message}"


def test_keyboard_interrupts_pass_through() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(Mine(raising(KeyboardInterrupt())))


def test_failures_in_user_data_and_in_lists_become_errors() -> None:
    nothing: dict[str, Any] = {"c1": (), "c2": ()}
    assert failure(Mine(lambda *_: nothing, user_data="text")) == (
        "assignor 'mine' returned str as the user data of 'c1'; allowed: bytes and None"
    )
    assert failure(Mine(lambda *_: nothing, user_data=raising(OSError("no")))) == "assignor 'mine' raised OSError: no"
    late = map(int, ["none"])
    assert failure(Mine(lambda *_: nothing | {"c1": late})).startswith("assignor 'mine' raised ValueError: ")


def test_partitions_may_stay_unassigned() -> None:
    assert run(Mine(lambda *_: {"c2": [T1, T0], "c1": iter(())})) == {"c1": [], "c2": [T1, T0]}


# ---- cooperative


OWNERS = {
    "c1": Subscription(("t",), owned=(T0, T1)),
    "c2": Subscription(("t",), owned=(T1, T2, TopicPartition("gone", 0))),
    "c3": Subscription(("t",)),
}


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        ({"c1": [T0, T1], "c2": [T2], "c3": []}, None),
        ({"c1": [], "c2": [T1], "c3": []}, None),
        ({"c1": [T0], "c2": [], "c3": []}, None),
        ({"c1": [], "c2": [T2], "c3": [T0]}, ("t-0", "c3", "c1")),
        ({"c1": [T2], "c2": [], "c3": []}, ("t-2", "c1", "c2")),
        ({"c1": [], "c2": [], "c3": [T1]}, ("t-1", "c3", "c2")),
    ],
)
def test_cooperative_assignments_do_not_move_owned_partitions_at_once(
    answer: Any, message: tuple[str, str, str] | None
) -> None:
    eager = Mine(lambda *_: answer)
    assert run(eager, OWNERS) == answer
    cooperative = Mine(lambda *_: answer, COOPERATIVE)
    if message is None:
        assert run(cooperative, OWNERS) == answer
    else:
        assert failure(cooperative, OWNERS) == (
            f"assignor 'mine' assigned partition {message[0]} to {message[1]!r} while {message[2]!r} owns it: "
            "with COOPERATIVE Kafka's leader throws IllegalStateException"
        )


def test_an_eager_leader_does_not_check_owners() -> None:
    """As in the second rolling bounce of an upgrade (KIP-429), while the leader still offers an eager assignor, too."""
    taken = {"c1": [], "c2": [T2], "c3": [T0]}
    cooperative = Mine(lambda *_: taken, COOPERATIVE)
    assert assign_group(cooperative, {"t": 3}, OWNERS, V4, leader_is_eager=True) == taken


# ---- before the run


class Nameless(ConsumerPartitionAssignor):
    def assign(self, partitions: Mapping[str, int], subscriptions: Mapping[str, Subscription]) -> Any:
        return {}


def named(name: Any, protocols: Any = (EAGER,)) -> Nameless:
    assignor = Nameless()
    assignor.name, assignor.supported_protocols = name, protocols
    return assignor


MISTAKES = [
    (Nameless, V4, "Nameless is a class; expected an object of it: Nameless()"),
    ("range", V4, "str is not derived from ConsumerPartitionAssignor"),
    (Nameless(), V4, "Nameless.name is None; expected the name under which members offer the assignor"),
    (named(""), V4, "Nameless.name is ''; expected the name under which members offer the assignor"),
    (named("a,b"), V4, "Nameless.name is 'a,b'; not allowed: a comma, a colon, a line break"),
    (named("a\nb"), V4, "Nameless.name is 'a\\nb'; not allowed: a comma, a colon, a line break"),
    (named(b"x"), V4, "Nameless.name is b'x'; expected the name under which members offer the assignor"),
    (named("sticky"), V4, f"Nameless.name is 'sticky'; not allowed: {', '.join(KNOWN_ASSIGNORS)}, elected"),
    (named("elected"), V4, f"Nameless.name is 'elected'; not allowed: {', '.join(KNOWN_ASSIGNORS)}, elected"),
    (
        named("x", ()),
        V4,
        "Nameless.supported_protocols is empty; allowed: some of RebalanceProtocol.EAGER, "
        "RebalanceProtocol.COOPERATIVE",
    ),
    (
        named("x", ["EAGER"]),
        V4,
        "Nameless.supported_protocols is ['EAGER']; allowed: a list of RebalanceProtocol.EAGER, "
        "RebalanceProtocol.COOPERATIVE",
    ),
    (
        named("x", COOPERATIVE),
        V4,
        "Nameless.supported_protocols is <RebalanceProtocol.COOPERATIVE: 2>; allowed: a list of "
        "RebalanceProtocol.EAGER, RebalanceProtocol.COOPERATIVE",
    ),
    (named("x", [COOPERATIVE]), V2, "Nameless.supported_protocols has no EAGER; Kafka 2.3 has no other"),
]


@pytest.mark.parametrize(("assignor", "version", "message"), MISTAKES)
def test_invalid_assignors_are_rejected(assignor: object, version: KafkaVersion, message: str) -> None:
    with pytest.raises(UserError) as caught:
        check_assignor("assignors", assignor, version, ["elected"])
    assert str(caught.value) == f"assignors: {message}"


@pytest.mark.parametrize("version", [V1, V2, V3, V4])
def test_valid_assignors_are_accepted(version: KafkaVersion) -> None:
    for assignor in (named("x"), named("x", [COOPERATIVE, EAGER]), named("größe or so", {EAGER})):
        check_assignor("assignors", assignor, version, [])


def test_duplicate_names_are_rejected() -> None:
    first, second = named("x"), named("y")
    assert by_name("assignors", [first, second, first]) == {"x": first, "y": second}
    with pytest.raises(UserError, match=r"^assignors: 'mine' is the name of more than .*: Nameless and Mine$"):
        by_name("assignors", [named("mine"), Mine(lambda *_: {})])
