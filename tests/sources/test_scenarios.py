"""Scenario files: those that come with the project, and what is refused."""

import json
from pathlib import Path

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.simulation.scenario import Overrides, ScenarioStep, Selection
from rebalance_sim.kafka.simulation.settings import SimulationSettings
from rebalance_sim.sources.scenarios import KEYS, RejectedStep, read_scenario, scenario_names, settings_of

STEP = "steps: [{event: leave, at_ms: 5}]\n"


def written(tmp_path: Path, text: str) -> str:
    (tmp_path / "s.yaml").write_text(text, encoding="utf-8")
    return str(tmp_path / "s.yaml")


def test_the_names_are_those_of_the_files() -> None:
    assert scenario_names() == sorted(path.stem for path in Path("conf/scenarios").iterdir())


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_reads(name: str) -> None:
    scenario, rejected = read_scenario(name)
    assert (scenario.name, rejected) == (name, [])
    assert scenario.description.endswith(".")
    assert scenario.steps


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
    )
    assert {step.event for step in scenario.steps} == set(KEYS)


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        ("rolling-restrat", "'rolling-restrat' is not known (did you mean 'rolling-restart'?); allowed: assignor-one-"),
        ("", "'' is not known; allowed: assignor-one-bounce, "),
        ("./typo.yaml", "cannot read 'typo.yaml': "),
        ("conf/scenarios", "cannot read 'conf/scenarios': "),
    ],
)
def test_a_scenario_that_cannot_be_found_or_read_is_an_error(asked: str, expected: str) -> None:
    with pytest.raises(UserError) as problem:
        read_scenario(asked)
    assert str(problem.value).startswith(f"--scenario: {expected}")


_NUMBER = "is not allowed; allowed: whole numbers from"
MISTAKES = [
    ("", "None is not allowed; allowed: a mapping of description, settings, consumers, steps"),
    ("- 1", "[1] is not allowed; allowed: a mapping of "),
    (STEP + "setings: {}", "'setings' is not known (did you mean 'settings'?); allowed: "),
    ("steps: {event: leave}", "steps: {'event': 'leave'} is not allowed; allowed: a list"),
    ("steps:", "steps: None is not allowed; allowed: a list"),
    ("steps: []", "steps: no step can be used"),
    ("description: nothing", "steps: no step can be used"),
    ("steps: [{event: leave}]", "steps: no step can be used; the first: leave: at_ms is missing"),
    (STEP + "settings: [1]", "settings: [1] is not allowed; allowed: a mapping of group_initial_rebalance_delay_ms, "),
    (STEP + "settings: {network: 1}", "settings: 'network' is not known (did you mean 'network_ms'?); allowed: "),
    (STEP + "settings: {store_ms: -1}", f"settings: store_ms: -1 {_NUMBER} 0 to "),
    (STEP + "settings: {store_ms: 1.5}", f"settings: store_ms: 1.5 {_NUMBER} 0 to "),
    (STEP + "settings: {store_ms: true}", f"settings: store_ms: True {_NUMBER} 0 to "),
    (STEP + "settings: {network_ms: 0}", f"settings: network_ms: 0 {_NUMBER} 1 to "),
    (STEP + "settings: {heartbeat_interval_ms: 0}", f"settings: heartbeat_interval_ms: 0 {_NUMBER} 1 to "),
    (STEP + "settings: {enable_auto_commit: 1}", "settings: enable_auto_commit: 1 is not allowed; allowed: true and "),
    (STEP + "consumers: {rack: a}", "consumers: 'rack' is not known; allowed: static, session_timeout_ms, "),
    (STEP + "consumers: {static: ja}", "consumers: static: 'ja' is not allowed; allowed: true and false"),
    (STEP + "consumers: {session_timeout_ms: 0}", f"consumers: session_timeout_ms: 0 {_NUMBER} 1 to "),
    (STEP + "consumers: {max_poll_interval_ms: a}", f"consumers: max_poll_interval_ms: 'a' {_NUMBER} 1 to "),
    (STEP + "consumers: {protocols: []}", "consumers: protocols: [] is not allowed; allowed: names, each once"),
    (STEP + "consumers: {protocols: range}", "consumers: protocols: 'range' is not allowed; allowed: a list"),
    (STEP + "consumers: {protocols: [a, a]}", "consumers: protocols: ['a', 'a'] is not allowed; allowed: names, each"),
    (
        STEP + "consumers: {protocols: [range, server-range]}",
        "consumers: protocols: ['range', 'server-range'] is not allowed; allowed: server-uniform or server-range alone",
    ),
    (STEP + "settings: {store_ms: 1, store_ms: 2}", "settings: 'store_ms' is given twice, in line 2"),
    (
        STEP + "consumers:\n  static: true\n  'static': false",
        "consumers: 'static' is given twice, in line 3 and line 4",
    ),
    (STEP + "settings: {}\n" + STEP, "'steps' is given twice, in line 1 and line 3"),
]


