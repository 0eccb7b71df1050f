"""The options of live clusters that are refused without one."""

import sys
from concurrent.futures import Future
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_sim.cli import main
from rebalance_sim.sources.live_cluster.requests import RequestFailure, answers

pytestmark = pytest.mark.usefixtures("spark")
NOBODY = ["--bootstrap-servers", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("options", "properties", "expected"),
    [
        (["--kafka-tools", "x", "--command-config", "f"], None, "--command-config: only allowed with --bootstrap-serv"),
        (["--synthetic", "x", "--records-from", "t"], None, "--records-from: only allowed with --bootstrap-servers"),
        ([*NOBODY, "--protocols", "range,"], None, "protocols: expected a list of assignors"),
        (NOBODY, "ssl.enabled.protocols=TLSv1.3", "--command-config: 'ssl.enabled.protocols' is unknown to librdkaf"),
        (NOBODY, "a=1\nb=\\u12", "client.properties line 2: \\u is not followed by four hexadecimal digits"),
        (NOBODY, "", "--bootstrap-servers: cannot read 127.0.0.1:1: _TRANSPORT: "),
    ],
)
def test_mistakes_in_options_are_reported(
    options: list[str], properties: str | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if properties is not None:
        file = tmp_path / "client.properties"
        file.write_text(properties)
        options = [*options, "--command-config", str(file)]
    assert main(["fleet", *options, "--out", f"{tmp_path}/out"]) == 2
    (printed,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rebalance-sim fleet: ")]
    assert expected in printed
    assert not (tmp_path / "out").exists()


def test_a_missing_confluent_kafka_is_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert main(["fleet", *NOBODY, "--out", f"{tmp_path}/out"]) == 2
    assert "which is not installed: pip install rebalance-sim[live]" in capsys.readouterr().err


def test_failures_print_their_error_code() -> None:
    assert str(RequestFailure("_TIMED_OUT", "Local: Timed out")) == "_TIMED_OUT: Local: Timed out"
    assert str(RequestFailure("NOT_COORDINATOR", "")) == "NOT_COORDINATOR"


def test_no_requests_need_no_answers() -> None:
    assert list(answers(lambda _: {}, [], lambda _: None)) == []


def test_transient_failures_are_retried() -> None:
    outcomes = {
        "moves": [KafkaError.NOT_COORDINATOR, None],
        "denied": [KafkaError.GROUP_AUTHORIZATION_FAILED],
        "well": [None],
    }
    asked: list[list[str]] = []
    done: list[int] = []

    def ask(batch: list[str]) -> dict[str, "Future[str]"]:
        asked.append(batch)
        futures = {key: Future[str]() for key in batch}
        for key, future in futures.items():
            code = outcomes[key].pop(0)
            if code is None:
                future.set_result(f"{key} answers")
            else:
                future.set_exception(KafkaException(KafkaError(code)))
        return futures

    found = dict(answers(ask, ["moves", "denied", "well"], done.append))
    assert found == {
        "moves": "moves answers",
        "denied": RequestFailure("GROUP_AUTHORIZATION_FAILED", "Broker: Group authorization failed"),
        "well": "well answers",
    }
    assert (asked, done) == ([["moves", "denied", "well"], ["moves"]], [2, 3])
