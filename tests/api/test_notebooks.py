"""What ``report`` and ``show`` draw in a notebook: from DataFrames, in a frame that loads nothing."""

import importlib
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import rebalance_sim as sim
from rebalance_sim.api.audit import AuditOutcomes
from rebalance_sim.report.owners import SHOWN_GROUPS
from rebalance_sim.tables import ASSIGNMENTS, FINDINGS, VERDICTS
from tests.report.test_audit import found, texts_of, verdict
from tests.report.test_page import FETCHING, Elements
from tests.support.finished_runs import HOSTILE, QUOTES, SCRIPT
from tests.support.notebook_pages import cells, results
from tests.support.public_functions import Given
from tests.support.rows import member, members, table, topics


def frame_of(drawn: str) -> str:
    """Return the page in the frame, which is all there is."""
    match = re.fullmatch(
        r'<iframe title="[^"<>]*"(?: data-fits="1")? style="[^"<>]*" srcdoc="([^"<>]*)"></iframe>', drawn
    )
    assert match
    return unescape(match[1])


@pytest.fixture(scope="module")
def given(spark: SparkSession) -> Given:
    return Given.on(spark)


@pytest.fixture(scope="module")
def audited(given: Given) -> AuditOutcomes:
    return sim.audit(given.members, given.topics, given.offsets)


@pytest.mark.scale
def test_the_report_of_an_audit_has_the_verdict_all_groups_and_details(audited: Any) -> None:
    html = frame_of(sim.report(audited))
    text = texts_of(html)
    assert "1 row could not be used. 1 of 2 groups needs attention" in text
    assert [name for name in ("what-to-do", "groups", "details") if f'<section id="{name}"' in html] == [
        "what-to-do", "groups", "details"
    ]  # fmt: skip
    assert text.count("Members, and who owns what") == 2
    assert "Kafka release 4.3 (assumed)" in text
    assert "members 3" in text
    assert "explain_election(members.where(members.group_id == 'g'), kafka_version='4.3')" in text
    assert "rebalance-sim report --runs" not in html
    assert "finished runs" not in html


@pytest.mark.scale
def test_a_group_is_shown_alone_with_its_members_and_its_restart(audited: Any) -> None:
    html = frame_of(sim.show(audited, "g"))
    text = texts_of(html)
    assert html.count('<section class="group') == 1
    assert 'id="what-to-do"' not in html
    assert "Back to all groups" not in text
    assert "Members, and who owns what" in text
    assert "range wins" in text or "hash order decides" in text
    assert '<table class="lanes"' in html
    assert "by KIP-848" not in text


def test_saved_tables_of_an_audit_are_enough(spark: SparkSession) -> None:
    tables = {
        FINDINGS.name: table(spark, FINDINGS, [found("a", "idle-members", "warning")]),
        VERDICTS.name: table(spark, VERDICTS, [verdict("a"), verdict("b", "note")]),
    }
    text = texts_of(frame_of(sim.report(tables)))
    assert "1 of 2 groups needs attention: 1 warning, no errors." in text
    assert "idle-members of a Restart a." in text
    assert "Kafka release unknown" in text
    alone = texts_of(frame_of(sim.show(tables, ["b"])))
    assert "idle-members of a" not in alone


def test_a_timeline_has_a_lane_for_each_member(given: Given) -> None:
    html = frame_of(sim.show(given.members.transform(sim.timeline("leave", given.topics)), "g"))
    lanes = re.findall(r'<th scope="row">(.*?)</th>', html)
    assert [texts_of(lane).strip() for lane in lanes] == ["the group", "a", "b"]
    assert "Hypothetical Timelines" in texts_of(html)


def test_strategies_of_a_simulation_share_one_axis(given: Given) -> None:
    simulated = sim.simulate(given.members, given.topics, "leave", ["range", "cooperative-sticky"])
    html = frame_of(sim.show(simulated, "g"))
    assert html.count('<table class="lanes"') == 1
    assert html.count('<tr class="alternative">') == 2
    assert "Costs by strategy" in html


def test_a_comparison_has_a_table_for_each_group_and_one_for_all(given: Given) -> None:
    text = texts_of(frame_of(sim.show(given.compared)))
    assert "Group g " in text
    assert "range 3 6 0 1 elected protocol" in text
    assert "Balance by strategy" in text
    assert "as balanced as the optimum" in text
    alone = texts_of(frame_of(sim.show(given.compared, "g")))
    assert "Group g " in alone
    assert "Group by KIP-848" not in alone


def test_assignments_list_the_partitions_of_each_member(given: Given) -> None:
    text = texts_of(frame_of(sim.show(given.assigned, "g")))
    assert "a 3: t 0–2" in text
    assert "b 6: t 3–5; u 0–2" in text


def test_many_groups_are_not_all_listed(spark: SparkSession) -> None:
    rows = [
        {"group_id": f"g{n:03}", "strategy": "range", "member_id": "m", "partitions": [("t", p) for p in range(n)]}
        for n in range(3 * SHOWN_GROUPS)
    ]
    assignments = table(spark, ASSIGNMENTS, rows)
    text = texts_of(frame_of(sim.show(assignments)))
    assert text.count("Group g0") == SHOWN_GROUPS
    assert f"The first {SHOWN_GROUPS} groups." in text
    assert "Group g030 " in texts_of(frame_of(sim.show(assignments, "g030")))


