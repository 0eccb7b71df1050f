"""Scenario files: those that come with the project, and what is refused."""

import json
from pathlib import Path

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.kubernetes import Deployment, Drain, PodTimes, Rollout, StatefulSet
from rebalance_sim.kafka.simulation.scenario import Overrides, ScenarioStep, Selection
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.sources.scenarios import CONNECT_EVENTS, CONSUMER_EVENTS, RejectedStep, read_scenario, settings_of
from rebalance_sim.sources.yaml_files import shipped_names

STEP = "steps: [{event: leave, at_ms: 5}]\n"


def written(tmp_path: Path, text: str) -> str:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    return str(tmp_path / "s.yaml")


def test_the_names_are_those_of_the_files() -> None:
    assert shipped_names("scenarios") == sorted(path.stem for path in Path("conf/scenarios").iterdir())


@pytest.mark.parametrize("name", shipped_names("scenarios"))
def test_every_scenario_reads(name: str) -> None:
    scenario, rejected = read_scenario(name)
    assert (scenario.name, rejected) == (name, [])
    assert scenario.description.endswith(".")
    assert scenario.steps or scenario.rollout


def test_all_that_a_file_may_say(tmp_path: Path) -> None:
    text = """
        description: all of it
        settings: {network_ms: 20, enable_auto_commit: false}
        consumers: {static: true, session_timeout_ms: 6000, max_poll_interval_ms: 1000, protocols: [range, sticky]}
        steps:
        - {event: join, at_ms: 1, count: 2, every_ms: 3, protocols: [mine], subscription: [t]}
        - {event: leave, at_ms: 2, members: all, every_ms: 4, times: 2, again_after_ms: 5}
        - {event: crash, at_ms: 3, members: 2}
        - {event: restart, at_ms: 4, members: 50%, down_ms: 0}
        - {event: stall, at_ms: 5, members: [0, 3], for_ms: 9}
        - {event: subscribe, at_ms: 6, subscription: [t, u]}
        - {event: protocols, at_ms: 7, protocols: [range]}
        - {event: grow, at_ms: 8, topic: t, add: 1}
        - {event: move-coordinator, at_ms: 9, down_ms: 7, times: 2, again_after_ms: 8}
        - {event: fail-store, at_ms: 10, error: NOT_ENOUGH_REPLICAS}
        - {event: next-bounce}
    """
    scenario, rejected = read_scenario(written(tmp_path, text))
    assert rejected == []
    assert scenario.settings == SimulationSettings(network_ms=20, enable_auto_commit=False)
    assert scenario.consumers == Overrides(True, 6000, 1000, ("range", "sticky"))
    assert scenario.steps == (
        ScenarioStep("join", 1, count=2, every_ms=3, protocols=("mine",), subscription=("t",)),
        ScenarioStep("leave", 2, every_ms=4, times=2, again_after_ms=5),
        ScenarioStep("crash", 3, Selection(first=2)),
        ScenarioStep("restart", 4, Selection(share=0.5)),
        ScenarioStep("stall", 5, Selection(places=(0, 3)), for_ms=9),
        ScenarioStep("subscribe", 6, subscription=("t", "u")),
        ScenarioStep("protocols", 7, protocols=("range",)),
        ScenarioStep("grow", 8, topic="t", add=1),
        ScenarioStep("move-coordinator", 9, down_ms=7, times=2, again_after_ms=8),
        ScenarioStep("fail-store", 10, error="NOT_ENOUGH_REPLICAS"),
        ScenarioStep("next-bounce"),
    )
    assert {step.event for step in scenario.steps} == set(CONSUMER_EVENTS)


def test_a_connector_changes_in_connect_clusters_only(tmp_path: Path) -> None:
    text = """
        steps:
        - {event: configure, at_ms: 1, connector: orders, tasks: 2}
        - {event: configure, at_ms: 2, connector: orders}
        - {event: grow, at_ms: 3, add: 1}
    """
    scenario, rejected = read_scenario(written(tmp_path, text), CONNECT_EVENTS)
    assert scenario.steps == (
        ScenarioStep("configure", 1, connector="orders", tasks=2),
        ScenarioStep("configure", 2, connector="orders", tasks=None),
    )
    (grow,) = rejected
    assert grow.reason.endswith(
        "grow: an event of groups of consumers; allowed: join, leave, crash, restart, configure"
    )


