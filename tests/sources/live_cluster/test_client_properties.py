"""Properties files are read as Java reads them."""

from pathlib import Path

import pytest

from rebalance_sim.errors import UserError
from rebalance_sim.sources.live_cluster.client_properties import read_client_properties


def read(tmp_path: Path, text: str | bytes) -> dict[str, str]:
    file = tmp_path / "client.properties"
    file.write_bytes(text if isinstance(text, bytes) else text.encode("iso-8859-1"))
    return read_client_properties(str(file))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("\n \t\n# a=1\n  ! b=2\n", {}),
        ("a=1\nb:2\nc 3\nd\n", {"a": "1", "b": "2", "c": "3", "d": ""}),
        ("  a \t= \f 1 \n", {"a": "1 "}),
        ("a = = 1", {"a": "= 1"}),
        ("a  b = c", {"a": "b = c"}),
        ("a=1\ra=2\r\nb=3", {"a": "2", "b": "3"}),
        ("a=1,\\\n   2,\\\n\t3\nb=4", {"a": "1,2,3", "b": "4"}),
        ("a=1\\\\\nb=2", {"a": "1\\", "b": "2"}),
        ("a=1\\\n# no comment", {"a": "1# no comment"}),
        ("# comment \\\na=1", {"a": "1"}),
        ("a=1\\", {"a": "1"}),
        ("\\\na=1", {"a": "1"}),
        ("a\\=b\\:c\\ d=1", {"a=b:c d": "1"}),
        ("a=\\t\\n\\r\\f\\q\\\\\\u20aC", {"a": "\t\n\r\fq\\€"}),
        ("a=gr\xfcn\u2028".encode(), {"a": "gr\xc3\xbcn\xe2\x80\xa8"}),
        ("a=gr\xfcn\x85b=1", {"a": "gr\xfcn\x85b=1"}),
    ],
)
def test_a_file_is_parsed_as_java_does(tmp_path: Path, text: str | bytes, expected: dict[str, str]) -> None:
    assert read(tmp_path, text) == expected


def test_a_jaas_config_may_span_lines(tmp_path: Path) -> None:
    text = (
        "sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required \\\n"
        '  username="alice" \\\n'
        '  password="a=b:c";\n'
    )
    assert read(tmp_path, text) == {
        "sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule required "
        'username="alice" password="a=b:c";'
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=1\n\nb=secret\\u12x4\n", "line 3: \\u is not followed by four hexadecimal digits"),
        ("a=1\n\\\n=secret\n", "line 2: expected NAME=VALUE, found a value without a name"),
    ],
)
def test_errors_name_the_line_and_show_no_secret(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(UserError) as raised:
        read(tmp_path, text)
    assert str(raised.value) == f"{tmp_path}/client.properties {expected}"


@pytest.mark.parametrize(("name", "reason"), [("missing", "No such file or directory"), (".", "Is a directory")])
def test_an_unreadable_file_is_an_error(tmp_path: Path, name: str, reason: str) -> None:
    path = f"{tmp_path}/{name}"
    with pytest.raises(UserError, match=f"^{path}: cannot be read: {reason}$"):
        read_client_properties(path)
