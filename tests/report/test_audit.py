"""The page of an audit: what to do, all groups, and details, with every name as text."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.cli import INCOMPLETE, main
from rebalance_sim.commands.audit_summary import summarise_findings
from rebalance_sim.engine.audit.finding import Harm
from rebalance_sim.engine.audit.judgement import FAMILIES
from rebalance_sim.report.audits.details import DETAILED_GROUPS
from rebalance_sim.report.audits.figures import EVIDENCE, EVIDENCE_OF_TASKS
from rebalance_sim.report.audits.group_rows import LISTED_BYTES, LISTED_GROUPS, GroupRow, as_json
from rebalance_sim.report.audits.search_terms import CLIENTS_BYTES, TOPICS_BYTES, SearchTerms
from rebalance_sim.tables import COSTS, FINDINGS, NEWS, VERDICTS
from tests.report.test_page import Elements
from tests.support.audited_fleet import MEMBERS, OFFSETS, STREAMS_MEMBERS, write_fleet
from tests.support.finished_runs import HOSTILE, LONG, QUOTES, SCRIPT, Rows, write_run
from tests.support.hostile_page import write_hostile_audit


def found(name: str, kind: str, severity: str, scenario: str | None = None, members: int = 1) -> dict[str, object]:
    """Return a row of findings."""
    return {
        "group_id": name, "members": members, "kind": kind, "severity": severity, "scenario": scenario,
        "description": f"{kind} of {name}", "figures": {"idle": 2.0}, "recommendation": f"Restart {name}.",
        "settings": {kind: name}, "saving": {"unowned_ms_saved": 1500.0, "share": 0.25}, "confidence": "certain",
        "family": "balance",
    }  # fmt: skip


def verdict(name: str, severity: str = "warning", members: int = 1) -> dict[str, object]:
    """Return a row of verdicts."""
    numbers = {f"{each}s": int(each == severity) for each in ("error", "warning", "note")}
    return {"group_id": name, "members": members, "severity": severity, "migration": "no", **numbers}


def many_groups(spark: SparkSession, folder: Path, number: int) -> str:
    """Write an audit of many groups: one with an error, and 20 with a warning."""
    severities = {7: "error", **dict.fromkeys(range(10, 30), "warning")}
    names = [f"{'x' * 200}-{place}" for place in range(number)]
    verdicts = [verdict(name, severities.get(place, "note"), place) for place, name in enumerate(names)]
    findings = [found(name, "no-members", severities.get(place, "note"), members=place)
                for place, name in enumerate(names)]  # fmt: skip
    return write_run(spark, folder, "audit", {FINDINGS: findings, VERDICTS: verdicts})


def page_of(run: str, out: Path, *more: str) -> str:
    """Make the page of a run."""
    assert main(["report", "--runs", run, "--out", str(out / "page"), *more]) == 0
    return (out / "page" / "report.html").read_text()


def audit_page(spark: SparkSession, folder: Path, findings: Rows, verdicts: Rows, *more: str) -> str:
    """Write an audit, and make its page."""
    return page_of(write_run(spark, folder / "run", "audit", {FINDINGS: findings, VERDICTS: verdicts}), folder, *more)


def texts_of(html: str) -> str:
    """Return the text of a page, without markup."""
    return re.sub(r"\s+", " ", unescape(re.sub("<[^>]*>", " ", html)))


def consumers(html: str, topic: str) -> tuple[set[str], set[str]]:
    """Return the groups that the search finds by a topic, and those that only have offsets for it."""
    data = data_in(html)
    number = data["terms"]["topics"]["texts"].index(topic)
    by_place: tuple[set[str], set[str]] = (set(), set())
    for row, terms in zip(data["rows"], data["terms"]["topics"]["rows"], strict=True):
        for place, names in enumerate(by_place):
            if number in terms[place]:
                names.add(row[1])
    return by_place


def section(html: str, name: str) -> str:
    """Return a section, to the beginning of the next one."""
    start = html.index(f'<section id="{name}"')
    return html[start : html.find('<section id="', start + 1)]


def data_in(html: str) -> dict[str, Any]:
    """Return what the script shows of all groups."""
    match = re.search(r'<script type="application/json" id="group-data">(.*?)</script>', html, re.DOTALL)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


@pytest.fixture(scope="module")
def ranked(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of an audit without its inputs: 12 idle groups, and one of each other kind."""
    folder = tmp_path_factory.mktemp("ranked")
    names = (*HOSTILE, "billing", "clicks")
    findings = [
        *(found(name, "idle-members", "warning", members=place) for place, name in enumerate(names)),
        found(SCRIPT, "no-members", "note"),
        found(SCRIPT, "group-refused", "error"),
        found(SCRIPT, "rebalance-storm", "warning", scenario=SCRIPT, members=99),
    ]
    verdicts = [verdict(name, "error" if name == SCRIPT else "warning", place) for place, name in enumerate(names)]
    costs = [{"group_id": "g", "strategy": "range", "stable": False, "rebalances": 1, "unowned_ms": 1}]
    run = write_run(spark, folder / "run", "audit", {FINDINGS: findings, VERDICTS: verdicts, COSTS: costs})
    return page_of(run, folder)