@pytest.mark.parametrize(
    ("text", "rollout", "ready_ms"),
    [
        ("deployment: {replicas: 30, maxSurge: 25%}", Rollout(Deployment("25%", "25%"), replicas=30), 10_000),
        (
            "deployment: {maxSurge: 2, maxUnavailable: 0, podStartSeconds: 7, shutdownSeconds: 3, "
            "terminationGracePeriodSeconds: 20, readinessDelaySeconds: 5, minReadySeconds: 30}",
            Rollout(Deployment(2, 0), PodTimes(7000, 3000, 20_000)),
            35_000,
        ),
        ("statefulSet: {partition: 2, readinessDelaySeconds: 0}", Rollout(StatefulSet(2)), 0),
        ("drain: {pods: 20%, maxUnavailable: 1}", Rollout(Drain("20%", 1)), 10_000),
        ("drain: {pods: 3, minAvailable: 90%}", Rollout(Drain(3, None, "90%")), 10_000),
    ],
)
def test_rollouts_of_kubernetes(tmp_path: Path, text: str, rollout: Rollout, ready_ms: int) -> None:
    scenario, rejected = read_scenario(written(tmp_path, text))
    assert (scenario.steps, rejected, scenario.rollout) == ((), [], rollout)
    assert scenario.settings == SimulationSettings(ready_ms=ready_ms)


def test_a_rollout_may_follow_steps(tmp_path: Path) -> None:
    text = f"{STEP}settings: {{network_ms: 7}}\ndeployment: {{readiness: assigned}}"
    scenario, _ = read_scenario(written(tmp_path, text))
    assert scenario.steps == (ScenarioStep("leave", 5),)
    assert scenario.rollout == Rollout(Deployment())
    assert scenario.settings == SimulationSettings(network_ms=7, ready_ms=10_000, ready_when_assigned=True)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        (
            "rolling-restrat",
            "--scenario: 'rolling-restrat' is not known (did you mean 'rolling-restart'?); allowed: assignor-one-",
        ),
        ("", "--scenario: '' is not known; allowed: assignor-one-bounce, "),
        ("./typo.yaml", "typo.yaml: cannot be read: No such file or directory"),
        ("conf/scenarios", "conf/scenarios: cannot be read: Is a directory"),
    ],
)
def test_a_scenario_that_cannot_be_found_or_read_is_an_error(asked: str, expected: str) -> None:
    with pytest.raises(UserError) as problem:
        read_scenario(asked)
    assert str(problem.value).startswith(expected)


