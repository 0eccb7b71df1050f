"""The page as a file: it loads nothing and shows every name as text."""

import json
import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from rebalance_sim.report.colours import PLACEHOLDERS
from rebalance_sim.report.page import MANY_GROUPS, CellType
from rebalance_sim.report.rendering import LONGEST, WholeTexts, csp_hash
from rebalance_sim.tables import COSTS, REJECTS, TIMELINE
from tests.support.finished_runs import HOSTILE, LONG, SCRIPT, write_run
from tests.support.hostile_page import write_hostile_page

FETCHING = {"src", "srcset", "action", "data", "poster", "background", "xlink:href"}


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of styles and scripts."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self.within: str = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.within = tag

    def handle_endtag(self, tag: str) -> None:
        self.within = ""

    def handle_data(self, data: str) -> None:
        self.texts[self.within] = self.texts.get(self.within, "") + data

    def check_that_nothing_is_loaded(self) -> None:
        """All addresses are within the page, all links have one target, and no attribute has a script or a style."""
        for tag, named in self.found:
            assert tag not in ("iframe", "object", "embed", "img", "base"), tag
            assert not FETCHING & named.keys(), (tag, named)
            assert not any(name.startswith("on") or name == "style" for name in named), (tag, named)
            assert (named.get("href") or "#").startswith(("#", "data:,")), named
        ids = [named["id"] for _, named in self.found if "id" in named]
        assert len(ids) == len(set(ids))
        assert {str(named["href"])[1:] for tag, named in self.found if tag == "a"} <= set(ids)