@pytest.mark.parametrize(("text", "expected"), MISTAKES)
def test_mistakes_outside_of_steps(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError) as problem:
        read_scenario(written(tmp_path, text))
    assert str(problem.value).startswith(f"--scenario: s.yaml: {expected}")


@pytest.mark.parametrize("content", [b"steps: [", b"steps: \xff", b"a: !!python/name:os.system"])
def test_what_is_not_yaml(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "s.yaml").write_bytes(content)
    with pytest.raises(UserError) as problem:
        read_scenario(str(tmp_path / "s.yaml"))
    assert str(problem.value).startswith(f"--scenario: cannot read '{tmp_path}/s.yaml': ")
    assert "\n" not in str(problem.value)


BAD_STEPS = [
    ("leave", "step: 'leave' is not a step; expected a mapping with an event"),
    ("{at_ms: 1}", "step: {'at_ms': 1} is not a step; expected a mapping with an event"),
    ("{event: restrat, at_ms: 1}", "event: 'restrat' is not known (did you mean 'restart'?); allowed: join, leave, "),
    ("{event: leave, at_ms: 1, down_ms: 2}", "leave: 'down_ms' is not known; allowed: event, at_ms, members, every_ms"),
    ("{event: leave}", "leave: at_ms is missing"),
    ("{event: leave, at_ms: -1}", f"leave: at_ms: -1 {_NUMBER} 0 to "),
    ("{event: leave, at_ms: soon}", f"leave: at_ms: 'soon' {_NUMBER} 0 to "),
    ("{event: leave, at_ms: }", f"leave: at_ms: None {_NUMBER} 0 to "),
    ("{event: restart, at_ms: 1}", "restart: down_ms is missing"),
    ("{event: stall, at_ms: 1}", "stall: for_ms is missing"),
    ("{event: stall, at_ms: 1, for_ms: 0}", f"stall: for_ms: 0 {_NUMBER} 1 to "),
    ("{event: subscribe, at_ms: 1}", "subscribe: subscription is missing"),
    ("{event: subscribe, at_ms: 1, subscription: t}", "subscribe: subscription: 't' is not allowed; allowed: a list"),
    ("{event: subscribe, at_ms: 1, subscription: [1]}", "subscribe: subscription: 1 is not allowed; allowed: a name"),
    ("{event: protocols, at_ms: 1}", "protocols: protocols is missing"),
    ("{event: grow, at_ms: 1}", "grow: add is missing"),
    ("{event: grow, at_ms: 1, add: 0}", f"grow: add: 0 {_NUMBER} 1 to "),
    ("{event: grow, at_ms: 1, add: 1, topic: 7}", "grow: topic: 7 is not allowed; allowed: a name"),
    ("{event: move-coordinator, at_ms: 1}", "move-coordinator: down_ms is missing"),
    ("{event: fail-store, at_ms: 1}", "fail-store: error is missing"),
    ("{event: fail-store, at_ms: 1, error: NOT_ENOUGH}", "fail-store: error: 'NOT_ENOUGH' is not known"),
    ("{event: join, at_ms: 1, count: 0}", f"join: count: 0 {_NUMBER} 1 to "),
    ("{event: join, at_ms: 1, members: all}", "join: 'members' is not known; allowed: event, at_ms, count, "),
    *(
        (
            f"{{event: leave, at_ms: 1, members: {chosen}}}",
            f"leave: members: {problem} is not allowed; allowed: all, a num",
        )
        for chosen, problem in (("0", "0"), ("some", "'some'"), ("5.5%", "'5.5%'"), ("[]", "[]"), ("[-1]", "[-1]"))
    ),
    ("{event: leave, at_ms: 1, times: 0}", f"leave: times: 0 {_NUMBER} 1 to "),
    ("{event: leave, at_ms: 1, at_ms: 2}", "leave: 'at_ms' is given twice, in line "),
    ("{event: leave, event: crash, at_ms: 1}", "crash: 'event' is given twice, in line "),
]


def test_bad_steps_are_rejected_and_the_rest_goes_on(tmp_path: Path) -> None:
    text = "steps:\n" + "".join(f"- {step}\n" for step, _ in BAD_STEPS) + "- {event: crash, at_ms: 7}\n"
    scenario, rejected = read_scenario(written(tmp_path, text))
    assert scenario.steps == (ScenarioStep("crash", 7),)
    assert len(rejected) == len(BAD_STEPS)
    for step, (_, expected) in zip(rejected, BAD_STEPS, strict=True):
        assert step.reason.startswith(expected)
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
            f"leave: at_ms: datetime.date(2026, 1, 1) {_NUMBER} 0 to 1000000000000",
        )
    ]


def test_settings_build_on_others() -> None:
    assert settings_of("s", {"store_ms": 3}, SimulationSettings(network_ms=2)) == SimulationSettings(
        network_ms=2, store_ms=3
    )
    assert settings_of("s", {"enable_auto_commit": False}) == SimulationSettings(enable_auto_commit=False)


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
