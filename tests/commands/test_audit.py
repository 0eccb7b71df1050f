"""``audit`` from a source: it reads the fleet into its own folder, and audits it."""

import json
import re
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession

from rebalance_sim.cli import main
from rebalance_sim.commands.input_size import are_small
from rebalance_sim.commands.parsers import parsers
from rebalance_sim.releases import NEWEST, NEWEST_TESTED
from tests.support.captures import write_capture

pytestmark = pytest.mark.usefixtures("small_runs")

CAPTURE = Path(__file__).parents[2] / "docs" / "examples" / "kafka-4.3.1"
READ = ("topics", "members", "offsets", "listed_groups", "rejects")
AUDITED = ("elections", "comparison", "costs", "lag_balance", "findings", "verdicts")


def record(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "_run.json").read_text())
    return found


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a capture with one line that cannot be used."""
    folder = tmp_path_factory.mktemp("capture")
    for file in CAPTURE.iterdir():
        (folder / file.name).write_bytes(file.read_bytes())
    with (folder / "members.txt").open("a") as members:
        members.write("billing no-member\n")
    return folder


@pytest.fixture(scope="module")
def by_hand(capture: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an audit of a fleet that the job of this name wrote."""
    out = tmp_path_factory.mktemp("by-hand")
    assert main(["fleet", "--kafka-tools", str(capture), "--out", f"{out}/fleet"]) == 0
    assert main(["audit", "--fleet", f"{out}/fleet", "--out", f"{out}/audit"]) == 4
    return out


