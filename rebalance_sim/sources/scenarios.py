"""Reads and checks scenario files, such as those of ``conf/scenarios``.

A file has a ``description``, ``settings`` (names and values of
``rebalance_sim.kafka.simulation.settings.SimulationSettings``), ``consumers`` (what all consumers are configured with:
``static``, ``session_timeout_ms``, ``max_poll_interval_ms``, ``protocols``) and ``steps``. A step has an ``event`` and
``at_ms``, which counts from the last ``next-bounce``; which further keys it may have depends on the event (``KEYS``).
``members`` selects consumers by their places: ``all``, a number (the first ones), a share (``50%``) or a list of places
from 0. A key may be given only once.

Instead of steps, or after them, a file may have a rollout of Kubernetes: ``deployment``, ``statefulSet`` or ``drain``.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Annotated, Any, Literal, Union

from msgspec import UNSET, Meta, Struct, UnsetType, defstruct, field, to_builtins
from msgspec.structs import asdict

from rebalance_sim.errors import UserError, check_choice
from rebalance_sim.kafka.coordinator.errors import Errors
from rebalance_sim.kafka.simulation.kubernetes import Deployment, Drain, PodTimes, Rollout, StatefulSet
from rebalance_sim.kafka.simulation.scenario import (
    CONFIGURE,
    NEXT_BOUNCE,
    OFFERS,
    Overrides,
    Scenario,
    ScenarioStep,
    Selection,
    is_offer,
)
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.sources.yaml_checks import InvalidValueError, checked, read_as, shown
from rebalance_sim.sources.yaml_files import Place, YamlFile, find_yaml, read_yaml_with_repeats

_TURNS = ("members", "every_ms", "times", "again_after_ms")
KEYS = {
    "join": ("count", "every_ms", "protocols", "subscription"),
    "leave": _TURNS,
    "crash": _TURNS,
    "restart": (*_TURNS, "down_ms"),
    "stall": (*_TURNS, "for_ms"),
    "subscribe": (*_TURNS, "subscription"),
    "protocols": (*_TURNS, "protocols"),
    "grow": ("topic", "add"),
    "move-coordinator": ("down_ms", "times", "again_after_ms"),
    "fail-store": ("error",),
    CONFIGURE: ("connector", "tasks"),
    NEXT_BOUNCE: (),
}
"""Keys of a step, by event, beside ``event`` and ``at_ms``; ``next-bounce`` has neither time nor keys."""
_NEEDED = {
    "restart": "down_ms",
    "stall": "for_ms",
    "subscribe": "subscription",
    "protocols": "protocols",
    "grow": "add",
    "move-coordinator": "down_ms",
    "fail-store": "error",
    CONFIGURE: "connector",
}
_MOST = 10**12
RolloutKind = Deployment | StatefulSet | Drain
_TAKE_TIME = (
    *("network_ms", "heartbeat_interval_ms", "group_consumer_heartbeat_interval_ms"),
    *("group_share_heartbeat_interval_ms", "group_streams_heartbeat_interval_ms"),
)
"""Settings that must not be 0: a request that is repeated without delay would never let the clock advance."""
Natural = Annotated[int, Meta(ge=0, le=_MOST)]
Positive = Annotated[int, Meta(ge=1, le=_MOST)]
Name = Annotated[str, Meta(min_length=1)]
Names = Annotated[tuple[Name, ...], Meta(min_length=1, description="a list of names, each once")]
Share = Annotated[str, Meta(pattern=r"^(all|\d{1,3}%)(?!\n)$")]
Places = Annotated[tuple[Natural, ...], Meta(min_length=1)]
Members = Annotated[
    Positive | Share | Places, Meta(description="all, a number from 1, a share such as 50%, or a list of places from 0")
]
_TYPES: dict[str, Any] = {
    "at_ms": Natural,
    "members": Members,
    "every_ms": Natural,
    "times": Positive,
    "again_after_ms": Natural,
    "count": Positive,
    "down_ms": Natural,
    "for_ms": Positive,
    "protocols": Names,
    "subscription": Names,
    "topic": Name,
    "add": Positive,
    "connector": Name,
    "tasks": Natural,
    "error": Literal[tuple(error.name for error in Errors)],
}


class _Part(Struct, frozen=True, forbid_unknown_fields=True):
    """A mapping of the file; keys that are not given are UNSET."""

    def __post_init__(self) -> None:
        for key in ("protocols", "subscription"):
            names = getattr(self, key, UNSET)
            if names and len(set(names)) < len(names):
                raise ValueError(f"{key}: expected names, each once, got {shown(list(names))}")
            if names and key == "protocols" and not is_offer(names):
                raise ValueError(f"{key}: expected {OFFERS}, got {shown(list(names))}")

    def given(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if value is not UNSET}


def _step_type(event: str) -> Any:
    needed = ("at_ms", _NEEDED.get(event))
    names = () if event == NEXT_BOUNCE else ("at_ms", *KEYS[event])
    keys = [(key, _TYPES[key]) if key in needed else (key, _TYPES[key] | UnsetType, UNSET) for key in names]
    return defstruct(event, keys, bases=(_Part,), kw_only=True, frozen=True, tag_field="event", tag=event)


STEPS = {event: _step_type(event) for event in KEYS}
"""Types of steps, by event."""
Settings = defstruct(
    "Settings",
    [
        (of.name, bool if isinstance(of.default, bool) else Positive if of.name in _TAKE_TIME else Natural, of.default)
        for of in fields(SimulationSettings)
    ],
    bases=(_Part,),
    frozen=True,
)


class Consumers(_Part, frozen=True):
    """Configuration of all consumers; overrides the members table."""

    static: bool | UnsetType = UNSET
    session_timeout_ms: Positive | UnsetType = UNSET
    max_poll_interval_ms: Positive | UnsetType = UNSET
    protocols: Names | UnsetType = UNSET


Pods = Annotated[
    Natural | Annotated[str, Meta(pattern=r"^\d{1,3}%(?!\n)$")],
    Meta(description="a number of pods or a share such as 25%"),
]
Seconds = Annotated[int, Meta(ge=0, le=86_400)]


class _RolloutPart(_Part, frozen=True, rename="camel", kw_only=True):
    """What the rollouts of Kubernetes have in common. Names are those of its resources where it has them."""

    replicas: Positive | UnsetType = UNSET
    """Pods of the group, to which its consumers are distributed. By default, each consumer has a pod of its own."""
    pod_start_seconds: Seconds = PodTimes().start_ms // 1000
    readiness_delay_seconds: Seconds = 10
    """From the start of the process until the readiness probe succeeds: by default, the default of its period."""
    min_ready_seconds: Seconds = 0
    readiness: Literal["running", "assigned"] = "running"
    """What makes the readiness probe succeed: that the process runs, or that its consumer has partitions."""
    shutdown_seconds: Seconds = PodTimes().shutdown_ms // 1000
    termination_grace_period_seconds: Seconds = PodTimes().grace_ms // 1000

    def _rollout(self, kind: RolloutKind) -> Rollout:
        seconds = (self.pod_start_seconds, self.shutdown_seconds, self.termination_grace_period_seconds)
        times = PodTimes(*(1000 * each for each in seconds))
        return Rollout(kind, times, None if self.replicas is UNSET else self.replicas)

    def settings(self) -> dict[str, Any]:
        """Return the settings of the simulation that say when a new pod is available."""
        ready_ms = 1000 * (self.readiness_delay_seconds + self.min_ready_seconds)
        return {"ready_ms": ready_ms, "ready_when_assigned": self.readiness == "assigned"}


class DeploymentPart(_RolloutPart, frozen=True, rename="camel", kw_only=True):
    """Rolling update of a Deployment."""

    max_surge: Pods = Deployment().max_surge
    max_unavailable: Pods = Deployment().max_unavailable

    def rollout(self) -> Rollout:
        """Return how the pods are replaced."""
        return self._rollout(Deployment(self.max_surge, self.max_unavailable))


class StatefulSetPart(_RolloutPart, frozen=True, rename="camel", kw_only=True):
    """Rolling update of a StatefulSet."""

    partition: Natural = StatefulSet().partition

    def rollout(self) -> Rollout:
        """Return how the pods are replaced."""
        return self._rollout(StatefulSet(self.partition))


class DrainPart(_RolloutPart, frozen=True, rename="camel", kw_only=True):
    """A node is drained of some pods of a Deployment; maxUnavailable or minAvailable is its PodDisruptionBudget."""

    pods: Pods
    max_unavailable: Pods | UnsetType = UNSET
    min_available: Pods | UnsetType = UNSET

    def __post_init__(self) -> None:
        if UNSET not in (self.max_unavailable, self.min_available):
            raise ValueError("maxUnavailable and minAvailable exclude each other in a PodDisruptionBudget")

    def rollout(self) -> Rollout:
        """Return how the pods are replaced."""
        limits = (self.max_unavailable, self.min_available)
        return self._rollout(Drain(self.pods, *(None if limit is UNSET else limit for limit in limits)))


class _ScenarioParts(_Part, frozen=True):
    """A file whose steps are checked one by one, because those that cannot be used are rejected."""

    description: str = ""
    settings: Settings | None = None  # type: ignore[valid-type]
    consumers: Consumers | None = None
    deployment: DeploymentPart | None = None
    stateful_set: StatefulSetPart | None = field(name="statefulSet", default=None)
    drain: DrainPart | None = None
    steps: Annotated[tuple[Any, ...], Meta(description="a list of steps")] = ()


class ScenarioFile(_ScenarioParts, frozen=True):
    """Steps that every group goes through, and the settings of the simulation."""

    steps: tuple[Union[tuple(STEPS.values())], ...] = ()  # type: ignore[valid-type]  # noqa: UP007


@dataclass(frozen=True)
class RejectedStep:
    """A step that cannot be used."""

    row: str
    """The step as JSON."""
    reason: str


CONNECT_EVENTS = ("join", "leave", "crash", "restart", CONFIGURE)
"""Events that Connect clusters have."""
CONSUMER_EVENTS = tuple(event for event in KEYS if event != CONFIGURE)
"""Events that groups of consumers have."""


def read_scenario(asked: str, events: Sequence[str] = CONSUMER_EVENTS) -> tuple[Scenario, list[RejectedStep]]:
    """Read a scenario by its name or from a file; return it with the steps that cannot be used.

    Steps with other events than ``events`` are among these.

    Raises UserError for a file that cannot be read, for a mistake outside of the steps, and if no step can be used.

    >>> scenario, rejected = read_scenario("rolling-restart")
    >>> scenario.steps[0].event, rejected
    ('restart', [])
    """
    path = find_yaml("--scenario", asked, "scenarios")
    file = read_yaml_with_repeats(path)
    for place, repeat in file.repeats.items():
        if not _is_in_step(place):
            raise UserError(f"{path}: {repeat}")
    root = read_as(file, _ScenarioParts)
    steps, rejected = [], []
    for number, row in enumerate(root.steps):
        try:
            steps.append(_step(file, number, row, events))
        except UserError as problem:
            # Keys may be dates.
            as_text = json.dumps(to_builtins(row, str_keys=True, enc_hook=str), ensure_ascii=False)
            rejected.append(RejectedStep(as_text, str(problem)))
    rollouts = [part for part in (root.deployment, root.stateful_set, root.drain) if part is not None]
    if len(rollouts) > 1:
        raise UserError(f"{path}: deployment, statefulSet and drain exclude each other")
    if not steps and not rollouts:
        first = f"; the first: {rejected[0].reason}" if rejected else ""
        raise UserError(f"{path}: steps: no step can be used{first}")
    settings = SimulationSettings(**root.settings.given()) if root.settings else SimulationSettings()
    consumers = Overrides(**root.consumers.given()) if root.consumers else Overrides()
    given = frozenset((file.value or {}).get("settings") or ())
    scenario = Scenario(path.stem, root.description, tuple(steps), settings, consumers, given=given)
    for part in rollouts:
        scenario = replace(scenario, settings=replace(settings, **part.settings()), rollout=part.rollout())
    return scenario, rejected


def scenario_of(asked: str | Scenario) -> Scenario:
    """Return a scenario by its name or from a file. Raises UserError for a mistake in the file."""
    if isinstance(asked, Scenario):
        return asked
    scenario, rejects = read_scenario(asked)
    if rejects:
        raise UserError(f"scenario {asked!r}: {rejects[0].reason}")
    return scenario


def settings_of(what: str, changed: Mapping[str, Any], base: SimulationSettings) -> SimulationSettings:
    """Return ``base`` with changed settings. Raises UserError for a setting that is not allowed.

    >>> settings_of("settings", {"network_ms": 20}, SimulationSettings()).network_ms
    20
    """
    try:
        read = checked(changed, Settings)
    except InvalidValueError as invalid:
        raise UserError(f"{what}: {invalid}") from None
    return replace(base, **{name: getattr(read, name) for name in changed})


def _is_in_step(place: Place) -> bool:
    return len(place) > 1 and place[0] == "steps" and isinstance(place[1], int)


def _step(file: YamlFile, number: int, entry: Any, events: Sequence[str]) -> ScenarioStep:
    place: Place = ("steps", number)
    line = f"line {file.line(place)}"
    if not isinstance(entry, Mapping) or "event" not in entry:
        raise UserError(f"{line}: {shown(entry)} is not a step; expected a mapping with an event")
    event = str(entry["event"])
    for repeated, repeat in file.repeats.items():
        if repeated[:2] == place:
            raise UserError(f"{event}: {repeat}")
    if event in KEYS and event not in events:
        others = "Connect clusters" if events is CONSUMER_EVENTS else "groups of consumers"
        raise UserError(f"{line}: {event}: an event of {others}; allowed: {', '.join(events)}")
    check_choice(f"{line}: event", event, list(events))
    try:
        values = checked(entry, STEPS[event]).given()
    except InvalidValueError as invalid:
        raise UserError(f"line {file.line(place + invalid.place)}: {event}: {invalid}") from None
    if "members" in values:
        values["members"] = _selection(values["members"])
    return ScenarioStep(event, **values)


def _selection(members: int | str | tuple[int, ...]) -> Selection:
    match members:
        case int(first):
            return Selection(first=first)
        case "all":
            return Selection(share=1)
        case str(share):
            return Selection(share=int(share[:-1]) / 100)
        case places:
            return Selection(places=places)
