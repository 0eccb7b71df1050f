"""Partitions without a consumer and topics on one member: kernels against the reference implementations."""

import pytest
from hypothesis import given

from tests.reference.balance import co_partitioned_topics, unconsumed_partitions, whole_topics
from tests.support.batches import Batch
from tests.support.examples import examples
from tests.support.model import Assignment, Cluster, Group, Member, Partition
from tests.support.strategies import groups, owned_and_assigned


def partitions(topic: str, count: int) -> list[Partition]:
    return [Partition(topic, number) for number in range(count)]


@examples(50)
@given(owned_and_assigned())
def test_kernels_equal_the_reference_for_any_assignment(batch: list[tuple[Group, Assignment]]) -> None:
    rules, assignments = Batch([group for group, _ in batch]), [assignment for _, assignment in batch]
    assert rules.whole_topics(assignments) == [whole_topics(*each) for each in batch]
    assert rules.unconsumed(assignments, 3) == [unconsumed_partitions(*each)[:3] for each in batch]
    assert rules.co_partitioned(assignments) == [co_partitioned_topics(*each) for each in batch]


@examples(25)
@given(groups())
def test_kernels_equal_the_reference_for_kafkajs(batch: list[Group]) -> None:
    rules = Batch(batch)
    assignments = rules.assign("4.3", "kafkajs-roundrobin")
    pairs = list(zip(batch, assignments, strict=True))
    assert rules.whole_topics(assignments) == [whole_topics(*each) for each in pairs]
    assert rules.unconsumed(assignments, 3) == [unconsumed_partitions(*each)[:3] for each in pairs]
    assert rules.co_partitioned(assignments) == [co_partitioned_topics(*each) for each in pairs]


def test_kafkajs_leaves_topics_of_other_members_without_a_consumer() -> None:
    """The group of https://github.com/tulios/kafkajs/issues/1679."""
    members = [
        ("group-1-1-uuid0", "ta"),
        ("group-1-2-uuid1", "tb"),
        ("group-1-3-uuid2", "ta"),
        ("group-1-0-uuid3", "tb"),
    ]
    group = Group(tuple(Member(name, (topic,)) for name, topic in members), Cluster({"ta": 2, "tb": 2}))
    rules = Batch([group])
    assignments = rules.assign("4.3", "kafkajs-roundrobin")
    assert rules.unconsumed(assignments, 5) == [
        [(Partition("ta", 0), "group-1-0-uuid3"), (Partition("tb", 0), None), (Partition("tb", 1), None)]
    ]
    assert rules.unconsumed(assignments, 2)[0] == rules.unconsumed(assignments, 5)[0][:2]


def test_a_topic_with_one_subscriber_or_one_partition_is_always_on_one_member() -> None:
    cluster = Cluster({"cold": 6, "hot": 6, "alone": 9, "one": 1})
    first, second = Member("a", ("cold", "hot", "alone", "one")), Member("b", ("cold", "hot", "one"))
    group = Group((first, second), cluster)
    shared = {"a": partitions("alone", 9) + partitions("one", 1), "b": partitions("cold", 6) + partitions("hot", 6)[:5]}
    shared["a"] += partitions("hot", 6)[5:]
    apart = {"a": partitions("cold", 6), "b": partitions("hot", 6)}
    assert Batch([group]).whole_topics([shared]) == [{"cold": "b"}]
    assert Batch([group]).whole_topics([apart]) == [{"cold": "a", "hot": "b"}]
    assert Batch([group]).whole_topics([{"a": shared["a"] + partitions("cold", 1), "b": []}]) == [{}]


def test_before_3_7_1_a_member_that_joins_gets_a_whole_topic() -> None:
    """KAFKA-16277: a keeps the partitions that it claims first, which are all of one topic."""
    cluster = Cluster({"hot": 6, "cold": 6})
    owned = (*partitions("hot", 6), *partitions("cold", 6))
    group = Group((Member("a", ("cold", "hot"), owned=owned, generation=1), Member("b", ("cold", "hot"))), cluster)
    rules = Batch([group])
    before, after = (rules.assign(release, "sticky") for release in ("3.7.0", "3.7.1"))
    assert rules.whole_topics(before)[0].keys() == {"cold", "hot"}
    assert rules.whole_topics(after) == [{}]


@pytest.mark.parametrize(("assignor", "topics"), [("range", 4), ("roundrobin", 2), ("cooperative-sticky", 2)])
def test_range_co_partitions_topics_of_the_same_size(assignor: str, topics: int) -> None:
    """The others do so by chance, where the partitions of a topic are a multiple of the members."""
    cluster = Cluster({"orders": 3, "payments": 3, "clicks": 4, "views": 4, "alone": 7, "one": 1, "one-too": 1})
    members = tuple(Member(name, tuple(cluster.partitions)) for name in ("a", "b"))
    rules = Batch([Group(members, cluster), Group(members[:1], cluster)])
    assert rules.co_partitioned(rules.assign("4.3", assignor)) == [topics, 0]