@pytest.fixture(scope="module")
def at_once(capture: Path, by_hand: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of an audit that reads its source; an earlier fleet in it is replaced."""
    out = tmp_path_factory.mktemp("at-once") / "out"
    assert main(["fleet", "--synthetic", "small", "--groups", "1", "--out", f"{out}/fleet"]) == 0
    assert main(["audit", "--kafka-tools", str(capture), "--out", str(out)]) == 4
    return out


@pytest.mark.scale
def test_a_source_is_read_and_audited_as_by_two_jobs(spark: SparkSession, by_hand: Path, at_once: Path) -> None:
    """The rows of both are the same, and so are rejects and assumptions."""
    assert record(at_once / "fleet")["rows"] == record(by_hand / "fleet")["rows"]
    assert record(at_once / "fleet")["rows"]["out"]["rejects"] == 1
    for names, one, other in ((READ, at_once / "fleet", by_hand / "fleet"), (AUDITED, at_once, by_hand / "audit")):
        for name in names:
            rows = [sorted(map(str, spark.read.parquet(f"{folder}/{name}").collect())) for folder in (one, other)]
            assert rows[0] == rows[1], name
    assert [path.name for path in at_once.iterdir() if path.name.startswith(".")] == []
    for key in ("rows", "assumptions"):
        assert record(at_once)[key] == record(by_hand / "audit")[key]
    assert record(at_once)["rows"]["in"] == {"topics": 13, "members": 72, "listed_groups": 26, "offsets": 305}
    assert record(at_once)["rows"]["out"]["verdicts"] == 26
    assert record(at_once)["options"]["members"] == f"{at_once}/fleet/members"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--kafka-tools", "a", "--fleet", "b"], "argument --fleet: not allowed with argument --kafka-tools; see "),
        (["--offsets-topic", "a", "--bootstrap-servers", "b:1"], "argument --bootstrap-servers: not allowed with "),
        ([], "--topics: no fleet is given; give --fleet, or --topics and --members"),
        (["--fleet", "a", "--protocols", "range"], "--protocols: not allowed with tables that exist already"),
        (["--fleet", "a", "--clients", "f"], "--clients: not allowed with tables that exist already"),
        (["--synthetic", "small", "--clients", "f"], "--clients: not allowed with --synthetic"),
        (["--fleet", str(CAPTURE)], "is not the output of a finished run"),
        (["--kafka-tools", "nowhere"], "cannot read the capture 'nowhere'"),
        (["--kafka-tools", "a", "--command-config", "f"], "--command-config: only allowed with --bootstrap-servers"),
    ],
)
def test_mistakes_in_a_source_take_one_line(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], expected: str
) -> None:
    assert main(["audit", *options, "--out", f"{tmp_path}/out", "--log-level", "error"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert expected in line
    assert not (tmp_path / "out").exists()


@pytest.mark.scale
def test_a_growth_needs_records(at_once: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--fleet", f"{at_once}/fleet", "--partitions-after", f"{at_once}/fleet/topics"]
    assert main(["audit", *given, "--out", f"{tmp_path}/out"]) == 2
    assert "--partitions-after: needs records, whose keys may move; give --records" in capsys.readouterr().err


@pytest.mark.scale
def test_an_unreadable_source_leaves_the_earlier_audit(at_once: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = record(at_once)
    assert main(["audit", "--kafka-tools", "nowhere", "--out", str(at_once)]) == 2
    assert record(at_once) == before
    assert "nowhere" in capsys.readouterr().err


def test_a_plan_shows_the_tables_of_the_fleet_and_of_the_audit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--kafka-tools", str(CAPTURE), "--out", f"{tmp_path}/out", "--dry-run"]) == 0
    outputs = capsys.readouterr().out.partition("outputs in ")[2].partition("options\n")[0].split()
    assert {f"fleet/{name}" for name in READ} | set(AUDITED) < set(outputs)
    assert {"report.html", "charts"} < set(outputs)
    assert not (tmp_path / "out").exists()


def test_an_audit_of_few_rows_is_a_small_run() -> None:
    """So is one of a folder that an earlier job of the same command writes."""

    def parsed(*arguments: str) -> Any:
        return parsers()[0].parse_args([*arguments])

    assert are_small([parsed("audit", "--kafka-tools", str(CAPTURE), "--out", "o")])
    fleet = parsed("fleet", "--kafka-tools", str(CAPTURE), "--out", "o/fleet")
    assert are_small([fleet, parsed("audit", "--fleet", "o/fleet", "--out", "o/audit")])
    assert not are_small([parsed("audit", "--bootstrap-servers", "host:9092", "--out", "o")])


class Unread:
    """An audit of which the console and the page are read."""

    def __init__(self, capsys: pytest.CaptureFixture[str], capture: Path, out: Path, *options: str) -> None:
        """Audit a capture."""
        self.out = out
        self.exit_code = main(["audit", "--kafka-tools", str(capture), *options, "--out", str(out)])
        printed = capsys.readouterr()
        self.lines, self.log = printed.out.splitlines(), printed.err
        self.page = unescape((out / "report.html").read_text())

    @property
    def verdict(self) -> str:
        """The sentence with which the page begins."""
        return self.page.partition('<p class="verdict">')[2].partition("</p>")[0]

    def table(self, spark: SparkSession, name: str) -> dict[str, Row]:
        return {row["group_id"]: row for row in spark.read.parquet(f"{self.out}/{name}").collect()}


@pytest.mark.scale
def test_groups_that_could_not_be_read_come_first(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """On the console and on the page; they are unknown, and the audit and its check fail."""
    capture = write_capture(tmp_path / "capture", ["orders", "billing"], ["clicks", "search"], ["old"])
    (capture / "notes.md").write_text("Notes of the night\n")
    audit = Unread(capsys, capture, tmp_path / "out")
    what = "2 of 5 groups could not be read: all their members were rejected (4 rows); 1 file could not be used"
    assert audit.lines[:3] == [what, "5 groups: 2 errors, 0 warnings, 11 notes", "  error: group-unread: 2 groups"]
    assert audit.verdict == f"{what}. No errors and no warnings in the 3 groups that could be read."
    assert "No problems found" not in audit.page
    assert "0 rows rejected" not in "\n".join(audit.lines)
    assert audit.exit_code == 4
    assert f"audit: {what}. The output in {audit.out} has everything else" in audit.log

    verdicts = audit.table(spark, "verdicts")
    assert {name: (row["migration"], row["severity"], row["members"]) for name, row in verdicts.items()} == {
        **dict.fromkeys(("orders", "billing"), ("online", "note", 2)),
        **dict.fromkeys(("clicks", "search"), ("unknown", "error", None)),
        "old": ("unknown", "note", 0),
    }
    assert "A row of members cannot be used: #PARTITIONS is 'two', not a number" in audit.page

    for limit, found in (
        ("--max-findings=error=0", "failed: findings error = 2, limit 0 ("),
        (
            "--max-rejected-share=0.01",
            f"failed: rejected-share = 0.5, limit 0.01 (4 of 8 rows of members, in {audit.out}/",
        ),
        ("--max-rejects=0", "failed: rejects = 5, limit 0 ("),
    ):
        assert main(["check", "--runs", str(audit.out), limit]) == 3
        assert capsys.readouterr().out.startswith(found)


def test_a_capture_without_a_usable_group_is_audited(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    audit = Unread(capsys, write_capture(tmp_path / "capture", [], ["clicks"]), tmp_path / "out")
    what = "1 of 1 group could not be read: all its members were rejected (2 rows)"
    assert (audit.exit_code, audit.lines[0]) == (4, what)
    assert audit.verdict == f"{what}. No group could be audited."
    assert "Traceback" not in audit.log
    assert audit.table(spark, "findings")["clicks"]["kind"] == "group-unread"


@pytest.mark.scale
def test_what_is_assumed_is_marked_at_the_top_of_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A release that is given is not assumed, but one later than the newest tested has the rules of that one."""

    def facts(audit: Unread) -> dict[str, str]:
        found = re.findall("<dt>([^<]*)</dt><dd><bdi>([^<]*)</bdi>", audit.page.partition("</header>")[0])
        return dict(found)

    capture = write_capture(tmp_path / "capture", ["orders", "billing"], [])
    usual = facts(Unread(capsys, capture, tmp_path / "usual"))
    assert usual["Kafka release"] == f"{NEWEST} (assumed)"
    assert usual["client library"] == "Java (assumed for 4 members)"
    assert usual["protocol lists"] == "assumed for 4 members (2 groups)"
    later = Unread(capsys, capture, tmp_path / "later", "--kafka-version", "9.9")
    warning = f"Kafka 9.9 is newer than {NEWEST_TESTED}, the newest tested release, whose rules are used"
    assert f"warning: {warning}" in later.lines
    assert warning in later.page
    assert facts(later)["Kafka release"] == f"9.9 (not tested: rules of {NEWEST_TESTED})"


@pytest.mark.scale
def test_what_an_owner_says_of_clients_decides_the_audit(
    spark: SparkSession, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A library without the consumer protocol cannot migrate. The page says what is known of each member, and why."""
    (tmp_path / "clients.yaml").write_text(
        "clients:\n- {group: orders, library: sarama, protocols: [range], team: shop}\n- {group: typo}\n"
    )
    capture = write_capture(tmp_path / "capture", ["orders", "billing"], [])
    audit = Unread(capsys, capture, tmp_path / "out", "--clients", f"{tmp_path}/clients.yaml")
    verdicts = {row["group_id"]: row for row in spark.read.parquet(f"{tmp_path}/out/verdicts").collect()}
    found = {name: (row["teams"], row["migration"]) for name, row in verdicts.items()}
    assert found == {"orders": (["shop"], "no"), "billing": (None, "online")}
    unused = "entry 2 of the clients file matches no member: group 'typo', client_id '*'"
    assert unused in record(tmp_path / "out")["assumptions"]
    page = re.sub("<[^>]+>", "", audit.page)
    assert "sarama (clients file)" in page
    assert "range, cooperative-sticky (assumed: library default)" in page
    assert "team" in page
    assert "shop" in page


@pytest.mark.scale
def test_everything_is_accepted_if_the_share_is_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capture = write_capture(tmp_path / "capture", ["orders"], ["clicks"])
    audit = Unread(capsys, capture, tmp_path / "out", "--max-rejected-share", "1")
    assert (audit.exit_code, audit.lines[0].partition(":")[0]) == (0, "1 of 2 groups could not be read")


def test_a_share_is_at_most_1(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for share in ("-0.1", "1.1", "nan"):
        given = ["--kafka-tools", str(CAPTURE), f"--max-rejected-share={share}"]
        assert main(["audit", *given, "--out", f"{tmp_path}/out"]) == 2
        assert f"--max-rejected-share: {share} is not allowed; allowed: 0 to 1" in capsys.readouterr().err
