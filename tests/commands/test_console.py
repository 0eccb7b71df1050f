"""Tables, lines and progress on terminals of several widths, and in pipes."""

import logging
import os
import pty
import re
from argparse import Namespace
from collections.abc import Iterator
from io import StringIO
from select import select
from typing import TextIO

import pytest
from pyspark.sql import SparkSession
from rich.cells import cell_len
from rich.console import Console

from rebalance_sim.commands.console import Line, Table, print_summary, shortened, text_of
from rebalance_sim.commands.progress_bar import ProgressBar, shows_bar
from rebalance_sim.commands.summary import summarise_balance
from rebalance_sim.logs import LOGGER, logged_by
from rebalance_sim.tables import BALANCE
from tests.support.rows import table

MEMBER = "consumer-billing-1-cc48bec3-30f3-4554-9b5c-25bffb183f2f"
LINES: list[Line] = [
    "elections: 2 groups",
    Table(
        ("group", "members", "mean", "delay", "votes", "leader"),
        [
            ("billing", 1234, 0.5, "10.5 s", "range 1,000, roundrobin 234", MEMBER),
            ("注文サービス", 3, None, "-", "range 3", "b\n"),
        ],
    ),
    "",
    "  assumption about " + 20 * "many " + "words",
]


def terminal(width: int) -> Console:
    return Console(file=StringIO(), width=width, color_system=None)


def test_a_pipe_gets_everything_in_one_line_each() -> None:
    assert text_of(LINES).splitlines() == [
        "elections: 2 groups",
        "  group         members  mean   delay  votes                        leader",
        f"  billing         1,234  0.50  10.5 s  range 1,000, roundrobin 234  {MEMBER}",
        "  注文サービス        3     -       -  range 3                      b\\n",
        "",
        "  assumption about " + 20 * "many " + "words",
    ]


def test_columns_move_together_on_a_narrow_terminal() -> None:
    wide: list[Line] = [Table(("group", "first", "second"), [("billing", "abcdefghij", "klmnopqrst")])]
    assert text_of(wide, terminal(33)).splitlines()[1] == "  billing  abcdefghij  klmnopqrst"
    assert text_of(wide, terminal(32)).splitlines()[1] == " billing abcdefghij klmnopqrst"


@pytest.mark.parametrize("width", [80, 100, 140])
def test_lines_and_tables_fit_a_terminal(width: int) -> None:
    lines = text_of(LINES, terminal(width)).splitlines()
    assert max(map(cell_len, lines)) <= width
    assert "1,234  0.50" in lines[2]
    assert lines[2].endswith("183f2f")
    assert next(line for line in lines if "words" in line).startswith("  ")


def test_ids_are_shortened_in_the_middle_and_only_where_they_do_not_fit() -> None:
    table: list[Line] = [Table(("group", "member"), [("g", MEMBER)])]
    assert MEMBER in text_of(table, terminal(80))
    assert text_of(table, terminal(40)).splitlines()[1] == "  g      consumer-billin…5c-25bffb183f2f"
    assert shortened("注文サービス", 9) == "注文…ビス"


def test_no_column_is_missing_on_a_terminal_that_is_too_narrow() -> None:
    lines = text_of(LINES, terminal(40)).splitlines()
    assert lines[1].split() == ["group", "members", "mean", "delay", "votes", "leader"]
    assert [line for line in lines if "1,234 0.50" in line and line.endswith("183f2f")]


def test_the_cluster_is_a_column_where_there_are_several() -> None:
    rows = [("a", 1), ("a", 2)]
    one, two = (Table.of_clusters(("group", "members"), rows, clusters) for clusters in (["eu", "eu"], ["eu", "us"]))
    assert text_of([one]).splitlines()[0] == "  group  members"
    found = text_of([two]).splitlines()
    assert found == ["  cluster  group  members", "  eu       a            1", "  us       a            2"]


def test_the_most_imbalanced_group_is_named_with_its_cluster_if_there_are_several(spark: SparkSession) -> None:
    figures = {"group_id": "g", "strategy": "range", "members": 2, "partitions": 4, "min": 2, "idle_members": 0}
    rows = [{**figures, "cluster": "eu", "max": 2}, {**figures, "cluster": "us", "max": 9}]
    named = "  most imbalanced group: g of cluster us, 2 to 9 partitions per member (range)"
    assert named in summarise_balance(table(spark, BALANCE, rows))
    assert named.replace(" of cluster us", "") in summarise_balance(table(spark, BALANCE, rows[1:]))


def test_markup_in_names_is_no_style() -> None:
    lines: list[Line] = ["[bold]x[/bold] :smile:", Table(("group",), [("[red]a[/red]",)])]
    assert text_of(lines).splitlines() == ["[bold]x[/bold] :smile:", "  group", "  [red]a[/red]"]


@pytest.mark.parametrize(("variable", "styled"), [("NO_COLOR", False), ("TERM", True)])
def test_colours_are_for_terminals_that_want_them(monkeypatch: pytest.MonkeyPatch, variable: str, styled: bool) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv(variable, "xterm-256color")
    console = Console(file=StringIO(), force_terminal=True, width=80)
    assert ("\x1b[33m" in text_of(["assumptions about clients: x"], console)) is styled


@pytest.fixture
def opened() -> Iterator[tuple[int, TextIO]]:
    """Return the two ends of a terminal: where a user reads, and where a program writes."""
    user, program = pty.openpty()
    with open(program, "w") as stream:
        yield user, stream
    os.close(user)


def test_a_terminal_shows_one_bar_and_no_lines(
    opened: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Steps replace each other, other records are lines above the bar, and results come when it is gone."""
    user, stream = opened
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    assert shows_bar(Namespace(log_format="text", log_level="info"))
    log = logging.getLogger(f"{LOGGER}.test")
    with logged_by(ProgressBar(), "elect", "info", "text"):
        log.info("compiling the rules")
        log.info("any", extra={"fields": {"step": "electing protocols", "tasks": 38, "tasks_done": 23}})
        log.warning("half of it")
        log.info("writing elections")
        print_summary(["elections: 1 group"])
        log.error("x: is wrong")
    stream.flush()
    printed = ""
    while select([user], [], [], 0)[0]:
        printed += os.read(user, 1 << 16).decode()
    lines = [re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", line) for line in re.split(r"\r\n|\r", printed)]
    assert any("electing protocols" in line and "23 of 38 tasks" in line for line in lines)
    assert any("half of it" in line for line in lines)
    assert "rebalance-sim elect: x: is wrong" in lines
    assert not any("writing" in line and "tasks" in line for line in lines)
    assert capsys.readouterr().out == "elections: 1 group\n"


@pytest.mark.parametrize(
    ("options", "term"),
    [({"log_format": "json"}, "xterm"), ({"log_level": "error"}, "xterm"), ({"explain": True}, "xterm"), ({}, "dumb")],
    ids=["json", "errors", "plans", "dumb"],
)
def test_lines_are_printed_where_a_bar_would_disturb(
    opened: tuple[int, TextIO], monkeypatch: pytest.MonkeyPatch, options: dict[str, object], term: str
) -> None:
    monkeypatch.setattr("sys.stderr", opened[1])
    monkeypatch.setenv("TERM", term)
    assert not shows_bar(Namespace(**{"log_format": "text", "log_level": "info", **options}))


def test_a_pipe_gets_no_bar() -> None:
    assert not shows_bar(Namespace(log_format="text", log_level="info"))
