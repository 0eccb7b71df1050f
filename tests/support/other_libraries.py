"""What the programs of tests/real/client_libraries answer, which run client libraries of other languages than Java.

To write the golden answers again: python -m tests.support.other_libraries.
"""

import json
import random
import subprocess
import tempfile
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from rebalance_sim.kafka.assignors.steps.join_response import listed_members
from rebalance_sim.releases import CoordinatorRules, kafka_version
from tests.oracle.random_cases import assignor_cases
from tests.support.batches import Batch
from tests.support.cases import Answer, JsonObject, case_of, group_of, write_golden
from tests.support.library_programs import answers_of, erlang_program, go_program, node_program, ruby_program
from tests.support.librdkafka_leader import ask_librdkafka
from tests.support.model import Assignment, Cluster, Group, Member, Partition
from tests.support.strategies import as_sent

_GOLDEN_SEED, _GOLDEN_COUNT, _GOLDEN_VERSION = 19, 200, "4.3"
_GOLDEN_STICKY_COUNT = 600


STICKY_OF_ONE_TOPIC = ("franz-go-sticky", "franz-go-cooperative-sticky")
OF_GO = (
    *STICKY_OF_ONE_TOPIC,
    *("franz-go-range", "franz-go-roundrobin", "kafka-go-range", "kafka-go-roundrobin"),
    *("sarama-range", "sarama-roundrobin", "sarama-1.27-range", "sarama-1.27-roundrobin"),
)
OF_JAVASCRIPT = (
    *("kafkajs-roundrobin", "kafkajs-1.12-roundrobin", "platformatic-kafka-roundrobin"),
    *("kafka-node-range", "kafka-node-roundrobin"),
)
OF_RUBY = {"ruby-kafka-1.3-roundrobin": "ruby-kafka-1.3.0", "ruby-kafka-roundrobin": "ruby-kafka-1.5.0"}
OF_ERLANG = {"brod-3.7.0-roundrobin": "3.7.0", "brod-roundrobin": "4.6.2"}
"""The strategies that the programs answer; of Ruby with the gem that does, of Erlang with the release of brod."""
UNPREDICTABLE_OF_GO = ("sarama-sticky", "sarama-cooperative-sticky", "kafka-go-rack-affinity")
"""Those that they answer differently each time."""


def as_listed(version: str, groups: Sequence[Group]) -> list[Group]:
    """Return the members as a JoinGroup response lists them: in the coordinator's order; instance ids since 2.3."""
    rules = kafka_version(version)
    given = [member for group in groups for member in group.members]
    if rules.coordinator < CoordinatorRules.SCALA_2_3:
        given = [replace(member, instance_id=None) for member in given]
    arrays = Batch(groups).arrays
    listed = [given[place] for place in listed_members(arrays, rules)[1]]
    return [
        replace(group, members=tuple(listed[start:end]))
        for group, (start, end) in zip(groups, pairwise(arrays.members.tolist()), strict=True)
    ]


def ask_go(version: str, groups: Sequence[Group], directory: Path) -> list[dict[str, Answer]]:
    """Return the assignments of each group by strategy; a broker of the version lists the members."""
    return _ask(go_program("assignors", directory), version, groups, directory)


def ask_node(version: str, groups: Sequence[Group], directory: Path) -> list[dict[str, Answer]]:
    """Return the assignments of each group by strategy; a broker of the version lists the members."""
    return _ask(node_program("assignors", directory), version, groups, directory)


def ask_ruby(version: str, groups: Sequence[Group], directory: Path) -> list[dict[str, Answer]]:
    """Return the assignments of each group by strategy; a broker of the version lists the members."""
    programs = [ruby_program(gem, strategy, directory) for strategy, gem in OF_RUBY.items()]
    asked = [_ask(program, version, groups, directory) for program in programs]
    return [older | newer for older, newer in zip(*asked, strict=True)]


def ask_erlang(version: str, groups: Sequence[Group], directory: Path) -> list[dict[str, Answer]]:
    """Return the assignments of each group by strategy; a broker of the version lists the members."""
    asked = zip(as_listed(version, groups), groups, strict=True)
    cases = "".join(_term(listed, group.members[0].member_id) + "\n" for listed, group in asked)
    answers: list[dict[str, Answer]] = [{} for _ in groups]
    for strategy, release in OF_ERLANG.items():
        program = erlang_program(release, directory)
        done = subprocess.run(program, cwd=directory, input=cases, capture_output=True, text=True, check=True)
        for answer, line in zip(answers, done.stdout.splitlines(), strict=True):
            answer[strategy] = _of_hexadecimal(json.loads(line))
    return answers


def _term(group: Group, leader_id: str) -> str:
    """Return a group as a term of Erlang's, names as binaries."""
    members = (f"{{{_binary(each.member_id)},[{','.join(map(_binary, each.topics))}]}}" for each in group.members)
    topics = (f"{{{_binary(topic)},{count}}}" for topic, count in group.cluster.partitions.items())
    return f"{{{_binary(leader_id)},[{','.join(members)}],[{','.join(topics)}]}}."


def _binary(name: str) -> str:
    return f"<<{','.join(map(str, name.encode()))}>>"


def _of_hexadecimal(given: Any) -> Answer:
    if isinstance(given, str):
        return given
    return {
        bytes.fromhex(member_id).decode(): sorted(Partition(bytes.fromhex(topic).decode(), n) for topic, n in has)
        for member_id, has in given
    }