_NUMBER = "expected a whole number from"
_MOST = 1_000_000_000_000
_MEMBERS = "expected all, a number from 1, a share such as 50%, or a list of places from 0"
_KEYS = "description, settings, consumers, deployment, statefulSet, drain, steps"
MISTAKES = [
    ("", f"line 1: expected a mapping with the keys {_KEYS}, got nothing"),
    ("- 1", f"line 1: expected a mapping with the keys {_KEYS}, got [1]"),
    (STEP + "setings: {}", "line 2: setings: unknown key; did you mean 'settings'? allowed: description, "),
    ("steps: {event: leave}", "line 1: steps: expected a list of steps, got {'event': 'leave'}"),
    ("steps:", "line 1: steps: expected a list of steps, got nothing"),
    ("steps: []", "steps: no step can be used"),
    ("description: nothing", "steps: no step can be used"),
    ("steps: [{event: leave}]", "steps: no step can be used; the first: line 1: leave: at_ms: is missing"),
    (STEP + "settings: [1]", "line 2: settings: expected a mapping with the keys group_initial_rebalance_delay_ms, "),
    (STEP + "settings: {network: 1}", "line 2: settings.network: unknown key; did you mean 'network_ms'? allowed: "),
    (STEP + "settings: {store_ms: -1}", f"line 2: settings.store_ms: {_NUMBER} 0 to {_MOST}, got -1"),
    (STEP + f"settings: {{store_ms: {10**30}}}", f"line 2: settings.store_ms: {_NUMBER} 0 to {_MOST}, got {10**30}"),
    (STEP + "settings: {store_ms: 1.5}", f"line 2: settings.store_ms: {_NUMBER} 0 to {_MOST}, got 1.5"),
    (STEP + "settings: {store_ms: true}", f"line 2: settings.store_ms: {_NUMBER} 0 to {_MOST}, got True"),
    (STEP + "settings: {network_ms: 0}", f"line 2: settings.network_ms: {_NUMBER} 1 to {_MOST}, got 0"),
    (
        STEP + "settings: {heartbeat_interval_ms: 0}",
        f"line 2: settings.heartbeat_interval_ms: {_NUMBER} 1 to {_MOST}, got 0",
    ),
    (STEP + "settings: {enable_auto_commit: 1}", "line 2: settings.enable_auto_commit: expected true or false, got 1"),
    (STEP + "consumers: {rack: a}", "line 2: consumers.rack: unknown key; allowed: static, session_timeout_ms, "),
    (STEP + "consumers: {static: ja}", "line 2: consumers.static: expected true or false, got 'ja'"),
    (
        STEP + "consumers: {session_timeout_ms: 0}",
        f"line 2: consumers.session_timeout_ms: {_NUMBER} 1 to {_MOST}, got 0",
    ),
    (
        STEP + "consumers: {max_poll_interval_ms: a}",
        f"line 2: consumers.max_poll_interval_ms: {_NUMBER} 1 to {_MOST}, got 'a'",
    ),
    (STEP + "consumers: {protocols: []}", "line 2: consumers.protocols: expected a list of names, each once, got []"),
    (
        STEP + "consumers: {protocols: range}",
        "line 2: consumers.protocols: expected a list of names, each once, got 'range'",
    ),
    (
        STEP + "consumers: {protocols: [a, a]}",
        "line 2: consumers: protocols: expected names, each once, got ['a', 'a']",
    ),
    (
        STEP + "consumers: {protocols: [range, server-range]}",
        "line 2: consumers: protocols: expected server-uniform or server-range alone, or assignors of the consumer",
    ),
    (STEP + "deployment: {maxsurge: 1}", "line 2: deployment.maxsurge: unknown key; did you mean 'maxSurge'? "),
    (STEP + "deployment: {maxSurge: many}", "line 2: deployment.maxSurge: expected a number of pods or a share "),
    (STEP + "deployment: {replicas: 0}", f"line 2: deployment.replicas: {_NUMBER} 1 to {_MOST}, got 0"),
    (STEP + "deployment: {readiness: never}", "line 2: deployment.readiness: got 'never'; allowed: "),
    (STEP + "drain: {maxUnavailable: 1}", "line 2: drain.pods: is missing"),
    (
        STEP + "drain: {pods: 1, maxUnavailable: 1, minAvailable: 1}",
        "line 2: drain: maxUnavailable and minAvailable exclude each other",
    ),
    (STEP + "drain: {pods: 1}\ndeployment: {}", "deployment, statefulSet and drain exclude each other"),
    (STEP + "settings: {store_ms: 1, store_ms: 2}", "'store_ms' is given twice, in line 2"),
    (STEP + "consumers:\n  static: true\n  'static': false", "'static' is given twice, in line 3 and line 4"),
    (STEP + "settings: {}\n" + STEP, "'steps' is given twice, in line 1 and line 3"),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES)
def test_mistakes_outside_of_steps(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError) as problem:
        read_scenario(written(tmp_path, text))
    assert str(problem.value).startswith(f"{tmp_path}/s.yaml: {expected}")


