"""Fleets of brokers of any release, and of clients of any library: every group is predicted by its own rules."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest
from pyspark.sql import SparkSession

from rebalance_sim.api import Brokers, Clusters, UserError, elect, predict, read_clusters, simulate
from rebalance_sim.engine.groups.prediction import OF_LIBRARY
from rebalance_sim.kafka.assignors.steps.join_response import response_order
from rebalance_sim.kafka.runtime.strings import Strings
from rebalance_sim.releases import NEWEST, KafkaVersion, kafka_version
from rebalance_sim.tables import BALANCE, CLUSTERS, TOPICS
from tests.support.batches import Batch
from tests.support.cases import assignment_of, golden, group_of
from tests.support.model import Assignment, Group
from tests.support.rows import given_rows, member, members, table, topics

OF_JAVA = {
    "range": ("0.11.0.3", "2.1.1", "2.4.0", "3.5.0", "4.4.0"),
    "roundrobin": ("0.11.0.3", "2.4.0", "4.4.0"),
    "sticky": ("0.11.0.3", "2.1.1", "2.3.0", "2.4.0", "2.5.1", "2.8.1", "3.0.0", "3.4.1", "3.5.0", "3.5.2", "3.7.1"),
    "cooperative-sticky": ("2.4.0", "2.5.1", "2.8.1", "3.0.0", "3.4.1", "3.5.0", "3.5.2", "3.7.1", "4.4.0"),
}
"""The releases of the golden answers."""
OF_OTHERS = {
    "franz-go-range": ("franz-go", None, "range"),
    "franz-go-roundrobin": ("franz-go", None, "roundrobin"),
    "kafka-go-range": ("kafka-go", None, "range"),
    "kafka-go-roundrobin": ("kafka-go", "0.4.51", "roundrobin"),
    "kafkajs-roundrobin": ("kafkajs", None, "RoundRobinAssigner"),
    "kafkajs-1.12-roundrobin": ("kafkajs", "1.12.0", "RoundRobinAssigner"),
    "platformatic-kafka-roundrobin": ("platformatic-kafka", None, "roundrobin"),
    "sarama-range": ("sarama", "v1.61.1", "range"),
    "sarama-roundrobin": ("sarama", None, "roundrobin"),
    "sarama-1.27-range": ("sarama", "1.34.0", "range"),
    "sarama-1.27-roundrobin": ("sarama", "v1.27.2", "roundrobin"),
}
"""By the file of golden answers, the leader's library and release, and the protocol."""
CASES = 60
"""Of each release and library."""


class Predicted(NamedTuple):
    """A group of a fleet, and what is to be predicted for it."""

    group: Group
    protocol: str
    library: str | None
    release: str | None
    answer: Assignment
    strategy: str
    broker: str | None = None
    others: str = "kafkajs"
    """The library of members that do not lead; it makes no difference unless they own partitions under sticky."""


def cases() -> Iterator[Predicted]:
    """Yield groups whose leaders are of every release of Java's client at which a rule changes, and of each library."""
    for protocol, release in [(name, release) for name, releases in OF_JAVA.items() for release in releases]:
        answers = golden(f"{protocol}-{release}")
        for case, answer in list(zip(golden("cases-releases"), answers, strict=True))[:CASES]:
            if "error" not in answer and case["members"]:
                yield Predicted(group_of(case), protocol, None, release, assignment_of(answer), protocol)
    for strategy, (library, since, protocol) in OF_OTHERS.items():
        for case, answer in list(zip(golden("cases-client-assignors"), golden(strategy), strict=True))[:CASES]:
            yield Predicted(group_of(case), protocol, library, since, assignment_of(answer), strategy)


def of_franz_go_sticky() -> Iterator[Predicted]:
    """Yield groups whose members revoke everything before they join."""
    groups = [group_of(case) for case in golden("cases-one-topic")[:CASES]]
    told = [
        replace(group, members=tuple(replace(each, owned=(), generation=-1) for each in group.members))
        for group in groups
    ]
    for group, answer in zip(groups, Batch(told).answers(NEWEST, "franz-go-sticky"), strict=True):
        assert isinstance(answer, dict)
        yield Predicted(group, "sticky", "franz-go", None, answer, "franz-go-sticky", others="franz-go")


