"""The file in which an owner says what the clients are."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_sim.errors import UserError
from rebalance_sim.kafka.clients.stated import StatedClient, StatedClients
from rebalance_sim.sources.clients_file import read_clients, unused_entries
from tests.kafka.clients.test_stated import PATTERNS
from tests.support.rows import member, members


def written(folder: Path, text: str) -> str:
    (folder / "clients.yaml").write_text(text)
    return f"{folder}/clients.yaml"


def test_an_entry(tmp_path: Path) -> None:
    text = 'clients: [{group: a*, library: sarama, release: "1.43", protocols: [range], revoke_seconds: 1.5}]'
    (entry,) = read_clients(written(tmp_path, text)).entries
    expected = StatedClient("a*", "*", "sarama", "1.43", ("range",), start_ms=None, revoke_ms=1500)
    assert entry == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("clients: [{library: Sarama}]", "clients.yaml: line 1: clients[0].library: got 'Sarama'"),
        (
            "clients:\n- team: x\n- release: 3.9\n",
            "clients.yaml: line 3: clients[1].release: expected a release such as",
        ),
        ("clients:\n- start_seconds: -1", "clients.yaml: line 2: clients[0].start_seconds: expected "),
        ("clients:\n- name: x", "clients.yaml: line 2: clients[0].name: "),
        ("clients: []", "clients.yaml: line 1: clients: expected "),
        ("[]", "clients.yaml: line 1: expected "),
    ],
)
def test_mistakes_name_line_key_and_value(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError) as mistake:
        read_clients(written(tmp_path, text))
    assert expected in str(mistake.value)


def test_entries_that_match_no_member_are_named(spark: SparkSession) -> None:
    """The patterns mean the same to Spark as to Python."""
    rows = [member(f"m{n}", ["range"], [], group_id=name) for n, (_, name, _) in enumerate(PATTERNS)]
    known = members(spark, *rows, member("without", ["range"], [], group_id="other", client_id=None))
    entries = (*(StatedClient(group=pattern) for pattern, _, _ in PATTERNS), StatedClient(client_id="app"))
    names = [row["group_id"] for row in rows]
    unused = [n for n, entry in enumerate(entries, 1) if not any(entry.is_about(name, None) for name in names)]
    found = unused_entries(StatedClients(entries), known)
    assert [sentence.split()[1] for sentence in found] == [str(number) for number in unused]
    assert found[-1] == "entry 13 of the clients file matches no member: group '*', client_id 'app'"
    assert unused_entries(StatedClients(), known) == []
