"""A connection to a broker, for requests that librdkafka does not send.

It takes librdkafka's properties: plain text or TLS, without authentication or with SASL/PLAIN or SASL/SCRAM.
"""

import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from base64 import b64decode, b64encode
from collections.abc import Mapping

from rebalance_sim.kafka.wire.readable import INT32, Readable, SchemaError
from rebalance_sim.kafka.wire.share_group_describe import request, response_body

_SASL_HANDSHAKE, _SASL_AUTHENTICATE, _SASL_VERSION = 17, 36, 1
_SCRAM_HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
_PLAIN = "PLAIN"
_KNOWN_TLS = {
    *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.key.location", "ssl.key.password"),
    "ssl.endpoint.identification.algorithm",
}
"""Properties about TLS that are used; any other is a reason not to connect."""


class NotConnectedError(Exception):
    """The reason why there is no answer; it contains no value of a property."""


class Connection:
    """A connection to one broker, until it is closed."""

    def __init__(self, host: str, port: int, properties: Mapping[str, str], seconds: float) -> None:
        """Connect and authenticate. Raises NotConnectedError."""
        self._client_id = properties.get("client.id", "rebalance-sim")
        protocol = properties.get("security.protocol", "plaintext").lower()
        mechanism = sasl_mechanism(properties) if protocol.startswith("sasl_") else None
        context = tls_context(properties) if protocol.endswith("ssl") else None
        try:
            self._socket = socket.create_connection((host, port), seconds)
            if context is not None:
                self._socket = context.wrap_socket(self._socket, server_hostname=host)
        except OSError as problem:
            raise NotConnectedError(f"cannot connect to {host}:{port}: {problem}") from problem
        if mechanism is not None:
            self._authenticate(mechanism, properties)

    def __enter__(self) -> "Connection":
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def ask(self, api_key: int, version: int, body: bytes, *, flexible: bool = True) -> bytes:
        """Send a request, and return the body of the answer. Raises NotConnectedError."""
        try:
            self._socket.sendall(request(api_key, version, body, self._client_id, flexible=flexible))
            (size,) = INT32.unpack(self._received(INT32.size))
            return response_body(self._received(size), flexible=flexible)
        except (OSError, SchemaError) as problem:
            raise NotConnectedError(f"no answer from a broker: {problem}") from problem

    def _received(self, size: int) -> bytes:
        parts = bytearray()
        while len(parts) < size:
            part = self._socket.recv(size - len(parts))
            if not part:
                raise ConnectionError("it closed the connection")
            parts += part
        return bytes(parts)

    def _authenticate(self, mechanism: str, properties: Mapping[str, str]) -> None:
        user, password = properties.get("sasl.username", ""), properties.get("sasl.password", "")
        name = mechanism.encode()
        answer = self.ask(_SASL_HANDSHAKE, _SASL_VERSION, struct.pack(">h", len(name)) + name, flexible=False)
        if Readable(answer, "SaslHandshake response").int16("error_code"):
            raise NotConnectedError(f"the broker does not offer {mechanism}")
        if mechanism == _PLAIN:
            self._sasl(f"\0{user}\0{password}".encode())
            return
        scram = Scram(_SCRAM_HASHES[mechanism], user, password, secrets.token_urlsafe(18))
        scram.verify(self._sasl(scram.final(self._sasl(scram.first()))))

    def _sasl(self, token: bytes) -> bytes:
        """Send a token, and return that of the broker."""
        body = struct.pack(">i", len(token)) + token
        answer = Readable(
            self.ask(_SASL_AUTHENTICATE, _SASL_VERSION, body, flexible=False), "SaslAuthenticate response"
        )
        if answer.int16("error_code"):
            raise NotConnectedError("the broker rejects user or password")
        answer.nullable_string("error_message")
        return answer.sized_bytes("auth_bytes")


class Scram:
    """The client's side of SCRAM (RFC 5802), without channel binding."""

    def __init__(self, hash_name: str, user: str, password: str, nonce: str) -> None:
        self._hash, self._password = hash_name, password.encode()
        escaped = user.replace("=", "=3D").replace(",", "=2C")
        self._bare = f"n={escaped},r={nonce}"
        self._nonce = nonce
        self._of_server = b""

    def first(self) -> bytes:
        """Return the first message."""
        return f"n,,{self._bare}".encode()

    def final(self, answer: bytes) -> bytes:
        """Return the second message, which proves the password. Raises NotConnectedError."""
        text = answer.decode()
        fields = dict(part.split("=", 1) for part in text.split(",") if "=" in part)
        if not fields.get("r", "").startswith(self._nonce) or "s" not in fields or "i" not in fields:
            raise NotConnectedError("the broker's answer is not one of SCRAM")
        salted = hashlib.pbkdf2_hmac(self._hash, self._password, b64decode(fields["s"]), int(fields["i"]))
        key = hmac.digest(salted, b"Client Key", self._hash)
        without_proof = f"c=biws,r={fields['r']}"
        signed = f"{self._bare},{text},{without_proof}".encode()
        signature = hmac.digest(hashlib.new(self._hash, key).digest(), signed, self._hash)
        server_key = hmac.digest(salted, b"Server Key", self._hash)
        self._of_server = b64encode(hmac.digest(server_key, signed, self._hash))
        proof = bytes(a ^ b for a, b in zip(key, signature, strict=True))
        return f"{without_proof},p={b64encode(proof).decode()}".encode()

    def verify(self, answer: bytes) -> None:
        """Raise NotConnectedError if the broker does not prove that it knows the password, too."""
        if not hmac.compare_digest(answer.partition(b",")[0], b"v=" + self._of_server):
            raise NotConnectedError("the broker does not know the password")


def sasl_mechanism(properties: Mapping[str, str]) -> str:
    """Return the mechanism of SASL. Raises NotConnectedError if it is another one than PLAIN and SCRAM.

    >>> sasl_mechanism({"sasl.mechanism": "SCRAM-SHA-512"})
    'SCRAM-SHA-512'
    """
    mechanism = properties.get("sasl.mechanism") or properties.get("sasl.mechanisms") or "GSSAPI"
    if mechanism not in (_PLAIN, *_SCRAM_HASHES):
        raise NotConnectedError(f"sasl.mechanism {mechanism} is not supported for this request")
    return mechanism


def tls_context(properties: Mapping[str, str]) -> ssl.SSLContext:
    """Return the settings of TLS. Raises NotConnectedError for a property, named without its value, that is unknown."""
    unknown = sorted(name for name in properties if name.startswith(("ssl.", "enable.ssl")) and name not in _KNOWN_TLS)
    if unknown:
        raise NotConnectedError(f"{unknown[0]} is not supported for this request")
    try:
        context = ssl.create_default_context(
            cafile=properties.get("ssl.ca.location"), cadata=properties.get("ssl.ca.pem")
        )
        certificate = properties.get("ssl.certificate.location")
        if certificate is not None:
            password = properties.get("ssl.key.password")
            context.load_cert_chain(certificate, properties.get("ssl.key.location"), password)
    except (OSError, ssl.SSLError, ValueError) as problem:
        raise NotConnectedError(f"the certificates cannot be read ({type(problem).__name__})") from None
    if properties.get("ssl.endpoint.identification.algorithm") == "none":
        context.check_hostname = False
    return context