def on_old_brokers() -> Iterator[Predicted]:
    """Yield groups whose members Java's leader sees in another order than that of joining."""
    for broker in ("1.0", "2.3", "2.8"):
        rules = kafka_version(broker)
        groups = [group_of(case) for case in golden("cases-releases")[:CASES]]
        listed = Batch([as_listed(group, rules) for group in groups])
        for group, answer in zip(groups, listed.answers("2.8.1", "sticky"), strict=True):
            if isinstance(answer, dict) and group.members:
                yield Predicted(group, "sticky", "java", "2.8.1", answer, "sticky", broker)


def as_listed(group: Group, rules: KafkaVersion) -> Group:
    """Return the members in the order in which the coordinator lists them."""
    member_ids = Strings.of([each.member_id for each in group.members])
    ends = np.array([0, len(group.members)], np.int32)
    order = response_order(ends, member_ids, rules.coordinator_map, rules.member_list)
    return replace(group, members=tuple(group.members[place] for place in order))


def rows_of(name: str, given: Predicted) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of topics and members; the group is alone on a cluster of the same name."""
    known = [
        {"cluster": name, "topic": topic, "partitions": count, "racks": given.group.cluster.racks.get(topic)}
        for topic, count in given.group.cluster.partitions.items()
    ]
    joined = [
        member(
            each.member_id,
            [given.protocol],
            list(each.topics),
            cluster=name,
            instance_id=each.instance_id,
            rack=each.rack,
            owned=[(of.topic, of.number) for of in each.owned],
            generation=each.generation,
            join_order=place,
            # The leader is the first member.
            client_library=given.library if place == 0 else given.others,
            client_version=given.release if place == 0 else None,
        )
        for place, each in enumerate(given.group.members)
    ]
    return known, joined


@pytest.mark.scale
def test_every_group_is_assigned_by_the_release_and_the_library_of_its_leader(spark: SparkSession) -> None:
    fleet = {f"c{number}": each for number, each in enumerate([*cases(), *of_franz_go_sticky(), *on_old_brokers()])}
    rows = {name: rows_of(name, each) for name, each in fleet.items()}
    known = table(spark, TOPICS, [row for of_topics, _ in rows.values() for row in of_topics])
    joined = members(spark, *(row for _, of_members in rows.values() for row in of_members))
    clusters = table(
        spark,
        CLUSTERS,
        [{"cluster": name, "broker_version": each.broker} for name, each in fleet.items() if each.broker],
    )
    found: dict[str, Assignment] = {}
    strategies: dict[str, str] = {}
    for row in predict(joined, known, kafka_version=read_clusters(clusters)).assignments.collect():
        found.setdefault(row["cluster"], {})[row["member_id"]] = row["partitions"]
        strategies[row["cluster"]] = row["strategy"]
    assert strategies == {name: each.strategy for name, each in fleet.items()}
    wrong = [
        name
        for name, each in fleet.items()
        if {member_id: sorted(map(tuple, has)) for member_id, has in found[name].items()}
        != {member_id: sorted(map(tuple, has)) for member_id, has in each.answer.items()}
    ]
    assert not wrong, [fleet[name] for name in wrong[:3]]


def test_libraries_that_would_assign_differently_are_named(spark: SparkSession) -> None:
    """In the coordinator's hash map, p comes before a."""
    several = {"client_library": "kafka-go;platformatic-kafka; aiokafka"}
    given = members(
        spark,
        member("a", ["roundrobin"], ["t"], group_id="several", **several),
        member("p", ["roundrobin"], ["t"], group_id="several", **several),
        member("a", ["roundrobin"], ["t"], group_id="alone", **several),
        member("c", ["sticky"], ["t"], group_id="unpredictable", client_library="sarama;java"),
        member("d", ["sticky"], ["t"], group_id="perhaps", client_library="java;sarama"),
        member("e", ["sticky"], ["t"], group_id="of Java", client_library="java;java"),
    )
    predicted = predict(given, topics(spark, t=3))
    assert {(row["group_id"], row["strategy"]): row["alternatives"] for row in predicted.balance.collect()} == {
        ("several", "kafka-go-roundrobin"): ["platformatic-kafka-roundrobin"],
        ("alone", "kafka-go-roundrobin"): None,
        ("unpredictable", "sarama-sticky"): ["sticky"],
        ("perhaps", "sticky"): ["sarama-sticky"],
        ("of Java", "sticky"): None,
    }
    rows = {(row["group_id"], row["member_id"]): row for row in predicted.assignments.collect()}
    assert [rows["several", name]["partitions"] for name in "ap"] == [[("t", 0), ("t", 2)], [("t", 1)]]
    assert rows["several", "a"]["alternatives"] == ["platformatic-kafka-roundrobin"]
    assert rows["alone", "a"]["alternatives"] is None


