"""Cases of streams groups as the arrays that their task assignor takes, and its outcome as the oracle's answers."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from rebalance_sim.kafka.assignors.streams.sticky_task_assignor import assign
from rebalance_sim.kafka.assignors.streams.streams_groups import NO_SUBTOPOLOGY, StreamsGroups, TaskLists
from rebalance_sim.kafka.runtime.strings import Strings
from rebalance_sim.releases import kafka_version
from tests.support.arrays import ints, offsets
from tests.support.batches import ERRORS
from tests.support.cases import JsonObject

Tasks = dict[str, list[int]]
"""Partitions by subtopology."""
StreamsAnswer = dict[str, dict[str, Tasks]] | str
"""Active, standby and warm-up tasks by member, or the name of the exception's class."""


def groups_of(cases: Sequence[JsonObject]) -> StreamsGroups:
    """Return cases as a batch of groups."""
    members = [member for case in cases for member in case["members"]]
    topologies = [case["subtopologies"] for case in cases]
    subtopologies = offsets(map(len, topologies))
    numbers = [
        {name: first + place for place, name in enumerate(topology)}
        for first, topology in zip(subtopologies[:-1].tolist(), topologies, strict=True)
    ]
    of_members = [known for case, known in zip(cases, numbers, strict=True) for _ in case["members"]]

    def lists(kind: str) -> TaskLists:
        had = [
            [(known.get(name, NO_SUBTOPOLOGY), int(p)) for name, listed in member.get(kind, {}).items() for p in listed]
            for member, known in zip(members, of_members, strict=True)
        ]
        tasks = [task for listed in had for task in listed]
        return TaskLists(offsets(map(len, had)), ints(s for s, _ in tasks), ints(p for _, p in tasks))

    sums = [s for member in members for listed in member.get("offsets", {}).values() for s in listed.values()]
    return StreamsGroups(
        offsets(len(case["members"]) for case in cases),
        Strings.of([member["member_id"] for member in members]),
        Strings.of([member["process_id"] for member in members]),
        subtopologies,
        Strings.of([name for topology in topologies for name in topology]),
        ints(one["tasks"] for topology in topologies for one in topology.values()),
        np.array([one["stateful"] for topology in topologies for one in topology.values()], np.bool_),
        ints(case["standby_replicas"] for case in cases),
        lists("active"),
        lists("standby"),
        lists("offsets"),
        np.array(sums, np.int64),
    )


def streams_answers(cases: Sequence[JsonObject], release: str) -> list[StreamsAnswer]:
    """Return the answers of the rules of a release."""
    groups = groups_of(cases)
    outcome = assign(groups, kafka_version(release))
    names, member_ids = groups.subtopology_ids.to_list(), groups.member_ids.to_list()
    active, standby = (_named(lists, names) for lists in (outcome.active, outcome.standby))
    answers: list[StreamsAnswer] = []
    for (start, end), error in zip(pairwise(groups.members.tolist()), outcome.errors, strict=True):
        given = {member_ids[m]: {"active": active[m], "standby": standby[m], "warmup": {}} for m in range(start, end)}
        answers.append(ERRORS[error] if error else given)
    return answers


def answer_of(answer: JsonObject) -> StreamsAnswer:
    """Return the assignment or the error in an answer of the oracle."""
    error: str = answer.get("error", "")
    return error.split(":", maxsplit=1)[0] if error else answer["assignment"]


def _named(lists: TaskLists, names: Sequence[str]) -> list[Tasks]:
    """Return the tasks of every member by the names of the subtopologies."""
    by_member: list[Tasks] = []
    subtopologies, partitions = lists.subtopologies.tolist(), lists.partitions.tolist()
    for start, end in pairwise(lists.offsets.tolist()):
        tasks: Tasks = {}
        for k in range(start, end):
            tasks.setdefault(names[subtopologies[k]], []).append(partitions[k])
        by_member.append(tasks)
    return by_member