@pytest.fixture(scope="module")
def hostile_page(spark: SparkSession, small_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hostile_page(spark, tmp_path_factory.mktemp("hostile"))


@pytest.fixture(scope="module")
def html(hostile_page: Path) -> str:
    return (hostile_page / "report.html").read_text()


@pytest.fixture(scope="module")
def elements(html: str) -> Elements:
    return Elements(html)


@pytest.mark.scale
def test_the_job_writes_the_page_its_charts_and_the_record(hostile_page: Path, elements: Elements) -> None:
    assert sorted(path.name for path in hostile_page.iterdir() if not path.name.startswith(".")) == [
        "_run.json", "charts", "report.html",
    ]  # fmt: skip
    record = json.loads((hostile_page / "_run.json").read_text())
    assert (record["job"], record["options"]["title"]) == ("report", f"All of it {SCRIPT}")
    charts = {str(named["id"]).removeprefix("chart-") for tag, named in elements.found if tag == "figure"}
    files = {path.name for path in (hostile_page / "charts").iterdir() if not path.name.startswith(".")}
    assert files == {f"{name}.{kind}" for name in charts for kind in ("svg", "png")}
    assert len(charts) >= 12
    assert (hostile_page / "report.html").stat().st_size < 2_000_000


@pytest.mark.scale
def test_the_page_loads_nothing(elements: Elements) -> None:
    """All addresses are within the page, and a policy forbids others."""
    elements.check_that_nothing_is_loaded()
    tags = [tag for tag, _ in elements.found]
    assert "form" not in tags
    assert tags.count("a") > 30
    policy = next(str(named["content"]) for _, named in elements.found if "http-equiv" in named)
    assert "default-src 'none'" in policy
    assert f"style-src '{csp_hash(elements.texts['style'])}'" in policy
    assert f"script-src '{csp_hash(elements.texts['script'])}'" in policy
    assert not re.search(r"url\((?!#)|@import|https?:", elements.texts["style"])


@pytest.mark.scale
def test_names_are_shown_as_text(html: str, elements: Elements) -> None:
    assert [tag for tag, _ in elements.found].count("script") == 1
    assert "&lt;script&gt;document.title=" in html
    # Characters that are invisible or change the text direction are escaped.
    assert not re.search("[\u202a-\u202e\u2066\u2067\u200f\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff]", html)
    assert r"safe\u202egpj.exe\u2066\u200f" in html
    assert r"a\x00b\x07c\x1bd\x85e\ufeff\U000e0041" in html
    # A right-to-left name is isolated from the text beside it.
    assert '<bdi class="name">مجموعة-الطلبات</bdi>' in html
    assert "\u2068مجموعة-الطلبات\u2069" in html
    # The full text is there once, however often the name is shown.
    assert html.count(f"<bdi>{LONG}</bdi>") == 1


@pytest.mark.scale
def test_every_chart_is_drawn_and_has_a_text_alternative(html: str) -> None:
    figures = re.findall("<figure.*?</figure>", html, re.DOTALL)
    assert len(figures) >= 12
    for figure in figures:
        drawings = re.findall(r'<svg class="(?:wide|narrow)".*?</svg>', figure, re.DOTALL)
        assert len(drawings) == 2
        for drawing in drawings:
            root = ElementTree.fromstring(drawing)
            assert root.get("role") == "img"
            assert len(root.get("aria-label", "")) > 20
            marks = [e for e in root.iter() if re.search(r"\bmark-(rect|symbol|rule)\b", e.get("class", ""))]
            assert any(len(mark) for mark in marks)
            assert "var(--" in drawing
        assert "<details><summary>Data of this chart" in figure
        assert "<td" in figure
    assert not any(placeholder in html for placeholder in PLACEHOLDERS.values())


@pytest.mark.scale
def test_charts_are_files_with_light_colours(hostile_page: Path) -> None:
    for file in (hostile_page / "charts").glob("[!.]*.svg"):
        text = file.read_text()
        assert "var(" not in text
        assert not any(placeholder in text for placeholder in PLACEHOLDERS.values())
        assert ElementTree.fromstring(text).get("role") == "img"
    for file in (hostile_page / "charts").glob("[!.]*.png"):
        assert file.read_bytes().startswith(b"\x89PNG")


def test_a_long_text_is_kept_once_in_full() -> None:
    texts = WholeTexts()
    assert texts.text("short", CellType.NAME).anchor == ""
    cut = texts.text(LONG, CellType.NAME)
    assert (len(cut.shown), cut.shown[:5], cut.shown[-4:]) == (64, "long-", "-end")
    assert texts.text(LONG, CellType.TEXT).anchor == cut.anchor
    assert texts.kept == {cut.anchor: LONG}
    endless = texts.text("y" * 50_000, CellType.NAME)
    assert texts.kept[endless.anchor] == "y" * LONGEST + "… and 17,233 more characters"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--runs", "{empty}"], "--runs: '{empty}' is not the output of a finished run (no _run.json)"),
        (["--runs", "{run}", "--out", "{run}/"], "--out: '{run}/' is the input of --runs"),
        (["--runs", "{run}", "--groups", "bill"], "no run has an audit or a timeline of 'bill'; nearest: 'billing', "),
    ],
)  # fmt: skip
def test_mistakes_in_options_are_reported(
    arguments: list[str], expected: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = [{"group_id": name, "kind": "STATE"} for name in ("shop", "billing")]
    run = write_run(spark, tmp_path / "run", "simulate", {TIMELINE: steps})
    (tmp_path / "empty").mkdir()
    named = {"run": run, "empty": str(tmp_path / "empty")}
    given = ["--out", str(tmp_path / "out"), *(each.format(**named) for each in arguments)]
    assert main(["report", *given]) == 2
    assert expected.format(**named) in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_dry_run_writes_nothing(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = write_run(spark, tmp_path / "run", "simulate", {TIMELINE: [{"group_id": "shop", "kind": "STATE"}]})
    arguments = ["report", "--runs", run, "--out", f"{tmp_path}/out"]
    assert main([*arguments, "--dry-run"]) == 0
    assert capsys.readouterr().out.startswith(
        f"dry run of report: nothing is written\n"
        f"inputs\n"
        f"  timeline: {run} (simulate)\n"
        f"outputs in {tmp_path}/out (no finished run there)\n"
        f"  report.html\n  charts\n  _run.json\n"
        f"options\n"
    )
    assert not (tmp_path / "out").exists()
    assert main([*arguments, "--groups", "other", "--dry-run"]) == 2


def test_a_missing_library_is_named(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = write_run(spark, tmp_path / "run", "elect", {})
    missing = "rebalance_sim.commands.validation.report.find_spec"
    monkeypatch.setattr(missing, lambda name: None if name == "jinja2" else object())
    assert main(["report", "--runs", run, "--out", str(tmp_path / "out")]) == 2
    assert "jinja2 is missing: pip install rebalance-sim[report]" in capsys.readouterr().err


@pytest.mark.scale
def test_few_groups_have_no_histograms(spark: SparkSession, tmp_path: Path) -> None:
    """They are listed one by one; the distribution of many is drawn in the page above."""
    usual = {"strategy": "range", "events": 1, "unowned_ms": 9, "partitions": 1, "stable": True, "failed": 0}
    usual |= {"finished": True, "stable_ms": 5}
    costs = [usual | {"group_id": f"g{number}", "rebalances": number} for number in range(MANY_GROUPS - 1)]
    run = write_run(spark, tmp_path / "run", "simulate", {COSTS: costs})
    assert main(["report", "--runs", run, "--out", str(tmp_path / "out")]) == 0
    html = (tmp_path / "out" / "report.html").read_text()
    assert "Costs by strategy" in html
    assert "<figure" not in html


@pytest.mark.scale
def test_runs_about_the_same_groups_are_compared(spark: SparkSession, tmp_path: Path) -> None:
    """A group that only one of them has does not count."""
    usual = {"strategy": "range", "partitions": 2, "events": 1, "moved": 1, "moved_back": 0, "failed": 0,
             "finished": True, "stable": True}  # fmt: skip
    rows = {
        "before": [usual | {"group_id": SCRIPT, "rebalances": 6, "unowned_ms": 9_000},
                   usual | {"group_id": "g", "rebalances": 2, "unowned_ms": 1_000}],
        "after": [usual | {"group_id": SCRIPT, "rebalances": 3, "unowned_ms": 2_000},
                  usual | {"group_id": "g", "rebalances": 2, "unowned_ms": 1_000},
                  usual | {"group_id": "new", "rebalances": 99, "unowned_ms": 1}],
    }  # fmt: skip
    runs = [write_run(spark, tmp_path / name, "simulate", {COSTS: costs}) for name, costs in rows.items()]
    assert main(["report", "--runs", ",".join(runs), "--out", str(tmp_path / "out")]) == 0
    html = (tmp_path / "out" / "report.html").read_text()
    compared = html[html.index('<section id="comparison"') :]
    text = re.sub(r"\s+", " ", unescape(re.sub("<[^>]*>", " ", compared[: compared.index('<section id="runs"')])))
    assert "figure before: range after: range change" in text
    assert "rebalances 8 5 \N{MINUS SIGN}3 (\N{MINUS SIGN}37.5 %)" in text
    assert "mean s 2.5 0.8 \N{MINUS SIGN}1.8 s" in text
    assert f"default {SCRIPT} 4.5 1.0" in text
    assert "Over the 2 groups of all columns." in text


def test_rejected_rows_are_an_error(spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """So are the groups that lack a member, each once."""
    reject: dict[str, Any] = {"table": "members", "group_id": "shop", "row": "{}", "reason": "protocols is empty"}
    rows = [reject, reject, reject | {"table": "topics", "group_id": None}, reject | {"group_id": ""}]
    run = write_run(spark, tmp_path / "run", "elect", {REJECTS: rows})
    assert main(["report", "--runs", run, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[:3] == [
        "2 errors",
        "  error: 4 rows rejected, 44.4\N{NO-BREAK SPACE}% of the rows read (run, default / )",
        "  error: 1 group with rejected members, which the predictions leave out (run, default / shop)",
    ]
    assert "no problems found" not in (tmp_path / "out" / "report.html").read_text()

    options = {"members": f"{run}/members", "topics": f"{run}/topics"}
    later = write_run(spark, tmp_path / "later", "assign", {REJECTS: []}, options=options)
    assert main(["report", "--runs", later, "--out", str(tmp_path / "out")]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "1 error",
        "  error: 4 rows rejected by the runs that wrote the inputs (later)",
    ]


def test_runs_without_tables_have_a_page(spark: SparkSession, tmp_path: Path) -> None:
    run = write_run(spark, tmp_path / "run", "elect", {}, assumptions=["join order assumed"])
    assert main(["report", "--runs", run, "--out", str(tmp_path / "out")]) == 0
    html = (tmp_path / "out" / "report.html").read_text()
    assert '<p class="verdict">No problems found.</p>' in html
    assert "join order assumed" in html
    assert "<figure" not in html
    assert set(HOSTILE).isdisjoint(html.split())
