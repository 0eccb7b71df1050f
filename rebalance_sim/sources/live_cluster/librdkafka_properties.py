"""Translate a Java client's configuration for librdkafka, on which confluent-kafka is built."""

import re
from collections.abc import Iterable, Mapping
from importlib.util import find_spec

from rebalance_sim.errors import UserError

_WHERE = "--command-config"
_JAAS_CONFIG = "sasl.jaas.config"
_JAAS_MODULES = {
    "org.apache.kafka.common.security.plain.PlainLoginModule",
    "org.apache.kafka.common.security.scram.ScramLoginModule",
}
_JAAS_ENTRY = re.compile(r"\s*([\w.$]+)\s+(?:required|requisite|sufficient|optional)\b(.*?);?\s*", re.DOTALL | re.I)
_JAAS_OPTION = re.compile(r"""([\w.$-]+)\s*=\s*(?:"((?:\\.|[^"\\])*)"|'((?:\\.|[^'\\])*)'|([^\s;"']+))""", re.DOTALL)
_JAAS_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_PEM = "PEM"
# Java's default type of a store is JKS. librdkafka reads no truststores, and keystores in PKCS#12 only.
_TRUSTSTORE, _KEYSTORE = "ssl.truststore", "ssl.keystore"
_RENAMED = {
    "ssl.truststore.certificates": ("ssl.ca.pem",),
    "ssl.keystore.certificate.chain": ("ssl.certificate.pem",),
    "ssl.keystore.key": ("ssl.key.pem",),
    # In librdkafka, request.timeout.ms is a property of producers.
    "request.timeout.ms": ("socket.timeout.ms",),
}
_SECRET = re.compile(r"password|secret|jaas|token|\.pem$|keystore\.key$|oauthbearer", re.I)
_LIBRDKAFKAS_OWN = {
    *("sasl.username", "sasl.password", "sasl.mechanisms", "ssl.ca.location", "ssl.ca.pem"),
    *("ssl.certificate.location", "ssl.certificate.pem", "ssl.key.location", "ssl.key.pem"),
}


def check_installed() -> None:
    """Raise UserError if the library that reads live clusters is missing."""
    if find_spec("confluent_kafka") is None:
        raise UserError(
            "--bootstrap-servers needs confluent-kafka, which is not installed: pip install rebalance-sim[live]"
        )


def librdkafka_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Translate a Java client's properties; those with the same name in librdkafka are kept.

    Raises UserError, which names the property but not its value, for a property that cannot be translated. Names that
    librdkafka does not know are rejected by librdkafka itself: see ``config_problem``.

    >>> librdkafka_properties({"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem"})
    {'ssl.ca.location': 'ca.pem'}
    """
    remaining = dict(properties)
    translated = _credentials(remaining.pop(_JAAS_CONFIG, None)) | _truststore(remaining) | _keystore(remaining)
    for name, value in remaining.items():
        for renamed in _RENAMED.get(name, (name,)):
            translated[renamed] = value
    if translated.get("ssl.endpoint.identification.algorithm") == "":
        translated["ssl.endpoint.identification.algorithm"] = "none"
    return translated


def java_properties(properties: Mapping[str, str]) -> dict[str, str]:
    """Return a configuration for a Java client. Raises UserError for a name that only librdkafka has."""
    for name in properties:
        if name in _LIBRDKAFKAS_OWN:
            raise UserError(
                f"{_WHERE}: {name!r} is a property of librdkafka; records are read with Kafka's Java client, whose "
                f"properties are {_JAAS_CONFIG}, sasl.mechanism, ssl.truststore.*, ssl.keystore.*"
            )
    return dict(properties)


def config_problem(message: str, properties: Iterable[str]) -> UserError:
    """Return an error that names the property librdkafka rejected, without any value: some are secrets.

    >>> print(config_problem('No such configuration property: "retries.ms"', ["retries.ms"]))
    --command-config: 'retries.ms' is unknown to librdkafka, which reads the cluster
    """
    unknown = re.search(r'No such configuration property: "([^"]*)"', message)
    if unknown:
        return UserError(f"{_WHERE}: {unknown[1]!r} is unknown to librdkafka, which reads the cluster")
    # The longest name, because one name may be part of another.
    named = max((name for name in properties if name in message), key=len, default=None)
    if named is None:
        what = re.search(r"Unsupported SASL mechanism|No provider for SASL mechanism", message)
        return UserError(f"{_WHERE}: librdkafka rejects the configuration" + (f": {what[0]}" if what else ""))
    return UserError(f"{_WHERE}: librdkafka rejects the value of {named!r}")


def without_secrets(text: str, properties: Mapping[str, str]) -> str:
    """Remove the values of passwords and keys from a text.

    >>> without_secrets("password s3cret is wrong", {"sasl.password": "s3cret"})
    'password … is wrong'
    """
    for name, value in properties.items():
        if value and _SECRET.search(name):
            text = text.replace(value, "…")
    return text


def _credentials(jaas: str | None) -> dict[str, str]:
    """Return user and password from the login module of SASL/PLAIN or SASL/SCRAM."""
    if jaas is None:
        return {}
    entry = _JAAS_ENTRY.fullmatch(jaas)
    if entry is None:
        raise UserError(f'{_WHERE}: {_JAAS_CONFIG}: expected \'MODULE required username="..." password="...";\'')
    if entry[1] not in _JAAS_MODULES:
        allowed = ", ".join(sorted(_JAAS_MODULES))
        raise UserError(f"{_WHERE}: {_JAAS_CONFIG}: module {entry[1]} is not supported; allowed: {allowed}")
    options = {found[1]: _jaas_value(found) for found in _JAAS_OPTION.finditer(entry[2])}
    for name in ("username", "password"):
        if name not in options:
            raise UserError(f"{_WHERE}: {_JAAS_CONFIG}: {name} is missing")
    return {"sasl.username": options["username"], "sasl.password": options["password"]}


def _jaas_value(option: re.Match[str]) -> str:
    quoted = option[2] if option[2] is not None else option[3]
    return option[4] if quoted is None else _JAAS_ESCAPE.sub(r"\1", quoted)


def _truststore(given: dict[str, str]) -> dict[str, str]:
    kind, location = given.pop(f"{_TRUSTSTORE}.type", "JKS"), given.pop(f"{_TRUSTSTORE}.location", None)
    given.pop(f"{_TRUSTSTORE}.password", None)
    if location is None:
        return {}
    if kind.upper() != _PEM:
        raise UserError(
            f"{_WHERE}: {_TRUSTSTORE}.location: librdkafka reads no truststore of type {kind}; allowed: a file of "
            f"certificates with {_TRUSTSTORE}.type={_PEM}, or ssl.ca.location"
        )
    return {"ssl.ca.location": location}


def _keystore(given: dict[str, str]) -> dict[str, str]:
    kind, location = given.pop(f"{_KEYSTORE}.type", "PKCS12").upper(), given.get(f"{_KEYSTORE}.location")
    if location is None or kind == "PKCS12":
        return {}
    if kind != _PEM:
        raise UserError(
            f"{_WHERE}: {_KEYSTORE}.location: librdkafka reads no keystore of type {kind}; allowed: PKCS12, {_PEM}"
        )
    del given[f"{_KEYSTORE}.location"]
    # A PEM keystore contains both the private key and its certificate chain.
    return {"ssl.certificate.location": location, "ssl.key.location": location}