@pytest.mark.parametrize("content", [b"steps: [", b"steps: \xff", b"a: !!python/name:os.system"])
def test_what_is_not_yaml(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.yaml").write_bytes(content)
    with pytest.raises(UserError) as problem:
        read_scenario(str(tmp_path / "s.yaml"))
    assert str(problem.value).startswith(f"{tmp_path}/s.yaml: ")
    assert "\n" not in str(problem.value)


BAD_STEPS = [
    ("leave", "'leave' is not a step; expected a mapping with an event"),
    ("{at_ms: 1}", "{'at_ms': 1} is not a step; expected a mapping with an event"),
    ("{event: restrat, at_ms: 1}", "event: 'restrat' is not known (did you mean 'restart'?); allowed: join, leave, "),
    ("{event: leave, at_ms: 1, down_ms: 2}", "leave: down_ms: unknown key; allowed: at_ms, members, every_ms, times"),
    ("{event: leave}", "leave: at_ms: is missing"),
    ("{event: leave, at_ms: -1}", f"leave: at_ms: {_NUMBER} 0 to {_MOST}, got -1"),
    ("{event: leave, at_ms: soon}", f"leave: at_ms: {_NUMBER} 0 to {_MOST}, got 'soon'"),
    ("{event: leave, at_ms: }", f"leave: at_ms: {_NUMBER} 0 to {_MOST}, got nothing"),
    ("{event: restart, at_ms: 1}", "restart: down_ms: is missing"),
    ("{event: stall, at_ms: 1}", "stall: for_ms: is missing"),
    ("{event: stall, at_ms: 1, for_ms: 0}", f"stall: for_ms: {_NUMBER} 1 to {_MOST}, got 0"),
    ("{event: subscribe, at_ms: 1}", "subscribe: subscription: is missing"),
    (
        "{event: subscribe, at_ms: 1, subscription: t}",
        "subscribe: subscription: expected a list of names, each once, got 't'",
    ),
    ("{event: subscribe, at_ms: 1, subscription: [1]}", "subscribe: subscription[0]: expected a name, got 1"),
    ("{event: protocols, at_ms: 1}", "protocols: protocols: is missing"),
    ("{event: grow, at_ms: 1}", "grow: add: is missing"),
    ("{event: grow, at_ms: 1, add: 0}", f"grow: add: {_NUMBER} 1 to {_MOST}, got 0"),
    ("{event: grow, at_ms: 1, add: 1, topic: 7}", "grow: topic: expected a name, got 7"),
    ("{event: move-coordinator, at_ms: 1}", "move-coordinator: down_ms: is missing"),
    ("{event: fail-store, at_ms: 1}", "fail-store: error: is missing"),
    (
        "{event: fail-store, at_ms: 1, error: NOT_ENOUGH_REPLICS}",
        "fail-store: error: got 'NOT_ENOUGH_REPLICS'; did you mean 'NOT_ENOUGH_REPLICAS'? ",
    ),
    ("{event: join, at_ms: 1, count: 0}", f"join: count: {_NUMBER} 1 to {_MOST}, got 0"),
    ("{event: join, at_ms: 1, members: all}", "join: members: unknown key; allowed: at_ms, count, "),
    *(
        (f"{{event: leave, at_ms: 1, members: {chosen}}}", f"leave: members: {_MEMBERS}, got {problem}")
        for chosen, problem in (("0", "0"), ("some", "'some'"), ("5.5%", "'5.5%'"), ("[]", "[]"))
    ),
    ("{event: leave, at_ms: 1, members: [-1]}", f"leave: members[0]: {_NUMBER} 0 to {_MOST}, got -1"),
    ("{event: leave, at_ms: 1, times: 0}", f"leave: times: {_NUMBER} 1 to {_MOST}, got 0"),
    ("{event: leave, at_ms: 1, at_ms: 2}", "leave: 'at_ms' is given twice, in line "),
    ("{event: leave, event: crash, at_ms: 1}", "crash: 'event' is given twice, in line "),
    ('{event: leave, at_ms: 1, members: "all\\n"}', f"leave: members: {_MEMBERS}, got 'all\\n'"),
    ("{event: leave, at_ms: 1, 2020-01-01: 3}", "leave: "),
    ("&again {event: crash, at_ms: 1, at_ms: 1}", "crash: 'at_ms' is given twice, in line "),
    ("*again", "crash: 'at_ms' is given twice, in line "),
]


def test_bad_steps_are_rejected_and_the_rest_goes_on(tmp_path: Path) -> None:
    text = "steps:\n" + "".join(f"- {step}\n" for step, _ in BAD_STEPS) + "- {event: crash, at_ms: 7}\n"
    scenario, rejected = read_scenario(written(tmp_path, text))
    assert scenario.steps == (ScenarioStep("crash", 7),)
    assert len(rejected) == len(BAD_STEPS)
    for line, (step, (_, expected)) in enumerate(zip(rejected, BAD_STEPS, strict=True), start=2):
        assert step.reason.startswith(expected if "given twice" in expected else f"line {line}: {expected}")
    assert json.loads(rejected[2].row) == {"event": "restrat", "at_ms": 1}


def test_a_key_given_twice_is_told_with_its_lines(tmp_path: Path) -> None:
    text = "steps:\n- event: leave\n  at_ms: 1\n  every_ms: 2\n  at_ms: 3\n- {event: leave, at_ms: 4}\n"
    scenario, rejected = read_scenario(written(tmp_path, text))
    assert scenario.steps == (ScenarioStep("leave", 4),)
    assert rejected == [
        RejectedStep(
            '{"event": "leave", "at_ms": 3, "every_ms": 2}', "leave: 'at_ms' is given twice, in line 3 and line 5"
        )
    ]


def test_merged_keys_may_be_given_again(tmp_path: Path) -> None:
    """What a step says itself wins over what it merges, and over what that has merged."""
    text = """
        steps:
        - &usual {event: stall, at_ms: 1, for_ms: 9}
        - &later {<<: *usual, at_ms: 2}
        - {<<: *later, at_ms: 3}
    """
    scenario, rejected = read_scenario(written(tmp_path, text))
    assert rejected == []
    assert scenario.steps == tuple(ScenarioStep("stall", at_ms, for_ms=9) for at_ms in (1, 2, 3))


def test_dates_are_told_as_text(tmp_path: Path) -> None:
    """YAML has values that JSON has not."""
    text = STEP + "- {event: leave, at_ms: 2026-01-01}\n"
    _, rejected = read_scenario(written(tmp_path, text.replace("[", "\n- ").replace("]", "")))
    assert rejected == [
        RejectedStep(
            '{"event": "leave", "at_ms": "2026-01-01"}',
            f"line 3: leave: at_ms: {_NUMBER} 0 to {_MOST}, got datetime.date(2026, 1, 1)",
        )
    ]


def test_settings_build_on_others() -> None:
    assert settings_of("s", {"store_ms": 3}, SimulationSettings(network_ms=2)) == SimulationSettings(
        network_ms=2, store_ms=3
    )
    assert settings_of("s", {"enable_auto_commit": False}, SimulationSettings()) == SimulationSettings(
        enable_auto_commit=False
    )


@pytest.mark.parametrize(
    ("chosen", "of_five"),
    [
        (Selection(share=1), [0, 1, 2, 3, 4]),
        (Selection(share=0.01), [0]),
        (Selection(share=0.6), [0, 1, 2]),
        (Selection(share=0.2), [0]),
        (Selection(share=9.99), [0, 1, 2, 3, 4]),
        (Selection(first=9), [0, 1, 2, 3, 4]),
        (Selection(places=(3, 0, 9)), [3, 0]),
        (Selection(), []),
    ],
)
def test_selections_of_five(chosen: Selection, of_five: list[int]) -> None:
    assert chosen.of(5) == of_five


def test_a_share_that_comes_out_even_is_not_rounded_up() -> None:
    assert [len(Selection(share=percent / 100).of(100)) for percent in range(101)] == list(range(101))
