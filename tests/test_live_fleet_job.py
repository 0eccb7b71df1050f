"""The options of live clusters, where no cluster is needed to refuse them."""

import sys
from concurrent.futures import Future
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_sim.cli import main
from rebalance_sim.sources.kafka_requests import Failure, answers

pytestmark = pytest.mark.usefixtures("spark")
NOBODY = ["--bootstrap-servers", "127.0.0.1:1"]


@pytest.mark.parametrize(
    ("options", "properties", "expected"),
    [
        (["--kafka-tools", "x", "--command-config", "f"], None, "--command-config: only allowed with --bootstrap-serv"),
        (["--synthetic", "x", "--records-from", "t"], None, "--records-from: only allowed with --bootstrap-servers"),
        ([*NOBODY, "--protocols", "range,"], None, "protocols: expected a list of assignors"),
        (NOBODY, "ssl.enabled.protocols=TLSv1.3", "--command-config: 'ssl.enabled.protocols' is not known to librd"),
        (NOBODY, "a=1\nb=\\u12", "client.properties line 2: \\u is not followed by four hexadecimal digits"),
        (NOBODY, "", "--bootstrap-servers: cannot read 127.0.0.1:1: _TRANSPORT: "),
    ],
)
def test_mistakes(
    options: list[str], properties: str | None, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if properties is not None:
        file = tmp_path / "client.properties"
        file.write_text(properties)
        options = [*options, "--command-config", str(file)]
    assert main(["fleet", *options, "--out", f"{tmp_path}/out"]) == 2
    (told,) = [line for line in capsys.readouterr().err.splitlines() if line.startswith("rebalance-sim fleet: ")]
    assert expected in told
    assert not (tmp_path / "out").exists()


def test_without_confluent_kafka(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "confluent_kafka", None)
    assert main(["fleet", *NOBODY, "--out", f"{tmp_path}/out"]) == 2
    assert "which is missing: pip install rebalance-sim[live]" in capsys.readouterr().err


def test_how_a_failure_is_told() -> None:
    assert str(Failure("_TIMED_OUT", "Local: Timed out")) == "_TIMED_OUT: Local: Timed out"
    assert str(Failure("NOT_COORDINATOR", "")) == "NOT_COORDINATOR"


def test_nothing_to_ask() -> None:
    assert list(answers(lambda _: {}, [], lambda _: None)) == []


def test_what_fails_in_passing_is_asked_again() -> None:
    told = {
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
            code = told[key].pop(0)
            if code is None:
                future.set_result(f"{key} answers")
            else:
                future.set_exception(KafkaException(KafkaError(code)))
        return futures

    found = dict(answers(ask, ["moves", "denied", "well"], done.append))
    assert found == {
        "moves": "moves answers",
        "denied": Failure("GROUP_AUTHORIZATION_FAILED", "Broker: Group authorization failed"),
        "well": "well answers",
    }
    assert (asked, done) == ([["moves", "denied", "well"], ["moves"]], [2, 3])