def test_clusters_with_topics_of_the_same_name_have_no_alternatives_for_that(spark: SparkSession) -> None:
    """Java and franz-go assign these groups alike."""
    either = {"client_library": "java;franz-go"}
    names = [f"cluster-{number}" for number in range(5)]
    given = [member(name, ["range"], ["t"], cluster=cluster, **either) for cluster in names for name in "ab"]
    of_clusters = table(spark, TOPICS, [{"cluster": cluster, "topic": "t", "partitions": 3} for cluster in names])
    balance = predict(members(spark, *given), of_clusters).balance
    assert [row["alternatives"] for row in balance.collect()] == [None] * 5


@pytest.mark.parametrize("library", ["franz-go", "sarama", "kafka-python", "franz-go;java"])
def test_some_members_do_not_tell_a_leader_of_java_what_they_own(spark: SparkSession, library: str) -> None:
    """It assigns what they own as if nobody owned it."""

    def group(group_id: str, others: str | None) -> list[dict[str, Any]]:
        owned = {"a": [0, 1, 2], "b": [3, 4, 5], "c": [6, 7, 8]}
        rows = [
            member(name, ["sticky"], ["t"], group_id=group_id, owned=[("t", n) for n in has], generation=4)
            for name, has in owned.items()
        ]
        return [rows[0], *(row | {"client_library": others} for row in rows[1:])]

    given = members(
        spark,
        *(row for others in (None, library) for row in group(str(others), others)),
        *(row | {"protocols": ["cooperative-sticky"]} for row in group("cooperative", library)),
        *(row | {"owned": row["owned"] if row["member_id"] == "a" else []} for row in group("told", None)),
    )
    predicted = predict(given, topics(spark, t=9))
    balance = {row["group_id"]: row for row in predicted.balance.collect()}
    moved = {group_id: row["moved"] for group_id, row in balance.items()}
    assert {group_id for group_id, row in balance.items() if row["alternatives"]} == ({library} & {"franz-go;java"})
    assert (moved["None"], moved["cooperative"]) == (0, 0)
    assert moved[library] > 0
    rows = {(row["group_id"], row["member_id"]): row["partitions"] for row in predicted.assignments.collect()}
    assert [rows[library, name] for name in "abc"] == [rows["told", name] for name in "abc"]


