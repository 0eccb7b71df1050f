"""The groups that an operator would look at first lead console, page and tables: named before the audit ran."""

import json
from pathlib import Path

import pytest

from rebalance_sim.cli import main
from tests.support.audited_fleet import COOPERATIVE, NOW_MS, Rows
from tests.support.ranked_groups import on_console, on_page, ranked

pytestmark = pytest.mark.scale

URGENT = ("payments", "orders", "clicks")
"""Partitions of payments have no leader, so that nobody consumes them, and 90,000 records wait; a member of orders is
refused, and 100 records wait; one partition of clicks is 418,233 records behind. All others are larger."""


def consumers(group: str, count: int, topic: str, protocols: list[str]) -> Rows:
    members = [{"group_id": group, "member_id": f"{group}-{place}", "join_order": place} for place in range(count)]
    usual = {"client_library": "java", "client_version": "4.1.0", "protocols": protocols, "subscription": [topic]}
    return [usual | member for member in members]


def offsets(group: str, topic: str, lags: list[int]) -> Rows:
    usual = {"group_id": group, "topic": topic, "committed": 10, "committed_at_ms": NOW_MS}
    return [usual | {"partition": partition, "end": 10 + lag} for partition, lag in enumerate(lags)]


TOPICS = [
    {"topic": "paid", "partitions": 6, "unavailable": [2, 3]},
    *({"topic": topic, "partitions": partitions} for topic, partitions in (("ordered", 6), ("clicked", 4), ("few", 3))),
    *({"topic": f"sold-{number}", "partitions": 3} for number in range(3)),
]
MEMBERS = [
    *consumers("payments", 3, "paid", COOPERATIVE),
    *consumers("orders", 3, "ordered", ["range"]),
    *(row | {"member_id": "late", "join_order": 9} for row in consumers("orders", 1, "ordered", ["roundrobin"])),
    *consumers("clicks", 2, "clicked", COOPERATIVE),
    *(row | {"subscription": ["sold-0", "sold-1", "sold-2"]} for row in consumers("sales", 9, "", ["range"])),
    *(row for number in range(12) for row in consumers(f"tie-{number}", 10, "few", ["range", "roundrobin"])),
    *(row | {"member_id": f"{row['member_id']}-other"} for number in range(12)
      for row in consumers(f"tie-{number}", 10, "few", ["roundrobin", "range"])),
]  # fmt: skip
OFFSETS = [
    *offsets("payments", "paid", [0, 0, 50_000, 40_000, 0, 0]),
    *offsets("orders", "ordered", [100, 0, 0, 0, 0, 0]),
    *offsets("clicks", "clicked", [0, 418_233, 0, 0]),
    *(row for number in range(12) for row in offsets(f"tie-{number}", "few", [36, 0, 0])),
]


def test_the_most_urgent_groups_lead(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = []
    for name, rows in {"topics": TOPICS, "members": MEMBERS, "offsets": OFFSETS}.items():
        (tmp_path / f"{name}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        given += [f"--{name}", str(tmp_path / f"{name}.json")]
    assert main(["audit", *given, "--out", str(tmp_path / "out")]) == 0
    out = tmp_path / "out"
    for groups in (ranked(out), on_console(capsys.readouterr().out), on_page(out)):
        assert groups[:3] == list(URGENT)
