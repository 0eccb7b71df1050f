"""The summary in Markdown and the figures for Prometheus beside the tables of an audit."""

import re

from pyspark.sql import Row

from rebalance_sim.commands.audit_files import AuditFigures, metrics, summary
from rebalance_sim.engine.audit.finding import Severity
from rebalance_sim.engine.audit.news import Change, RankedNews
from rebalance_sim.engine.audit.ranking import RankedKind
from rebalance_sim.engine.audit.since import Since
from rebalance_sim.engine.audit.unread import Unread

_NAME, _LABEL = r"[a-zA-Z_:][a-zA-Z0-9_:]*", r"[a-zA-Z_][a-zA-Z0-9_]*"
_VALUE = r'"(?:[^"\\\n]|\\[\\"n])*"'
_SAMPLE = re.compile(rf"({_NAME})(\{{{_LABEL}={_VALUE}(?:,{_LABEL}={_VALUE})*\}})? (-?[0-9.e+]+)")
_COMMENT = re.compile(rf"# (HELP|TYPE) ({_NAME}) (.+)")
HOSTILE = "a|b`c`*d*\n[e](http://f) @all <img src=x> # g"


def samples(text: str) -> dict[str, float]:
    """Parse Prometheus' text format strictly: each metric once, with its help and type before its samples."""
    assert text.endswith("\n")
    found: dict[str, float] = {}
    described: list[tuple[str, str]] = []
    for line in text.splitlines():
        comment = _COMMENT.fullmatch(line)
        if comment:
            assert comment[1] != "TYPE" or comment[3] == "gauge"
            described.append((comment[1], comment[2]))
            continue
        sample = _SAMPLE.fullmatch(line)
        assert sample, line
        assert described[-2:] == [("HELP", sample[1]), ("TYPE", sample[1])]
        assert f"{sample[1]}{sample[2] or ''}" not in found
        found[f"{sample[1]}{sample[2] or ''}"] = float(sample[3])
    assert len(described) == len(set(described))
    return found


def of(name: str, group: str) -> RankedKind:
    texts = {"description": f"about {group}", "recommendation": f"Restart {group}."}
    row = Row(cluster="c", group_id=group, confidence="assumed", **texts)
    return RankedKind(Severity.WARNING, "uneven", name, None, 7, 0, 9, [row] * 5)


def figures(*kinds: RankedKind, since: Since | None = None) -> AuditFigures:
    return AuditFigures(kinds, 9, 7, 12, Unread(0, 9, 0, 0, 0, 0, None), since, "2026-11-29T02:00:00+00:00")


def test_names_cannot_change_the_markdown() -> None:
    row = Row(cluster="c", group_id=HOSTILE, topic=None, description=f"about {HOSTILE}")
    since = Since("d", "2026-11-28 02:00 UTC", (), (RankedNews(Change.NEW, "imbalance", "warning", None, 1, (row,)),))
    text = summary(figures(of("imbalance", HOSTILE), since=since), "out/report.html")
    lines = text.splitlines()
    assert lines[0] == "**7 of 9 groups need attention: 7 warnings, no errors.**"
    assert "Since the audit of 2026-11-28 02:00 UTC: 1 new" in lines
    named = [line for line in lines if "about" in line]
    assert len(named) == 4
    shown = r"a|b`c`*d*\n[e](http://f) @all <img src=x> # g"
    assert all(line.startswith(f"  - `` {shown} ``: about ") for line in named)
    for line in named:
        rest = line.partition("``: ")[2].replace("`@`", "")
        assert re.search(r"(?<!\\)[`*<>\[\]|#]", rest) is None, rest
    assert lines[-1] == "Page: `out/report.html`"


def test_the_summary_is_bounded() -> None:
    text = summary(figures(*(of(f"kind-{number}", "x" * 10_000) for number in range(50))), "")
    assert len(text.splitlines()) < 30
    assert len(text) < 15_000
    # A description that is cut is still marked.
    assert text.count("… (assumed) → ") == 15
    assert "- and 45 more kinds of findings" in text


def test_metrics_have_a_series_for_each_kind_of_finding_and_change() -> None:
    found = samples(metrics(figures(of("imbalance", "g"), since=Since("d", "t", (), ()))))
    assert found["rebalance_sim_groups"] == 9
    assert found['rebalance_sim_findings{severity="warning",kind="imbalance"}'] == 7
    assert found['rebalance_sim_findings{severity="error",kind="group-unread"}'] == 0
    assert found['rebalance_sim_news{change="new",severity="error"}'] == 0
    assert found['rebalance_sim_news{change="vanished",severity="none"}'] == 0
    assert found["rebalance_sim_start_time_seconds"] == 1_795_917_600
    assert len(found) < 100
    hostile = samples(metrics(figures(of('k"\\\n', "g"))))
    assert hostile['rebalance_sim_findings{severity="warning",kind="k\\"\\\\\\n"}'] == 7
    assert not any(name.startswith("rebalance_sim_news") for name in hostile)