@pytest.mark.parametrize(
    ("brokers", "kept"),
    [
        ("3.9", {"consumer-1": [("t", 0)], "consumer-12": [("t", 2), ("t", 3)]}),
        ("4.0", {"consumer-1": [("t", 0), ("t", 1)], "consumer-12": [("t", 2)]}),
    ],
)
@pytest.mark.parametrize("assignor", ["sticky", "cooperative-sticky"])
def test_a_leader_is_given_the_members_in_the_coordinators_order(
    spark: SparkSession, brokers: str, kept: dict[str, list[tuple[str, int]]], assignor: str
) -> None:
    """The members share a bucket of the leader's hash map, in which a Scala coordinator turns their order round."""
    owned = {"consumer-1": [("t", 0), ("t", 1)], "consumer-12": [("t", 2), ("t", 3)], "consumer-3": []}
    given = members(
        spark,
        *(
            member(name, [assignor], ["t"], owned=has, generation=5 if has else None, join_order=place)
            for place, (name, has) in enumerate(owned.items())
        ),
    )
    clients = Clusters(Brokers(brokers, clients="3.9"))
    found = {
        row["member_id"]: row for row in predict(given, topics(spark, t=4), kafka_version=clients).assignments.collect()
    }
    assert {name: list(map(tuple, found[name]["partitions"])) for name in kept} == kept


def test_any_member_may_lead_if_several_come_first(spark: SparkSession) -> None:
    """Sarama sorts partitions as text, kafka-go gives each member every third one of a topic."""

    def group(group_id: str, first: list[int | None], *libraries: str | None) -> list[dict[str, Any]]:
        joined = [*first, *range(7, 7 + len(libraries) - len(first))]
        return [
            member(f"m{n}", ["roundrobin"], ["t"], group_id=group_id, join_order=order, client_library=library)
            for n, (order, library) in enumerate(zip(joined, libraries, strict=True))
        ]

    given = members(
        spark,
        *group("first leads", [0, 1, 2], "sarama", "kafka-go", "sarama"),
        *group("any leads", [None, None, None], "sarama", "kafka-go", "sarama"),
        *group("two may lead", [3, 3], "kafka-go", "sarama", "kafkajs"),
        *group("alike", [None, None], None, "java"),
        *group("spelled twice", [0, 1, 2], "sarama; java", "sarama;java", None),
        *group("refused", [0, 0], "sarama", "sarama"),
        member("z", ["range"], ["t"], group_id="refused", join_order=0, client_library="kafka-go"),
    )
    found = predict(given, topics(spark, t=12))
    assert {row["group_id"]: (row["strategy"], row["alternatives"]) for row in found.balance.collect()} == {
        "first leads": ("sarama-roundrobin", None),
        "any leads": ("sarama-roundrobin", ["kafka-go-roundrobin"]),
        "two may lead": ("kafka-go-roundrobin", ["sarama-roundrobin"]),
        "alike": ("roundrobin", None),
        "spelled twice": ("sarama-roundrobin", ["roundrobin"]),
        "refused": ("sarama-roundrobin", None),
    }


@pytest.mark.parametrize(
    ("library", "release", "protocol", "error"),
    [
        ("sarama", None, "sticky", "sarama: sticky cannot be predicted: it visits a map of Go in a random order"),
        ("kafkajs", None, "range", "kafkajs: no assignor for protocol 'range'"),
        ("Sarama", None, "range", "client_library: 'Sarama' is not known (did you mean 'sarama'?); allowed: "),
        ("sarama", "latest", "range", "client_version: 'latest' is not a release; allowed: numbers such as '1.43.0'"),
        ("java", "0.8", "range", "client_version: kafka version '0.8' is not known; allowed: releases from 0.11.0"),
        (None, "2.3", "cooperative-sticky", "no assignor for protocol 'cooperative-sticky'"),
    ],
)
def test_a_group_whose_assignment_cannot_be_predicted_has_an_error(
    spark: SparkSession, library: str | None, release: str | None, protocol: str, error: str
) -> None:
    given = members(spark, member("a", [protocol], ["t"], client_library=library, client_version=release))
    predicted = predict(given, topics(spark, t=1))
    assert predicted.assignments.isEmpty()
    (row,) = predicted.balance.collect()
    assert row["error"].startswith(error)
    assert row["max"] is None


