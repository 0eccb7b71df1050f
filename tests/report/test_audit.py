"""The sections about an audit: ranked, scenarios apart, and every name as text."""

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.tables import COSTS, FINDINGS, VERDICTS
from tests.report.test_page import FETCHING, Elements
from tests.support.finished_runs import HOSTILE, SCRIPT, write_run


@pytest.fixture(scope="module")
def html(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of an audit whose names are hostile: 12 idle groups, and one of each other kind."""
    folder = tmp_path_factory.mktemp("audited")
    names = (*HOSTILE, "billing", "clicks")

    def found(name: str, kind: str, severity: str, scenario: str | None = None, members: int = 1) -> dict[str, object]:
        return {
            "group_id": name, "members": members, "kind": kind, "severity": severity, "scenario": scenario,
            "description": f"{kind} of {name}", "figures": {"idle": 2.0}, "recommendation": f"Restart {name}.",
            "settings": {name: name}, "saving": {"unowned_ms_saved": 1500.0, "share": 0.25}, "confidence": "certain",
        }  # fmt: skip

    findings = [
        *(found(name, "idle-members", "warning", members=place) for place, name in enumerate(names)),
        found(SCRIPT, "no-members", "note"),
        found(SCRIPT, "group-refused", "error"),
        found(SCRIPT, "rebalance-storm", "warning", scenario=SCRIPT, members=99),
    ]
    verdicts = [{"group_id": name, "migration": "no", "migration_reason": name} for name in names]
    costs = [{"group_id": "g", "strategy": "range", "stable": False, "rebalances": 1, "unowned_ms": 1}]
    run = write_run(spark, folder / "run", "audit", {FINDINGS: findings, VERDICTS: verdicts, COSTS: costs})
    assert main(["report", "--runs", run, "--out", f"{folder}/page"]) == 0
    return (folder / "page" / "report.html").read_text()


def test_findings_come_first_and_are_ranked(html: str) -> None:
    places = [
        html.index(text)
        for text in (
            *('<section id="checks"', '<section id="what-to-do"', "Error: group-refused (1 group)"),
            *("Warning: idle-members (12 groups, the 10 largest)", "Notes: they cannot", '<section id="scenarios"'),
            *("Warning: rebalance-storm (1 group, in a simulated ", '<section id="migration"', '<section id="runs"'),
        )
    ]
    assert places == sorted(places)
    idle = html[html.index("Warning: idle-members (") : html.index("Notes: they cannot")]
    assert idle.index("clicks") < idle.index("billing")
    assert "idle-members of billing" in idle
    assert "Restart billing." in idle
    assert "share 25 %, unowned saved 1.5 s" in idle


def test_checks_are_those_of_the_findings(html: str) -> None:
    """A group that is not stable in a scenario is not a finding about the present state."""
    checks = html[html.index('<section id="checks"') : html.index('<section id="what-to-do"')]
    assert "1 error, 2 warnings" in checks
    assert "groups with idle-members" in checks
    assert "become stable" not in checks


def test_hostile_names_are_shown_as_text(html: str) -> None:
    assert SCRIPT not in html
    elements = Elements(html)
    for tag, named in elements.found:
        assert tag not in ("iframe", "object", "embed", "img", "base", "form"), tag
        assert not FETCHING & named.keys(), (tag, named)
        assert not any(name.startswith("on") for name in named), (tag, named)
    assert sum(tag == "script" for tag, _ in elements.found) == 1