@pytest.mark.scale
def test_two_runs_are_compared(given: Given) -> None:
    runs = {name: sim.simulate(given.members, given.topics, "leave", [name]) for name in ("range", "sticky")}
    text = texts_of(frame_of(sim.report(runs, title="Before and after")))
    assert "Rollouts side by side (simulated) figure range: range sticky: sticky change" in text
    assert "Before and after" in text


DRAWN: dict[str, Callable[[DataFrame, DataFrame], str]] = {
    "page": lambda rows, topics: sim.report(sim.audit(rows, topics), title=SCRIPT),
    "group": lambda rows, topics: sim.show(sim.audit(rows, topics), HOSTILE[:2]),
    "timeline": lambda rows, topics: sim.show(rows.transform(sim.timeline("leave", topics)), HOSTILE[:2]),
    "comparison": lambda rows, topics: sim.show(rows.transform(sim.compare(topics, ["range", "sticky"]))),
    "assignments": lambda rows, topics: sim.show(rows.transform(sim.assign("range", topics)), QUOTES),
}


AUDITED = {"page", "group"}
"""They audit, which takes seconds."""


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.scale if kind in AUDITED else ()) for kind in DRAWN]
)
def test_hostile_names_are_shown_as_text(spark: SparkSession, kind: str) -> None:
    names = HOSTILE[:2] + HOSTILE[3:]
    rows = members(
        spark,
        *(member(f"{n}-{name}", ["range", name], [name], group_id=name, instance_id=f"{name}{n}")
          for name in names for n in range(2)),
    )  # fmt: skip
    drawn = DRAWN[kind](rows, topics(spark, **dict.fromkeys(names, 3)))
    assert "<script" not in drawn
    html = frame_of(drawn)
    assert SCRIPT not in html
    assert QUOTES not in html
    assert not re.search("[\u202a-\u202e\u2066\u2067\u200f\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff]", html)
    elements = Elements(html)
    for tag, named in elements.found:
        assert tag not in ("iframe", "object", "embed", "img"), tag
        assert not FETCHING & named.keys(), (tag, named)
        assert not any(name.startswith("on") or name == "style" for name in named), (tag, named)
        assert (named.get("href") or "#").startswith(("#", "data:,", "about:srcdoc")), named
    ids = [named["id"] for _, named in elements.found if "id" in named]
    assert len(ids) == len(set(ids))
    assert {str(named["href"])[1:] for tag, named in elements.found if tag == "a"} <= set(ids)
    assert "default-src 'none'" in html


def test_a_notebook_gets_the_frame_and_others_the_string(given: Given) -> None:
    drawn: Any = sim.show(given.assigned)
    assert drawn._repr_html_() == str(drawn)
    assert type(drawn._repr_html_()) is str
    assert re.fullmatch(r"<[\d,]+ characters of HTML, which a notebook shows>", repr(drawn))


def test_nothing_stays_cached(given: Given) -> None:
    simulated = given.members.transform(sim.timeline("leave", given.topics))
    sim.show(simulated, "g")
    assert not simulated.storageLevel.useMemory
    kept = simulated.where("true").persist()
    sim.show(kept, "g")
    assert kept.storageLevel.useMemory
    kept.unpersist()


MISTAKES: dict[str, Callable[[Given, Any], Any]] = {
    "show: name a group of the audit, such as show(audited, 'billing'), or draw all with report": (
        lambda given, audited: sim.show(audited)
    ),
    "show: no table has a group 'h'; nearest: 'g', 'by KIP-848'": lambda given, audited: sim.show(audited, "h"),
    "report: no table has a group 'h'; nearest: 'g'": lambda given, audited: sim.report(audited, ["g", "h"]),
    "show: a DataFrame with the columns cluster, topic, partitions, topic_id, unavailable, racks, end_offsets is no": (
        lambda given, audited: sim.show(given.topics)
    ),
    "show: there is nothing to draw: assignments has 0 rows": (
        lambda given, audited: sim.show(given.assigned.where("false"))
    ),
    "report: table: 'finding' is not known (did you mean 'findings'?)": (
        lambda given, audited: sim.report({"finding": given.topics})
    ),
    "report: verdicts has no column type, members, ": (
        lambda given, audited: sim.report({"verdicts": audited.verdicts.select("cluster", "group_id", "partitions")})
    ),
    "show: findings are drawn together with verdicts": lambda given, audited: sim.show(audited.findings, "g"),
    "report: there is no table": lambda given, audited: sim.report({}),
}


@pytest.mark.parametrize(
    "printed",
    [pytest.param(printed, marks=pytest.mark.scale if "no table has" in printed else ()) for printed in MISTAKES],
)
def test_a_mistake_is_named(given: Given, audited: Any, printed: str) -> None:
    with pytest.raises(sim.UserError) as mistake:
        MISTAKES[printed](given, audited)
    assert str(mistake.value).startswith(printed)


def test_the_package_of_the_page_does_not_hide_the_function() -> None:
    assert importlib.import_module("rebalance_sim.report.contents").__name__ == "rebalance_sim.report.contents"
    assert callable(sim.report)


@pytest.mark.scale
def test_every_call_on_the_page_of_the_documentation_draws(spark: SparkSession) -> None:
    shown = [value for _, value in results() if value is not None]
    assert len(shown) == len(cells()) - 1
    assert all(frame_of(each) for each in shown)