@pytest.mark.parametrize(("clients", "error"), [(None, None), ("2.3", "no assignor for protocol 'cooperative-sticky'")])
def test_a_member_of_an_assumed_release_has_at_least_the_first_with_its_assignor(
    spark: SparkSession, clients: str | None, error: str | None
) -> None:
    """Consumers of 2.4 and later run on older brokers, too."""
    given = members(spark, *(member(name, ["cooperative-sticky"], ["t"]) for name in "ab"))
    brokers = Clusters(Brokers("2.3", clients=clients))
    (row,) = predict(given, topics(spark, t=4), kafka_version=brokers).balance.collect()
    assert (row["error"], row["max"]) == (error, None if error else 2)
    simulated = simulate(given, topics(spark, t=4), "leave", kafka_version=brokers)
    assert [each["error"] for each in simulated.costs.collect()] == [error]


def test_balance_has_bounds_where_the_library_does_not_determine_the_assignment(spark: SparkSession) -> None:
    """Of franz-go's groups, the one with a single topic is predicted."""

    def group(group_id: str, library: str, protocol: str, *subscriptions: str) -> list[dict[str, Any]]:
        return [
            member(f"m{place}", [protocol], topics.split(), group_id=group_id, client_library=library)
            for place, topics in enumerate(subscriptions)
        ]

    given = members(
        spark,
        *group("sarama", "sarama", "sticky", "t u", "t u", "t u"),
        *group("one topic", "franz-go", "cooperative-sticky", "t", "t"),
        *group("two topics", "franz-go", "cooperative-sticky", "t u", "t"),
        *group("alike", "librdkafka", "cooperative-sticky", "t u", "t u"),
        *group("different", "librdkafka", "cooperative-sticky", "t", "t u"),
        *group("racks", "kafka-go", "rack-affinity", "t u", "t u"),
        *group("no assignor", "kafkajs", "range", "t"),
    )
    predicted = predict(given, topics(spark, t=4, u=3))
    balance = {row["group_id"]: row for row in predicted.balance.collect()}
    assert {name: row["bounds"] and tuple(row["bounds"]) for name, row in balance.items()} == {
        "sarama": (2, 3, 0, 0, 0, 0, 0),
        "one topic": None,
        "two topics": (3, 4, 0, 0, 0, 0, 0),
        "alike": None,
        "different": (0, 7, 0, 1, 0, 0, 0),
        "racks": (3, 4, 0, 0, 0, 0, 0),
        "no assignor": None,
    }
    assert {name for name, row in balance.items() if row["error"] is None} == {"one topic", "alike"}
    order = "the assignment depends on an order that is random or unknown"
    assert balance["two topics"]["error"] == balance["different"]["error"] == order
    assert {row["group_id"] for row in predicted.assignments.collect()} == {"one topic", "alike"}


def test_groups_are_compared_under_the_assignors_of_their_own_library(spark: SparkSession) -> None:
    """Those that can be predicted, if all members use the library; a release has its own."""
    clients: dict[str, list[str | None]] = {
        "librdkafka": ["librdkafka"] * 2,
        "sarama": ["sarama"] * 2,
        "kafkajs": ["kafkajs"] * 2,
        "several": ["librdkafka", "sarama"],
        "uncertain": ["kafka-go;sarama"] * 2,
        "java": ["java", None],
    }
    given = members(
        spark,
        *(
            member(f"m{place}", ["range"], ["a", "b"], group_id=group, client_library=library, client_version=release)
            for group, libraries in clients.items()
            for release in ["1.30.0" if group == "sarama" else None]
            for place, library in enumerate(libraries)
        ),
    )
    rows = predict(given, topics(spark, a=1, b=1), [OF_LIBRARY], tables=[BALANCE.name]).balance.collect()
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        found.setdefault(row["group_id"], {})[row["strategy"]] = row["idle_members"]
    assert {group: sorted(strategies) for group, strategies in found.items()} == {
        "librdkafka": ["librdkafka-cooperative-sticky", "librdkafka-range", "librdkafka-roundrobin"],
        "sarama": ["sarama-1.27-range", "sarama-roundrobin"],
        "kafkajs": ["kafkajs-roundrobin"],
    }
    assert (found["librdkafka"]["librdkafka-range"], found["librdkafka"]["librdkafka-roundrobin"]) == (1, 0)


