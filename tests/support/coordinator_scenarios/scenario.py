"""The contents of a scenario: the steps of one group, and what is expected of the coordinator."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from tests.support.coordinator_scenarios.steps import Step

ALL = ("1.0", "2.3", "3.9", "4.3")

Error = Literal[
    "NONE",
    "CORRUPT_MESSAGE",
    "COORDINATOR_NOT_AVAILABLE",
    "FENCED_INSTANCE_ID",
    "GROUP_ID_NOT_FOUND",
    "GROUP_MAX_SIZE_REACHED",
    "ILLEGAL_GENERATION",
    "INCONSISTENT_GROUP_PROTOCOL",
    "INVALID_SESSION_TIMEOUT",
    "MEMBER_ID_REQUIRED",
    "NOT_COORDINATOR",
    "NOT_ENOUGH_REPLICAS_AFTER_APPEND",
    "REBALANCE_IN_PROGRESS",
    "UNKNOWN_MEMBER_ID",
    "UNKNOWN_SERVER_ERROR",
]

EMPTY = "Empty"
PREPARING = "PreparingRebalance"
COMPLETING = "CompletingRebalance"
STABLE = "Stable"

_SCALA, _JAVA = "GroupCoordinatorTest.", "GroupMetadataManagerTest."
_TESTS = {
    "scala": (f"{_SCALA}{{}}",),
    "java": (f"{_JAVA}{{}}",),
    "both": (f"{_SCALA}{{}}", f"{_JAVA}{{}}"),
    "static": (f"{_SCALA}staticMember{{}}", f"{_JAVA}testStaticMember{{}}"),
}


@dataclass(frozen=True)
class Expectation:
    """What holds of a step (negative: counted from the last one) in some versions.

    ``fields`` are compared with those of the answer or the group; a set stands for any one of its elements.
    """

    step: int
    versions: tuple[str, ...]
    fields: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answered(Expectation):
    """The step's request is answered.

    ``members`` are the numbers of the list that a leader gets, ``metadata`` and ``instances`` what is said of them,
    ``left`` the errors of those who leave, in order; the error of a commit is that of each partition.
    """


@dataclass(frozen=True)
class Parked(Expectation):
    """The step's request has no answer at the end."""


@dataclass(frozen=True)
class Standing(Expectation):
    """The group after the step; ``state`` is called as it is since 2.0."""


@dataclass(frozen=True)
class Gone(Expectation):
    """There is no group after the step."""


@dataclass(frozen=True)
class Scenario:
    """Steps that a group goes through, and what is expected of it."""

    name: str
    versions: tuple[str, ...] = ALL
    config: Mapping[str, int] = field(default_factory=dict)
    mirrored: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
    expected: tuple[Expectation, ...] = ()

    def mirrors(self, *methods: str) -> "Scenario":
        """Name the tests of Kafka (class and method) that cover the same.

        Where no test of Kafka does, it is the method whose rule is shown. ``scala`` and ``java`` stand for the classes
        that test the two coordinators, ``both`` for tests of the same name in both of them, and ``static`` for those of
        static members, whose names begin in another way in each.
        """
        named = (method.split(".") for method in methods)
        full = (name.format(method) for short, method in named for name in _TESTS.get(short, (f"{short}.{{}}",)))
        return replace(self, mirrored=(*self.mirrored, *full))

    def plays(self, *steps: Step) -> "Scenario":
        """Add steps."""
        return replace(self, steps=(*self.steps, *steps))

    def expects(self, *expected: Expectation) -> "Scenario":
        """Add expectations."""
        return replace(self, expected=(*self.expected, *expected))

    def case(self, seed: int = 1) -> dict[str, Any]:
        """The scenario as a case; member ids, and with them what hash order decides, follow from the seed."""
        return {
            "rule": "coordinator",
            "id": self.name,
            "seed": seed,
            "config": dict(self.config),
            "steps": list(self.steps),
        }


def scenario(name: str, *, since: str = ALL[0], until: str = ALL[-1], **config: int) -> Scenario:
    """A scenario that holds in these versions, of a coordinator with this configuration."""
    return Scenario(name, _versions(since, until), config)


def answer(
    step: int, error: Error | set[Error] = "NONE", *, since: str = ALL[0], until: str = ALL[-1], **fields: Any
) -> Answered:
    """An answer: its error and those of its fields that matter; ``at_ms`` is when it was given."""
    return Answered(step, _versions(since, until), {"error": error, **fields})


def answers(*steps: int, **fields: Any) -> Iterator[Answered]:
    """The same answer to several requests."""
    return (answer(step, **fields) for step in steps)


def parked(step: int, *, since: str = ALL[0], until: str = ALL[-1]) -> Parked:
    """No answer."""
    return Parked(step, _versions(since, until))


def group(step: int, state: str, *, since: str = ALL[0], until: str = ALL[-1], **fields: Any) -> Standing:
    """The group's state and those of its fields that matter."""
    return Standing(step, _versions(since, until), {"state": state, **fields})


def gone(step: int, *, since: str = ALL[0], until: str = ALL[-1]) -> Gone:
    """No group."""
    return Gone(step, _versions(since, until))


def _versions(since: str, until: str) -> tuple[str, ...]:
    return ALL[ALL.index(since) : ALL.index(until) + 1]
