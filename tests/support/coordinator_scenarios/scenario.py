"""The contents of a scenario: the steps of one group, and what is expected of the coordinator."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.support.coordinator_scenarios.steps import Step

ALL = ("1.0", "2.3", "3.9", "4.3")
SCALA = ("1.0", "2.3", "3.9")
UNTIL_2_3 = ("1.0", "2.3")
SINCE_2_3 = ("2.3", "3.9", "4.3")
SINCE_3_9 = ("3.9", "4.3")

NONE = "NONE"
COORDINATOR_NOT_AVAILABLE = "COORDINATOR_NOT_AVAILABLE"
FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
GROUP_MAX_SIZE_REACHED = "GROUP_MAX_SIZE_REACHED"
ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"
INVALID_SESSION_TIMEOUT = "INVALID_SESSION_TIMEOUT"
MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
NOT_COORDINATOR = "NOT_COORDINATOR"
REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
UNKNOWN_SERVER_ERROR = "UNKNOWN_SERVER_ERROR"

EMPTY = "Empty"
PREPARING = "PreparingRebalance"
COMPLETING = "CompletingRebalance"
STABLE = "Stable"


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
    """Steps that a group goes through.

    ``mirrors`` names the tests of Kafka (class and method) that cover the same, or, where no test of Kafka does,
    the method whose rule is shown. It is empty in the table of states and requests.
    """

    name: str
    mirrors: tuple[str, ...]
    versions: tuple[str, ...]
    steps: Sequence[Step]
    expected: Sequence[Expectation]
    config: Mapping[str, int] = field(default_factory=dict)

    def case(self, seed: int = 1) -> dict[str, Any]:
        """The scenario as a case; member ids, and with them what hash order decides, follow from the seed."""
        return {
            "rule": "coordinator",
            "id": self.name,
            "seed": seed,
            "config": dict(self.config),
            "steps": list(self.steps),
        }


def answer(step: int, error: str | set[str] = NONE, *, versions: tuple[str, ...] = ALL, **fields: Any) -> Answered:
    """An answer: its error and those of its fields that matter; ``at_ms`` is when it was given."""
    return Answered(step, versions, {"error": error, **fields})


def parked(step: int, *, versions: tuple[str, ...] = ALL) -> Parked:
    """No answer."""
    return Parked(step, versions)


def group(step: int, state: str, *, versions: tuple[str, ...] = ALL, **fields: Any) -> Standing:
    """The group's state and those of its fields that matter."""
    return Standing(step, versions, {"state": state, **fields})


def gone(step: int, *, versions: tuple[str, ...] = ALL) -> Gone:
    """No group."""
    return Gone(step, versions)
