"""Sixty groups of all kinds and libraries, read from the text of four releases of Kafka's tools and audited."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.cli import main
from tests.support.pasted_fleet import FLEET, RELEASES, groups_of, member_ids, write_pasted_fleet
from tests.support.ranked_groups import on_console, on_page, ranked

pytestmark = [pytest.mark.usefixtures("small_runs"), pytest.mark.scale]
GROUPS = {group.group_id: group for group in FLEET}


@pytest.mark.parametrize("release", RELEASES)
def test_libraries_and_kinds_are_recognized_or_unknown(spark: SparkSession, tmp_path: Path, release: str) -> None:
    write_pasted_fleet(tmp_path / "capture", release)
    out = tmp_path / "out"
    assert main(["audit", "--kafka-tools", f"{tmp_path}/capture", "--kafka-version", release, "--out", str(out)]) == 0
    members = spark.read.parquet(f"{out}/fleet/members").collect()
    assert sorted(row["member_id"] for row in members) == sorted(
        member_id for group in groups_of(release) for member_id in member_ids(group)
    )
    wrong = [row for row in members if row["client_library"] not in (None, GROUPS[row["group_id"]].library)]
    assert wrong == []
    named = Counter(row["client_library"] is not None for row in members)
    assert named[True] >= 0.95 * len(members)
    for row in members:
        assert (row["client_library"] is None) == (row["client_evidence"] is None)

    kinds = {row["group_id"]: row["group_kind"] for row in spark.read.parquet(f"{out}/verdicts").collect()}
    expected = {group.group_id: group.kind for group in groups_of(release)}
    assert kinds == expected
    findings = spark.read.parquet(f"{out}/findings").collect()
    assert {row["kind"] for row in findings if row["severity"] != "note"} <= {"migration-offline"}
    for row in findings:
        if expected[row["group_id"]] in ("kafka-streams", "ksqldb", "console-consumer", "offsets-only", "flink"):
            assert row["family"] in ("leaders", "risks", "keys"), row
        if expected[row["group_id"]] == "connect-sink" and row["settings"]:
            assert all(name.startswith("consumer.override.") for name in row["settings"]), row
            assert "these settings begin with consumer.override." in row["recommendation"], row


URGENT: dict[str, dict[str, Any]] = {
    "pricing-3": {"without_leader": 2},
    "mail-1": {"lag": 418_233},
    "clicks-2": {"lag": 60_000},
}
"""Groups in the order in which an operator would look at them, named before the audit ran: two partitions of pricing-3,
of Sarama, have no leader; one of mail-1, of KafkaJS, is 418,233 records behind, and one of clicks-2, of librdkafka,
60,000. All others are 3 records behind at most."""


@pytest.mark.parametrize("release", ["2.3", "4.3"])
def test_the_most_urgent_of_sixty_groups_lead(tmp_path: Path, capsys: pytest.CaptureFixture[str], release: str) -> None:
    fleet = [replace(group, **URGENT.get(group.group_id, {})) for group in FLEET]
    write_pasted_fleet(tmp_path / "capture", release, fleet)
    out = tmp_path / "out"
    assert main(["audit", "--kafka-tools", f"{tmp_path}/capture", "--kafka-version", release, "--out", str(out)]) == 0
    for groups in (ranked(out), on_console(capsys.readouterr().out), on_page(out)):
        assert groups[:3] == list(URGENT)