def _ask(program: Sequence[str], version: str, groups: Sequence[Group], directory: Path) -> list[dict[str, Answer]]:
    cases = [
        case_of(listed) | {"leaders_topics": group.members[0].topics}
        for listed, group in zip(as_listed(version, groups), groups, strict=True)
    ]
    return [
        {
            strategy: given
            if isinstance(given, str)
            else {member_id: sorted(Partition(*pair) for pair in has) for member_id, has in given.items()}
            for strategy, given in answer.items()
        }
        for answer in answers_of(program, cases, directory)
    ]


def some_groups(seed: int, count: int) -> list[Group]:
    """Return random groups as brokers and consumers have them, with at least one member each."""
    return [group for case in assignor_cases(seed, count) if (group := as_sent(group_of(case))).members]


def one_topic_groups(seed: int, count: int) -> list[Group]:
    """Return random groups that subscribe to one topic, and own partitions of it, some of them twice."""
    rng = random.Random(seed)
    return [_one_topic_group(rng) for _ in range(count)]


def _one_topic_group(rng: random.Random) -> Group:
    partitions = rng.randint(1, 30)
    free = rng.sample(range(partitions + 2), partitions + 2)
    members = []
    for i in range(rng.randint(1, 8)):
        taken, free = (free, []) if rng.random() < 0.1 else (free[: rng.randint(0, 6)], free[6:])
        if rng.random() < 0.1:
            taken = [*taken, rng.randrange(partitions)]
        owned = tuple(Partition("t", number) for number in taken)
        instance_id = f"{rng.random()}" if rng.random() < 0.2 else None
        members.append(Member(f"{rng.random()}-{i}", ("t",), instance_id, None, owned, rng.choice([-1, 0, 3, 4])))
    return Group(tuple(members), Cluster({"t": partitions}))


def with_equal_subscriptions(groups: Sequence[Group]) -> list[Group]:
    """Return the groups with the topics of all members for each of them, and without racks."""
    alike = []
    for group in groups:
        topics = tuple(dict.fromkeys(topic for member in group.members for topic in member.topics))
        if topics:
            members = tuple(replace(member, topics=topics, rack=None) for member in group.members)
            alike.append(replace(group, members=members))
    return alike


def last_answers(groups: Sequence[Group], ask: Callable[[Sequence[Group]], list[Assignment]]) -> list[Assignment]:
    """Return the assignments after the last rebalance of cooperative members, which rejoin if they lose partitions."""
    last = ask(groups)
    to_come = {number: group for number, group in enumerate(groups) if _loses(group, last[number])}
    while to_come:
        joined = {number: _joins_again(group, last[number]) for number, group in to_come.items()}
        last = list(last)
        for number, answer in zip(joined, ask(list(joined.values())), strict=True):
            last[number] = answer
        to_come = {number: group for number, group in joined.items() if _loses(group, last[number])}
    return last


def _loses(group: Group, given: Assignment) -> bool:
    return any(set(member.owned) - set(given[member.member_id]) for member in group.members)


def _joins_again(group: Group, given: Assignment) -> Group:
    generation = 1 + max(member.generation for member in group.members)
    members = (replace(member, owned=tuple(given[member.member_id]), generation=generation) for member in group.members)
    return replace(group, members=tuple(members))


def main() -> None:
    """Write the golden answers."""
    groups = some_groups(_GOLDEN_SEED, _GOLDEN_COUNT)
    _write_answered("client-assignors", groups, ask_go, [name for name in OF_GO if name not in STICKY_OF_ONE_TOPIC])
    _write_answered("client-assignors", groups, ask_node, OF_JAVASCRIPT)
    _write_answered("client-assignors", groups, ask_ruby, OF_RUBY)
    _write_answered("client-assignors", groups, ask_erlang, OF_ERLANG)
    one_topic = one_topic_groups(_GOLDEN_SEED, _GOLDEN_STICKY_COUNT)
    _write_answered("one-topic", one_topic, ask_go, STICKY_OF_ONE_TOPIC)
    alike = with_equal_subscriptions(some_groups(_GOLDEN_SEED, _GOLDEN_STICKY_COUNT))
    _write_answered("equal-subscriptions", alike, _ask_librdkafka, ("librdkafka-cooperative-sticky",))


def _ask_librdkafka(version: str, groups: Sequence[Group], _: Path) -> list[dict[str, Answer]]:
    strategy = "cooperative-sticky"
    answers = ask_librdkafka(strategy, as_listed(version, groups))
    return [{f"librdkafka-{strategy}": {name: sorted(has) for name, has in answer.items()}} for answer in answers]


def _write_answered(
    name: str,
    groups: Sequence[Group],
    ask: Callable[[str, Sequence[Group], Path], list[dict[str, Answer]]],
    strategies: Collection[str],
) -> None:
    write_golden(f"cases-{name}", ({"id": f"g{n}"} | case_of(group) for n, group in enumerate(groups)))
    with tempfile.TemporaryDirectory() as directory:
        answers = ask(_GOLDEN_VERSION, groups, Path(directory))
    for strategy in strategies:
        write_golden(strategy, (_line(f"g{n}", given[strategy]) for n, given in enumerate(answers)))


def _line(case: str, answer: Answer) -> JsonObject:
    return {"id": case, "error" if isinstance(answer, str) else "assignment": answer}


if __name__ == "__main__":
    main()