def test_balance_names_partitions_that_nobody_consumes(spark: SparkSession) -> None:
    """KafkaJS assigns the leader's topics only, to all members (https://github.com/tulios/kafkajs/issues/1679)."""
    protocols, library = ["RoundRobinAssigner"], {"client_library": "kafkajs"}
    names = {"group-1-1": "ta", "group-1-2": "tb", "group-1-3": "ta", "group-1-0": "tb"}
    given = members(
        spark,
        *(member(name, protocols, [topic], join_order=order, **library)
          for order, (name, topic) in enumerate(names.items())),
        *(member(name, protocols, ["ta"], group_id="alike", **library) for name in ("a", "b")),
        *(member(name, protocols, [name], group_id="large", join_order=order, **library)
          for order, name in enumerate(("ta", "wide"))),
    )  # fmt: skip
    rows = {row["group_id"]: row for row in predict(given, topics(spark, ta=2, tb=2, wide=9)).balance.collect()}
    named = {
        group: row["first_unconsumed"] and [tuple(each) for each in row["first_unconsumed"]]
        for group, row in rows.items()
    }
    assert {group: row["unconsumed"] for group, row in rows.items()} == {"g": 3, "alike": 0, "large": 10}
    assert named == {
        "g": [("ta", 0, "group-1-0"), ("tb", 0, None), ("tb", 1, None)],
        "alike": None,
        "large": [("ta", 1, "wide"), *(("wide", partition, None) for partition in range(4))],
    }


def test_balance_names_topics_on_one_member(spark: SparkSession) -> None:
    """KAFKA-16277; those of which a member has most above its share come first, and at most five."""
    owned = [{"topic": topic, "partition": number} for topic in ("hot", "cold") for number in range(6)]

    def group(group_id: str, release: str, subscribed: list[str]) -> list[dict[str, Any]]:
        shared = {"group_id": group_id, "client_version": release}
        return [
            member("a", ["cooperative-sticky"], subscribed, owned=owned, generation=1, join_order=0, **shared),
            member("b", ["cooperative-sticky"], subscribed, generation=-1, join_order=1, **shared),
        ]

    given = members(spark, *group("3.7.0", "3.7.0", ["cold", "hot"]), *group("3.8.0", "3.8.0", ["cold", "hot"]))
    rows = {row["group_id"]: row for row in predict(given, topics(spark, hot=6, cold=6)).balance.collect()}
    assert {name: row["topic_spread"] for name, row in rows.items()} == {"3.7.0": 6, "3.8.0": 0}
    assert rows["3.8.0"]["whole_topics"] is None
    assert [tuple(each)[:3] for each in rows["3.7.0"]["whole_topics"]] == [("cold", 6, 2), ("hot", 6, 2)]
    assert {each["member_id"] for each in rows["3.7.0"]["whole_topics"]} == {"a", "b"}


def test_of_many_topics_on_one_member_the_first_are_named(spark: SparkSession) -> None:
    """Those of which the member has most above its share, then by name."""
    sizes = {"small": 2, "wide": 4} | {f"two-{number}": 2 for number in range(9)}
    owners = {"wide": "a", "small": "b"} | {f"two-{number}": "a" if number < 4 else "b" for number in range(9)}
    given = members(
        spark,
        *(
            member(name, ["sticky"], list(sizes), generation=1, owned=[
                {"topic": topic, "partition": partition}
                for topic, owner in owners.items() for partition in range(sizes[topic]) if owner == name
            ])
            for name in "ab"
        ),
    )  # fmt: skip
    (row,) = predict(given, topics(spark, **sizes)).balance.collect()
    named = [("wide", "a"), ("small", "b"), ("two-0", "a"), ("two-1", "a"), ("two-2", "a")]
    assert [(each["topic"], each["member_id"]) for each in row["whole_topics"]] == named