@pytest.mark.scale
def test_what_to_do_is_ranked_and_scenarios_stand_apart(ranked: str) -> None:
    to_do = section(ranked, "what-to-do")
    places = [
        to_do.index(text)
        for text in ("Group refused", "Idle members", ">clicks<", ">billing<", "Simulated", "Rebalance storm", "Notes:")
    ]
    assert places == sorted(places)
    text = texts_of(to_do)
    assert "idle-members of billing Restart billing. expected saving: 1.5 s less partition downtime (25 %)" in text
    assert "All 12 groups in the table" in text


@pytest.mark.scale
def test_a_change_that_removes_several_findings_is_one_action(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the group with both; a group with only the second finding keeps its action."""
    change = {"settings": {"assignor": "new"}, "recommendation": "Use the new assignor."}

    def rollout(group: str) -> dict[str, object]:
        row = found(group, "rollout-downtime", "warning", scenario="rolling-restart")
        return row | change | {"harm": Harm.NEXT_CHANGE}

    both = [found("a", "idle-members", "warning") | change | {"harm": Harm.UNEVEN}, rollout("a")]
    other = rollout("b")
    for number, findings in enumerate((both, [*both, other])):
        tables = {FINDINGS: findings, VERDICTS: [verdict("a"), verdict("b")]}
        run = write_run(spark, tmp_path / f"run-{number}", "audit", tables)
        html = page_of(run, tmp_path / f"page-{number}")
        assert "2 warnings" in html if number == 0 else "3 warnings" in html
        to_do = section(html, "what-to-do")
        assert to_do.count('<li class="action') == 1 + number
        text = texts_of(to_do)
        assert ("Rollout downtime Simulated , the same change: rollout-downtime of a" in text) == (number == 0)
        assert "Use the new assignor. The same change" not in text
        of_group = dict(details(html))["a"]
        assert of_group.count("Use the new assignor.") == 1
        assert "The same change as for idle members." in of_group
        of_findings, of_verdicts = (spark.read.parquet(f"{run}/{of.name}") for of in (FINDINGS, VERDICTS))
        lines = "\n".join(map(str, summarise_findings(of_findings, of_verdicts)))
        assert lines.count("-> Use the new assignor.") == 1 + number
        assert "    -> The same change as for idle-members.\n" in f"{lines}\n"


@pytest.mark.scale
def test_notes_that_most_groups_have_are_folded(spark: SparkSession, tmp_path: Path) -> None:
    names = [f"g{number}" for number in range(12)]
    findings = [found(name, "rollout-cost", "note") for name in names]
    findings += [found(name, kind, "note") for name in names[:3] for kind in ("eager-by-default", "no-members")]
    verdicts = [verdict(name, "note") for name in names]
    shown = dict(details(audit_page(spark, tmp_path, findings, verdicts)))
    heads = {
        name: re.findall(r"\d+ notes? that most groups have: [a-z, ]+?(?= Note)", text) for name, text in shown.items()
    }
    assert set(map(tuple, heads.values())) == {("1 note that most groups have: rollout cost",)}
    assert all("Rollout cost" in text for text in shown.values())
    assert "that most groups have" not in audit_page(spark, tmp_path / "few", findings[:2], verdicts[:2])


@pytest.mark.scale
def test_the_sections_are_in_the_order_of_their_use(ranked: str) -> None:
    names = re.findall(r'<section id="([a-z-]+)"', ranked)
    order = ["what-to-do", "groups", "details", "migration", "runs", "whole"]
    assert [name for name in names if name in order] == order


@pytest.mark.scale
def test_the_verdict_counts_findings_as_the_console_does(
    ranked: str, spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A group that is not stable in a scenario is not a finding about the present state."""
    assert '<p class="verdict">12 of 12 groups need attention: 1 error and 13 warnings.</p>' in ranked
    assert "stable" not in texts_of(section(ranked, "what-to-do"))
    assert '<section id="checks"' not in ranked
    findings = [found(name, "idle-members", "warning") for name in ("a", "b")]
    audit_page(spark, tmp_path, findings, [verdict(name) for name in ("a", "b")])
    assert capsys.readouterr().out.splitlines()[0] == "2 warnings"


@pytest.mark.scale
def test_named_groups_are_the_ones_with_details(spark: SparkSession, tmp_path: Path) -> None:
    names = ("a", "b", "c")
    findings = [found(name, "idle-members", "warning") for name in names]
    html = audit_page(spark, tmp_path, findings, [verdict(name) for name in names], "--groups", "c")
    assert re.findall(r'id="group-\d+-title" tabindex="-1">\s*<bdi class="name">(\w)<', html) == ["c"]
    assert [(row[1], row[-1]) for row in data_in(html)["rows"]] == [("a", ""), ("b", ""), ("c", "group-1")]
    assert f"rebalance-sim report --runs {tmp_path}/run --groups NAME --out page" in unescape(html)


@pytest.mark.scale
def test_a_group_whose_id_has_commas_is_named_alone(spark: SparkSession, tmp_path: Path) -> None:
    """The command that the page shows for it works; lists of other groups are split as ever."""
    names = ("a,b", "a", "b")
    findings = [found(name, "no-members", "warning") | {"family": "risks"} for name in names]
    verdicts = [verdict(name) for name in names]
    run = write_run(spark, tmp_path / "run", "audit", {FINDINGS: findings, VERDICTS: verdicts})
    html = page_of(run, tmp_path)
    (command,) = set(re.findall(rf"rebalance-sim (report --runs {run} --groups a,b) --out page", unescape(html)))
    assert main([*shlex.split(command), "--out", f"{tmp_path}/one"]) == 0
    assert [name for name, _ in details((tmp_path / "one" / "report.html").read_text())] == ["a,b"]
    both = page_of(run, tmp_path / "both", "--groups", "a, b")
    assert [name for name, _ in details(both)] == ["a", "b"]


@pytest.mark.scale
def test_very_many_groups_keep_the_page_small(spark: SparkSession, tmp_path: Path) -> None:
    """Only those that matter are listed: with errors, with warnings, and the largest of the others."""
    number = LISTED_GROUPS + 1000
    html = page_of(many_groups(spark, tmp_path / "run", number), tmp_path)
    assert len(html.encode()) < 5_000_000
    listed = [int(row[1].rpartition("-")[2]) for row in data_in(html)["rows"]]
    assert listed[:4] == [7, 29, 28, 27]
    assert listed[21] == number - 1
    assert len(listed) == LISTED_GROUPS
    assert f"{LISTED_GROUPS:,} of {number:,} groups" in html


@pytest.mark.parametrize(
    ("severity", "sentence", "order"),
    [
        ("warning", "1 of 2 groups needs attention: 1 warning, no errors.", ["billing", "clicks"]),
        ("note", "No errors and no warnings in 2 groups.", ["clicks", "billing"]),
    ],
)
def test_the_verdict_counts_what_needs_attention(
    severity: str, sentence: str, order: list[str], spark: SparkSession, tmp_path: Path
) -> None:
    findings = [found("billing", "idle-members", severity), found("clicks", "migration-possible", "note")]
    html = audit_page(spark, tmp_path, findings, [verdict("billing", severity, 2), verdict("clicks", "note", 3)])
    assert sentence in html
    assert [row[1] for row in data_in(html)["rows"]] == order


@pytest.mark.parametrize("name", HOSTILE)
def test_the_rows_for_the_script_cannot_end_it(name: str) -> None:
    row = GroupRow(
        name, name, "classic", 3, 9, "warning", (0, 1, 0), (name,), name, name, 1, 4, 5, 6, 7.0, name, name, name
    )
    text = as_json([row])
    assert not {"<", ">", "&"} & set(text)
    assert json.loads(text)["rows"][0][4:6] == [3, 9]


def test_long_names_leave_no_room_for_all_rows() -> None:
    row = GroupRow(
        "c", LONG, None, 0, None, None, (0, 0, 0), ("k",) * 9, None, None, None, None, None, None, None, "", "", ""
    )
    text = as_json([row] * 50_000)
    assert 0.9 * LISTED_BYTES < len(text.encode()) < 1.1 * LISTED_BYTES
    assert json.loads(text)["rows"]


@pytest.fixture(scope="module")
def audited(spark: SparkSession, small_runs: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Audit the fleet with a group for each kind of finding; return the folder of the audit."""
    folder = tmp_path_factory.mktemp("fleet")
    assert main(["audit", *write_fleet(folder), "--out", f"{folder}/audit"]) == INCOMPLETE
    return folder / "audit"


@pytest.fixture(scope="module")
def fleet(spark: SparkSession, audited: Path) -> tuple[str, list[Row]]:
    """Return the page of that audit, and its findings."""
    return (audited / "report.html").read_text(), spark.read.parquet(f"{audited}/findings").collect()


def details(html: str) -> Iterator[tuple[str, str]]:
    """Yield the text of the details of each group, by its name."""
    for part in re.split(r'<section class="group[^"]*" id="group-\d+"', html)[1:]:
        text = texts_of(part[part.index(">") + 1 :].partition("</section>")[0])
        yield text.split()[0], text


@pytest.mark.scale
def test_every_finding_is_shown_with_its_group_figures_and_remedy(fleet: tuple[str, list[Row]]) -> None:
    html, findings = fleet
    shown = dict(details(html))
    assert len(shown) == DETAILED_GROUPS
    assert shown.keys() >= {row["group_id"] for row in findings if row["severity"] != "note"}
    for row in findings:
        if row["group_id"] not in shown:
            continue
        text = shown[row["group_id"]]
        for part in (row["description"], row["recommendation"] or "", *(row["settings"] or ())):
            assert " ".join(part.split()) in text, (row["group_id"], part)
        assert row["kind"].replace("-", " ").capitalize() in text
        of_tasks = row["family"] == "rollouts" and row["group_id"] in {each["group_id"] for each in STREAMS_MEMBERS}
        titles = EVIDENCE | EVIDENCE_OF_TASKS if of_tasks else EVIDENCE
        for name in row["figures"] or ():
            assert titles[name] in text, (row["group_id"], name)
    named = texts_of(section(html, "what-to-do"))
    assert all(row["kind"].replace("-", " ").capitalize() in named for row in findings)


@pytest.mark.scale
def test_rejects_and_assumptions_are_shown_with_their_group(fleet: tuple[str, list[Row]]) -> None:
    shown = dict(details(fleet[0]))
    assert "A row of members cannot be used: subscription holds a name with a comma" in shown["rejected-rows"]
    assert "Assumption: the client library of 3 members is unknown; Java is assumed." in shown["healthy-range"]


@pytest.mark.scale
def test_members_and_their_partitions_are_shown_before_and_after(fleet: tuple[str, list[Row]]) -> None:
    html = fleet[0]
    shown = dict(details(html))
    assert "With cooperative-sticky (recommended)" in shown["imbalance"]
    assert "librdkafka 2.12.0" in shown["healthy-librdkafka"]
    assert "range wins: it is the only protocol that all members offer." in shown["healthy-range"]
    assert '<path class="kept" d="M' in html
    assert "rebalance-sim explain election --members" in shown["election-tie"]


@pytest.mark.scale
def test_settings_that_a_group_cannot_use_do_not_help_it(fleet: tuple[str, list[Row]]) -> None:
    """Sarama does not have the consumer protocol, which would save most."""
    text = dict(details(fleet[0]))["migration-library"]
    assert re.search("group.protocol=consumer [^=]* not possible", text)
    assert "group.protocol=consumer would help most" not in text


@pytest.mark.scale
def test_a_share_group_is_shown_in_its_own_words(fleet: tuple[str, list[Row]]) -> None:
    text = dict(details(fleet[0]))["healthy-sharing"]
    assert "The coordinator assigns with share-simple, as it does in every share group." in text
    assert "Next target assignment (share-simple)" in text
    assert re.search(r"As it is: \d+ epochs, downtime per partition", text)
    assert "No other settings are tried." in text
    assert not re.search(r"rebalances\b|pays off|Java is assumed|group\.protocol|group\.instance", text)


@pytest.mark.scale
def test_the_assignor_that_the_leader_runs_is_marked(fleet: tuple[str, list[Row]]) -> None:
    """Range of librdkafka is not the range of Java, which stands in the table, too."""
    shown = dict(details(fleet[0]))
    assert re.search(r" range [\d ]+ elected now", shown["healthy-range"])
    assert re.search(r" librdkafka-range [\d ]+ elected now", shown["healthy-librdkafka"])
    assert shown["healthy-librdkafka"].count("elected now") == 1


@pytest.mark.scale
def test_a_rolling_restart_is_drawn_under_each_setting_on_one_axis(fleet: tuple[str, list[Row]]) -> None:
    html, findings = fleet
    group = next(row["group_id"] for row in findings if row["kind"] == "rollout-downtime")
    text = dict(details(html))[group]
    assert "would help most" in text
    tables = re.findall(r'<table class="lanes".*?</table>', html, re.DOTALL)
    assert tables
    for drawn in tables:
        assert drawn.count('class="axis"') == 1
        assert drawn.count('<tr class="alternative">') >= 1


@pytest.mark.scale
def test_page_and_console_rank_alike(
    spark: SparkSession, audited: Path, fleet: tuple[str, list[Row]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first group of the page is the first one of the console of both jobs, and so are all others."""
    findings, verdicts = (spark.read.parquet(f"{audited}/{name}") for name in ("findings", "verdicts"))
    lines = [str(line) for line in summarise_findings(findings, verdicts)]
    on_console = re.findall(
        r"^  (?:error|warning): ([\w-]+): .*\n    (\S+?)(?: of cluster \S+)?: ", "\n".join(lines), re.MULTILINE
    )
    on_page = [
        (kind.lower().replace(" ", "-"), group)
        for kind, group in re.findall(
            r"<h4>(.*?)</h4>.*?group-link.*?<bdi class=\"name\">(.*?)</bdi>", section(fleet[0], "what-to-do"), re.DOTALL
        )
    ]
    assert on_page[: len(on_console)] == on_console
    page_of(str(audited), tmp_path)
    by_report = re.findall(r"^  (?:error|warning): \S+ groups? with ([\w-]+)", capsys.readouterr().out, re.MULTILINE)
    # Then come those about inputs.
    assert by_report[: len(on_page)] == [kind for kind, _ in on_page]


def test_only_the_next_change_is_hypothetical() -> None:
    """The page has what is wrong today, what the next change costs, and habits apart; it keeps the ranking so."""
    kinds = [kind for family in FAMILIES.values() for kind in family.kinds]
    assert {kind.harm for kind in kinds if kind.scenario} == {Harm.NEXT_CHANGE}


@pytest.mark.scale
def test_the_page_answers_where_the_lag_is(fleet: tuple[str, list[Row]]) -> None:
    """Of the fleet and of each group, with the worst partition and the member that has most; also without members."""
    of_fleet, shown = texts_of(section(fleet[0], "lag")), dict(details(fleet[0]))
    assert "308,027 records of lag in 44 partitions of 8 groups." in of_fleet
    assert "Furthest behind is group lag-without-subscriber: 50,000 records in partition eight-0." in of_fleet
    assert re.search("large-lag .* 84,000 27.3 % eight-0 : 12,000", of_fleet)
    assert (
        "Lag of 3,010 records. The worst partition, eight-1, has 3,000 of them (99.7 %)."
        in (shown["lag-without-assignment"])
    )
    one = "Member lag-on-one-member-0 has 100.0 % of the lag after the next rebalance: 8,000 records."
    assert one in shown["lag-on-one-member"]
    assert "No lag: all committed offsets are at the log ends." in shown["offsets-expire"]
    strips = re.findall(r'<svg class="strip" [^>]*><path class="lag-.*?</svg>', fleet[0])
    assert {path.count("M") for path in strips} >= {2, 3, 8}


@pytest.mark.scale
def test_the_page_answers_who_consumes_a_topic(fleet: tuple[str, list[Row]]) -> None:
    """Exactly the groups whose members subscribe to it, and those that only have offsets for it."""
    subscribed = {row["group_id"] for row in MEMBERS if "eight" in row["subscription"]}
    committed = {row["group_id"] for row in OFFSETS if row["topic"] == "eight"}
    assert consumers(fleet[0], "eight") == (subscribed, committed - subscribed)
    assert len(subscribed) > 5
    assert committed - subscribed == {
        "no-members",
        "offsets-expire",
        "lag-without-assignment",
        "lag-without-subscriber",
    }
    assert re.search("eight committed offsets only", dict(details(fleet[0]))["offsets-expire"])
    assert 'data-topic="eight"' in fleet[0]


@pytest.mark.scale
def test_the_page_answers_whether_a_group_can_migrate_and_when(
    spark: SparkSession, audited: Path, fleet: tuple[str, list[Row]]
) -> None:
    verdicts = spark.read.parquet(f"{audited}/verdicts").where("migration_order IS NOT NULL").orderBy("migration_order")
    order = [row["group_id"] for row in verdicts.collect()]
    first = texts_of(section(fleet[0], "migration")).partition("Migrate first")[2]
    assert [first.index(f" {group} ") for group in order[:5]] == sorted(
        first.index(f" {group} ") for group in order[:5]
    )
    shown = dict(details(fleet[0]))
    for place, group in enumerate(order, 1):
        if group in shown:
            assert re.search(rf"migration to the consumer protocol online[^(]*, order {place} \(", shown[group]), group
    assert "migration to the consumer protocol no (" in shown["migration-library"]


@pytest.mark.scale
def test_every_figure_is_labelled(fleet: tuple[str, list[Row]]) -> None:
    assert {name for row in fleet[1] for name in row["figures"] or ()} <= EVIDENCE.keys()


@pytest.mark.scale
def test_what_a_recommendation_costs_is_not_shown_as_a_saving(fleet: tuple[str, list[Row]]) -> None:
    savings = re.findall(r'<span class="saving">(.*?)</span></span>', fleet[0])
    assert savings
    assert not [text for text in savings if " more " in text.partition("</span>")[2].partition("</span>")[0]]


@pytest.mark.scale
def test_lag_is_shown_without_partitions_if_the_offsets_are_gone(audited: Path, tmp_path: Path) -> None:
    shutil.copytree(audited, tmp_path / "audit")
    record = json.loads((audited / "_run.json").read_text())
    record["options"]["offsets"] = f"{tmp_path}/gone"
    (tmp_path / "audit" / "_run.json").write_text(json.dumps(record))
    html = page_of(f"{tmp_path}/audit", tmp_path)
    text = dict(details(html))["large-lag"]
    assert "The worst partition, eight-0, has 12,000 of them (14.3 %)." in text
    assert "the offsets that the audit read are no longer there" in text
    assert 'class="lag-' not in html


def test_unknown_lag_is_no_all_clear(spark: SparkSession, tmp_path: Path) -> None:
    """A page without offsets says so, of the fleet and of each group."""
    verdicts = [verdict("a") | {"topics": ["orders"]}]
    html = audit_page(spark, tmp_path, [found("a", "idle-members", "warning")], verdicts)
    assert "Lag is unknown: the audit read no offsets." in texts_of(section(html, "lag"))
    assert "Lag is unknown: the audit read no offsets." in dict(details(html))["a"]
    assert consumers(html, "orders") == ({"a"}, set())


def test_terms_of_many_groups_keep_the_page_small() -> None:
    """The groups with the first ranks have theirs; the script says of how many there are none."""
    terms = SearchTerms(tuple(f"{LONG[:200]}-{n}" for n in range(50)), (), ("x",), topics_left_out=3)
    row = GroupRow("c", "g", None, 0, None, None, (0, 0, 0), (), None, None, None, None, None, None, None, "", "", "")
    rows = [replace(row, terms=terms), *[replace(row, terms=replace(terms, topics=(f"{n}-{LONG[:250]}",)))
                                         for n in range(LISTED_GROUPS)]]  # fmt: skip
    text = as_json(rows)
    assert len(text.encode()) < LISTED_BYTES + TOPICS_BYTES + CLIENTS_BYTES
    of_topics = json.loads(text)["terms"]["topics"]["rows"]
    assert of_topics[0] == [[*range(50)], [], 3]
    assert of_topics[-1] is None
    assert 1_000 < of_topics.index(None) < LISTED_GROUPS


@pytest.fixture(scope="module")
def hostile(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return (write_hostile_audit(spark, tmp_path_factory.mktemp("hostile")) / "report.html").read_text()


@pytest.mark.scale
@pytest.mark.parametrize("page", ["ranked", "hostile"])
def test_hostile_names_are_shown_as_text(page: str, request: pytest.FixtureRequest) -> None:
    html: str = request.getfixturevalue(page)
    assert SCRIPT not in html
    assert QUOTES not in html
    assert not re.search("[\u202a-\u202e\u2066\u2067\u200f\x00-\x09\x0b-\x1f\x7f-\x9f\ufeff]", html)
    elements = Elements(html)
    elements.check_that_nothing_is_loaded()
    assert [named.get("type") for tag, named in elements.found if tag == "script"] == ["application/json", None]


def with_news(spark: SparkSession, folder: Path, rows: list[dict[str, object]]) -> str:
    """Write an audit of one group that was compared with an earlier audit."""
    earlier = {"folder": "out/before", "audited": "2026-11-28 02:00 UTC", "not_compared": [f"offsets {SCRIPT}"]}
    tables = {FINDINGS: [], VERDICTS: [verdict("billing", "note")], NEWS: rows}
    return write_run(spark, folder, "audit", tables, previous=earlier)


def test_what_changed_since_the_last_audit_comes_first(spark: SparkSession, tmp_path: Path) -> None:
    """Names are text, and a fleet in which everything has changed is not listed in full."""
    new = [
        {"rank": place, "change": "new", "group_id": f"g{place}", "kind": "imbalance", "severity": "warning",
         "description": f"found in g{place}"}
        for place in range(1, 2001)
    ]  # fmt: skip
    others: list[dict[str, object]] = [
        {"change": "changed", "topic": SCRIPT, "description": "8 partitions, before 4"},
        {"change": "changed", "description": f"brokers: {QUOTES}"},
        {"change": "vanished", "group_id": LONG, "severity_before": "error", "description": f"before: {SCRIPT}"},
    ]
    rows: list[dict[str, object]] = [*new, *({"rank": 3000 + place} | row for place, row in enumerate(others))]
    html = page_of(with_news(spark, tmp_path / "run", rows), tmp_path)
    assert html.index('<section id="since"') < html.index('<section id="what-to-do"')
    text = texts_of(section(html, "since"))
    counts = "2,000 new, 1 group vanished, 2 changes of settings"
    assert f"Since the audit of 2026-11-28 02:00 UTC: {counts}." in text
    assert "New Warning Imbalance 2,000 groups g1 found in g1 g2 found in g2" in text
    assert "g5" in text
    assert "g6" not in text
    assert "All 2,000 are in the table news." in text
    assert f"topic {SCRIPT} 8 partitions, before 4" in text
    assert f"Not compared: offsets {SCRIPT}" in text
    assert SCRIPT not in html
    assert '<a href="#since">' in html


def test_an_audit_without_news_says_so(spark: SparkSession, tmp_path: Path) -> None:
    html = page_of(with_news(spark, tmp_path / "run", []), tmp_path)
    assert "Since the audit of 2026-11-28 02:00 UTC: nothing new." in texts_of(section(html, "since"))
