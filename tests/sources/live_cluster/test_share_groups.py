"""Connections to brokers for share groups: TLS, SASL, and what prevents them. tests/real asks a real broker."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rebalance_sim.kafka.wire.share_group_describe import FIND_COORDINATOR
from rebalance_sim.kafka.wire.streams_group_describe import STREAMS_GROUP_DESCRIBE, DescribedStreamsGroup
from rebalance_sim.sources.live_cluster import share_groups
from rebalance_sim.sources.live_cluster.connection import Connection, NotConnectedError, Scram, tls_context
from rebalance_sim.sources.live_cluster.requests import RequestFailure
from rebalance_sim.sources.live_cluster.share_groups import OF_ANOTHER_TYPE, OF_SHARE, OF_STREAMS, describe_groups
from tests.support.share_group_answers import COORDINATORS, DESCRIBED
from tests.support.streams_group_answers import DESCRIBED as STREAMS_DESCRIBED

HOST = "localhost"


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Make a certificate of this host, and its key."""
    folder = tmp_path_factory.mktemp("certificate")
    files = (str(folder / "certificate.pem"), str(folder / "key.pem"))
    options = ("-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={HOST}", "-addext", f"subjectAltName=DNS:{HOST}")
    command = ["openssl", "req", "-x509", *options, "-out", files[0], "-keyout", files[1]]
    subprocess.run(command, check=True, capture_output=True)
    return files


@contextmanager
def listening(answer: bytes, tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """Answer the first request on a port, and close the connection."""
    with socket.create_server((HOST, 0)) as server:

        def serve() -> None:
            try:
                connection, _ = server.accept()
                with tls.wrap_socket(connection, server_side=True) if tls else connection as accepted:
                    accepted.recv(1000)
                    accepted.sendall(answer)
            except OSError:
                # The client did not like the certificate.
                return

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1]
        thread.join()


def framed(body: bytes) -> bytes:
    answer = b"\0\0\0\0\0" + body
    return len(answer).to_bytes(4, "big") + answer


def test_an_answer_comes_over_tls(certificate: tuple[str, str]) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*certificate)
    properties = {"security.protocol": "SSL", "ssl.ca.location": certificate[0]}
    with listening(framed(DESCRIBED), tls) as port, Connection(HOST, port, properties, 10) as broker:
        assert broker.ask(77, 1, b"") == DESCRIBED


def test_an_unknown_authority_is_not_trusted(certificate: tuple[str, str]) -> None:
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(*certificate)
    with listening(b"", tls) as port, pytest.raises(NotConnectedError, match="certificate verify failed"):
        Connection(HOST, port, {"security.protocol": "ssl"}, 10)


@pytest.mark.parametrize("answer", [b"", framed(DESCRIBED)[:-1], b"\0\0\0\2ab"])
def test_an_answer_that_is_cut_off_is_no_answer(answer: bytes) -> None:
    with (
        listening(answer) as port,
        Connection(HOST, port, {}, 10) as broker,
        pytest.raises(NotConnectedError, match="no answer from a broker"),
    ):
        broker.ask(77, 1, b"")


def test_without_a_broker_nothing_is_described() -> None:
    with socket.create_server((HOST, 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(NotConnectedError, match=f"cannot connect to {HOST}:{port}"):
        list(describe_groups(["queue"], {"bootstrap.servers": f"{HOST}:{port}"}, OF_SHARE))


def test_streams_groups_are_described_by_their_own_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group that is gone is a failure."""
    asked: list[int] = []

    class Answering(Connection):
        def __init__(self, *_: object) -> None:
            pass

        def __exit__(self, *_: object) -> None:
            pass

        def ask(self, api_key: int, version: int, body: bytes, *, flexible: bool = True) -> bytes:
            asked.append(api_key)
            return {FIND_COORDINATOR: COORDINATORS, STREAMS_GROUP_DESCRIBE: STREAMS_DESCRIBED}[api_key]

    monkeypatch.setattr(share_groups, "Connection", Answering)
    found = dict(describe_groups(["pricing"], {"bootstrap.servers": f"{HOST}:1"}, OF_STREAMS))
    assert asked == [FIND_COORDINATOR, STREAMS_GROUP_DESCRIBE]
    assert isinstance(found["pricing"], DescribedStreamsGroup)
    assert isinstance(found["gone"], RequestFailure)
    assert found["gone"].name == OF_ANOTHER_TYPE


def test_what_is_not_supported_is_named_without_its_value() -> None:
    with pytest.raises(NotConnectedError, match=r"sasl\.mechanism OAUTHBEARER is not supported"):
        Connection(HOST, 1, {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, 1)
    with pytest.raises(NotConnectedError, match=r"^ssl\.keystore\.password is not supported for this request$"):
        tls_context({"ssl.keystore.password": "s3cret"})
    with pytest.raises(NotConnectedError, match="the certificates cannot be read"):
        tls_context({"ssl.ca.location": str(Path("missing.pem"))})


def test_scram_is_that_of_rfc_7677() -> None:
    nonce = "rOprNGfwEbeRWgbNEkqO"
    both = f"r={nonce}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    scram = Scram("sha256", "user", "pencil", nonce)
    assert scram.first() == f"n,,n=user,r={nonce}".encode()
    final = scram.final(f"{both},s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096".encode())
    assert final == f"c=biws,{both},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=".encode()
    scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(NotConnectedError, match="does not know the password"):
        scram.verify(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G5=")
    with pytest.raises(NotConnectedError, match="not one of SCRAM"):
        Scram("sha256", "user", "pencil", "other").final(both.encode())