def test_java_leaders_cannot_read_members_of_some_libraries(spark: SparkSession) -> None:
    def group(group_id: str, *libraries: str | None) -> list[dict[str, Any]]:
        joining = [member(f"m{place}", ["range"], ["t"], group_id=group_id) for place in range(len(libraries))]
        return [row | {"client_library": library} for row, library in zip(joining, libraries, strict=True)]

    given = members(
        spark,
        *group("fails", None, "kafka-go"),
        *group("may fail", "java;sarama", "kafka-go;platformatic-kafka"),
        *group("reads", "sarama", "kafka-go"),
        *group("may read", None, "kafka-go;sarama"),
    )
    balance = {row["group_id"]: row for row in predict(given, topics(spark, t=2)).balance.collect()}
    assert {name for name, row in balance.items() if "cannot read" in (row["error"] or "")} == {"fails", "may fail"}
    assert balance["may fail"]["alternatives"] == ["sarama-range"]
    assert (balance["reads"]["strategy"], balance["reads"]["max"]) == ("sarama-range", 1)


def test_an_assignor_of_the_users_own_and_those_of_the_coordinator_are_the_same_whoever_leads(
    spark: SparkSession,
) -> None:
    given = members(spark, member("a", ["server-uniform"], ["t"], client_library="sarama"))
    (row,) = predict(given, topics(spark, t=1)).assignments.collect()
    assert (row["strategy"], len(row["partitions"])) == ("server-uniform", 1)


@pytest.mark.scale
def test_clusters_elect_by_the_rules_of_their_brokers(spark: SparkSession) -> None:
    """The tie of Kafka's documentation: each build decides it in its own way."""
    brokers = {
        "java": Brokers("4.3"),
        # The build is unknown; the recommended one is assumed.
        "2.13": Brokers("3.9"),
        "2.12": Brokers("3.9", "2.12"),
        "2.11": Brokers("2.3", offsets_partitions=7),
    }
    offers = [["roundrobin", "sticky", "range"], ["sticky", "range", "roundrobin"], ["range", "roundrobin", "sticky"]]
    joining = [member(f"m{place}", offered, ["t"]) for place, offered in enumerate(offers)]
    joined = members(spark, *(row | {"cluster": name} for name in brokers for row in joining))
    alone = {
        name: joined.where(f"cluster = '{name}'").transform(elect(Clusters(each))).first()
        for name, each in brokers.items()
    }
    clusters = table(
        spark,
        CLUSTERS,
        [
            {
                "cluster": name,
                "broker_version": each.version,
                "scala_version": each.scala,
                "offsets_partitions": each.offsets_partitions,
            }
            for name, each in brokers.items()
            if name != "java"
        ],
    )
    together = {row["cluster"]: row for row in joined.transform(elect(read_clusters(clusters))).collect()}
    assert together == alone
    assert len({row["protocol"] for row in together.values()}) > 1
    of_builds = {name: together[name]["protocol"] for name in ("2.12", "2.13")}
    assert of_builds["2.12"] != of_builds["2.13"]
    assert {name: row["other_builds"] for name, row in together.items() if row["other_builds"]} == {
        "2.13": {"2.12": of_builds["2.12"]}
    }
    assert together["2.11"]["coordinator_partition"] != together["2.12"]["coordinator_partition"]


@pytest.mark.parametrize(
    ("rows", "problem"),
    [
        ([("c", "0.8", None)], "clusters: cluster 'c': kafka version '0.8' is not known; allowed: "),
        ([("c", "2.3", "2.13")], "clusters: cluster 'c': scala version '2.13' is not a build of Kafka 2.3; allowed: "),
        ([("c", "2.3", None), ("c", "2.4", None)], "clusters: cluster 'c' is given more than once; allowed: one row"),
    ],
)
def test_mistakes_in_clusters_are_named(spark: SparkSession, rows: list[tuple[str, ...]], problem: str) -> None:
    with pytest.raises(UserError) as raised:
        read_clusters(given_rows(spark, rows, "cluster string, broker_version string, scala_version string"))
    assert str(raised.value).startswith(problem)
