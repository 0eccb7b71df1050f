"""What the page of an audit shows of past rebalances: score, misses, calendar, and the strips of groups."""

import html
import json
import re
import shlex
import shutil
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rebalance_sim.commands.configuration import read_options
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.engine.history.misses import MISS_TABLES
from rebalance_sim.engine.runs.hadoop_files import HadoopFiles
from rebalance_sim.engine.runs.input_files import read_input
from rebalance_sim.engine.runs.past_runs import READ, tables_of_history
from rebalance_sim.errors import UserError
from rebalance_sim.report.audits.fleet_past import SHOWN_DATES, SHOWN_MISSES
from rebalance_sim.report.audits.group_past import LISTED_GENERATIONS, SHOWN_GENERATIONS
from rebalance_sim.tables import BACKTEST, FINDINGS, GENERATIONS, PREVENTION, VERDICTS, Table
from tests.report.test_audit import details, found, page_of, section, texts_of, verdict
from tests.support.finished_runs import write_run
from tests.support.past_rebalances import DAY_MS, GENERATIONS_OF_GROUP, LAST_MS, Key, write_history

pytestmark = [pytest.mark.scale, pytest.mark.usefixtures("small_runs")]

NAMES = [f"g{number:02}" for number in range(SHOWN_MISSES)]
READ_A_DAY_LATER = datetime.fromtimestamp((LAST_MS + DAY_MS) // 1000, UTC).isoformat()


def write_audit(spark: SparkSession, folder: Path, names: Sequence[str], history: str) -> str:
    """Write an audit of groups of the cluster default, over members that can still be read."""
    folder.mkdir()
    members = [{"group_id": n, "member_id": n, "protocols": ["range"], "subscription": ["t"]} for n in names]
    (folder / "members.json").write_text("".join(f"{json.dumps(row)}\n" for row in members))
    (folder / "topics.json").write_text('{"topic": "t", "partitions": 3}')
    tables = {name: f"{folder}/{name}.json" for name in ("topics", "members")}
    others = {"kafka_version": "4.3", "assignors": "", "clusters": "", "seed": 0, "format": "auto", "offsets": ""}
    more = {"scala_version": "", "client_version": "", "offsets_partitions": 50}
    options = {"out": f"{folder}/run", "history": history, "output_format": "parquet", **tables, **others, **more}
    findings = {FINDINGS: [found(n, "imbalance", "warning") for n in names], VERDICTS: [verdict(n) for n in names]}
    return write_run(spark, folder / "run", "audit", findings, options=options, started=READ_A_DAY_LATER)


def page_with(spark: SparkSession, folder: Path, past: Sequence[Key], names: Sequence[str] = NAMES) -> str:
    """Return the page of an audit of groups with a history."""
    history = write_history(spark, folder / "past", past)
    return page_of(write_audit(spark, folder / "audit", names, history), folder / "page")


@pytest.fixture(scope="module")
def page(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the page of groups with a history, and of one without; three groups of the history are others."""
    keys = [("default", name) for name in (*NAMES, "gone")] + [("other", "a"), ("other", "b")]
    return page_with(spark, tmp_path_factory.mktemp("past"), keys, [*NAMES, "new"])


def test_the_score_stands_at_the_top_with_what_it_rests_on(page: str) -> None:
    """Only of the audited cluster: its 20 groups, and the one that is gone."""
    top = texts_of(page[page.index('<header class="top">') : page.index("</header>")])
    assert (
        "The predictor would have been right in 420 of this cluster's last 441 rebalances predicted from what the "
        "members sent (not counted: 42 not predictable), and in 483 of 483 rebalances predicted from the generation "
        "before (483 with partition counts taken from the assignment). 42 misses are listed: Rebalance history"
    ) in top
    assert '<p class="score">' in page
    history = texts_of(section(page, "history"))
    assert "what the members sent 483 420 21 42 21 0 420 the generation before 483 483 0 0 0 0 0" in history


def test_misses_are_listed_and_the_rest_is_counted(page: str) -> None:
    history = section(page, "history")
    misses = history[history.index('id="history-misses"') :]
    assert misses.count("3 of 12 partitions") == SHOWN_MISSES / 2
    assert misses.count("partitions per member are outside the bounds") == SHOWN_MISSES / 2
    assert "3 of 12 partitions, such as g00-5: assigned to g00, predicted for no member" in texts_of(misses)
    assert "22 more: the rows of backtest whose result is differs, or whose within_bounds is false." in texts_of(misses)


def test_each_miss_has_the_command_that_explains_it(page: str) -> None:
    misses = page[page.index('id="history-misses"') :]
    commands = [html.unescape(each) for each in re.findall(r"<code>(rebalance-sim explain .*?)</code>", misses)]
    assert len(commands) == SHOWN_MISSES / 2
    options = vars(read_options(*parsers(), shlex.split(commands[0])[1:]))
    assert (options["what"], options["cluster"], options["topic"]) == ("assignment", "default/g00/0/1/as joined", "g00")
    assert options["partition"] == 5
    assert {options[name].rsplit("/", 1)[1] for name in ("topics", "members", "clusters")} == {
        table.name for table in MISS_TABLES
    }


def test_the_calendar_has_the_hours_of_each_date(page: str) -> None:
    """A group's last generation is at midnight, the others in the hour before."""
    history = section(page, "history")
    assert "The bars are as high as the rebalances that completed in an hour; the highest has 23." in history
    dates = re.findall(r'<th scope="row">(\S+)</th><td><svg.*?d="([^"]*)".*?</td><td>(.*?)</td>', history)
    assert dates[-1] == ("2024-10-04", "M0 9h38v1h-38z", "1 rebalance, most from 0 to 1 (1)")
    assert dates[-2] == ("2024-10-03", "M0 9h38v1h-38zM958 0h38v10h-38z", "24 rebalances, most from 23 to 24 (23)")
    assert len(dates) == len(NAMES) + 2


def test_what_the_history_is_not_about_is_said(page: str) -> None:
    history = texts_of(section(page, "history"))
    assert "552 generations of 23 groups in 22 days, from 2024-09-11 23:14:00 to 2024-10-04 00:00:00 UTC." in history
    for note in (
        "2 groups of the history are of other clusters.",
        "1 group of the history is not in the audit.",
        "1 audited group has no history.",
        "The last generation is 24 h older than the audited groups: none has rebalanced since, or the history was read",
    ):
        assert note in history


def test_each_group_has_a_strip_with_words_and_its_last_generations(page: str) -> None:
    shown = dict(details(page))
    text = shown["g00"]
    assert (
        "24 generations in 46 minutes, 23 of them because member g00 left and came back. Commits before and after 23 "
        "generations: after 4, offsets of 4 partitions went back by 400 records; partitions had no commit for 34.5 "
        "partition-seconds longer than usual around 23, an estimate of downtime."
    ) in text
    assert "Rebalances from 2024-10-03 23:14:00 to 2024-10-04 00:00:00 UTC" in text
    for lane in ("rebalances 24", "members joined 2", "members restarted 11", "members left 12"):
        assert lane in text
    assert "partitions moved 72, 48 of them back Records before 1 of them may be missing." in text
    assert f"The last {LISTED_GENERATIONS} generations" in text
    assert "2024-10-04 00:00:00 23 1 member left member g00 left or timed out" in text
    assert "group.instance.id one per consumer 20 23 -1.5" in text
    assert "session.timeout.ms" not in text
    assert "Rebalance history" not in shown["new"]
    strip = page[page.index('id="group-1-history-caption"') :].partition("</table>")[0]
    assert re.findall(r'<path class="([a-z-]+)"', strip) == ["rebalances", "joined", "back-again", "gone", "moved"]


def test_a_history_of_other_clusters_says_so_and_scores_nothing(spark: SparkSession, tmp_path: Path) -> None:
    shown = page_with(spark, tmp_path, [("eu\u202e", "g00")], ["g00"])
    history = texts_of(section(shown, "history"))
    assert "The history is of other clusters (eu\\u202e) than the audit, which uses nothing of it." in history
    assert '<p class="score">' not in shown
    assert 'id="history-calendar-caption"' not in shown
    assert "-history-caption" not in shown


def test_a_history_that_is_gone_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    shown = page_of(write_audit(spark, tmp_path / "audit", ["g00"], f"{tmp_path}/gone"), tmp_path / "page")
    assert "The history that the audit read can no longer be read." in texts_of(section(shown, "history"))


def test_a_history_without_a_column_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    """An earlier release has written it."""
    history = Path(write_history(spark, tmp_path / "past", [("default", "g00")]))
    rows = spark.read.parquet(f"{history}/{BACKTEST.name}").drop(BACKTEST.names[-1])
    rows.write.parquet(f"{tmp_path}/earlier")
    shutil.rmtree(history / BACKTEST.name)
    shutil.move(tmp_path / "earlier", history / BACKTEST.name)
    audited = write_audit(spark, tmp_path / "audit", ["g00"], str(history))
    assert "The history that the audit read can no longer be read." in page_of(audited, tmp_path / "page")
    with pytest.raises(UserError, match=rf"^--history .+: {BACKTEST.name} has no column {BACKTEST.names[-1]};"):
        tables_of_history(HadoopFiles(spark), str(history), lambda *given: read_input(spark, *given))


def test_an_audit_without_a_history_has_none_of_it(spark: SparkSession, tmp_path: Path) -> None:
    shown = page_of(write_audit(spark, tmp_path / "audit", ["g00"], ""), tmp_path / "page")
    assert "ebalance history" not in shown
    assert '<p class="score">' not in shown


def test_many_generations_keep_the_page_small(spark: SparkSession, tmp_path: Path) -> None:
    """100,000 generations of 100 groups, on 42 days."""
    names = [f"g{number}" for number in range(100)]
    few = write_history(spark, tmp_path / "few", [("default", "g0")])
    many = tmp_path / "many"
    rounds = 100_000 // GENERATIONS_OF_GROUP // len(names) + 1
    for table in READ:
        rows = spark.read.parquet(f"{few}/{table.name}")
        _of_groups(rows, table, len(names), rounds).write.parquet(f"{many}/{table.name}")
    (many / "_run.json").write_text(Path(f"{few}/_run.json").read_text())
    with_history = page_of(write_audit(spark, tmp_path / "audit", names, str(many)), tmp_path / "page")
    assert len(with_history) < 700_000
    history = texts_of(section(with_history, "history"))
    assert "100,800 generations of 100 groups in 41 days" in history
    assert f"before 2024-09-04 are not shown: the table {GENERATIONS.name} has all." in history
    assert history.count("rebalances, most from") == SHOWN_DATES
    text = dict(details(with_history))["g0"]
    assert re.search(rf"\d+ earlier generations are not drawn: the table {GENERATIONS.name} has all.", text)
    assert f"rebalances {SHOWN_GENERATIONS} " in text


def _of_groups(rows: DataFrame, of: Table, groups: int, rounds: int) -> DataFrame:
    """Return the rows of a group for many; those of generations again and again, a day apart."""
    number = F.col("id").cast("int")
    again = rows.sparkSession.range(groups * (1 if of is PREVENTION else rounds))
    repeated = rows.crossJoin(again).withColumn("group_id", F.concat(F.lit("g"), number % groups))
    round_of = F.floor(number / groups)
    if of is not PREVENTION:
        generation = F.col("generation") + GENERATIONS_OF_GROUP * round_of
        repeated = repeated.withColumn("generation", generation.cast("int"))
    if of is GENERATIONS:
        earlier_ms = F.lit(DAY_MS) * (rounds - 1 - round_of)
        repeated = repeated.withColumn("completed_at_ms", F.col("completed_at_ms") - earlier_ms)
    return repeated.select(*of.names)
