"""Read what the owner of a cluster states about its clients: files like ``docs/examples/clients.yaml``."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType
from msgspec.structs import asdict
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rebalance_sim.kafka.clients import LIBRARIES
from rebalance_sim.kafka.clients.stated import ANY, StatedClient, StatedClients
from rebalance_sim.sources.yaml_checks import read_as
from rebalance_sim.sources.yaml_files import read_yaml

Text = Annotated[str, Meta(min_length=1)]
_Seconds = Annotated[float, Meta(ge=0, le=86_400)]
_Release = Annotated[str, Meta(pattern=r"^\d+(\.\d+)*\S*$", description="a release such as 3.9.1, in quotes")]


class ClientEntry(Struct, frozen=True, forbid_unknown_fields=True):
    """A statement about the members whose group and client id match."""

    group: Text = ANY
    client_id: Text = ANY
    library: Literal[tuple(LIBRARIES)] | UnsetType = UNSET  # type: ignore[valid-type]
    release: _Release | UnsetType = UNSET
    protocols: Annotated[tuple[Text, ...], Meta(min_length=1)] | UnsetType = UNSET
    start_seconds: _Seconds | UnsetType = UNSET
    revoke_seconds: _Seconds | UnsetType = UNSET
    team: Text | UnsetType = UNSET
    weight: Annotated[int, Meta(ge=0, le=1000)] | UnsetType = UNSET

    def stated(self) -> StatedClient:
        """Return the entry, with times in milliseconds."""
        given = {name: value for name, value in asdict(self).items() if value is not UNSET}
        for name in ("start", "revoke"):
            seconds = given.pop(f"{name}_seconds", None)
            given[f"{name}_ms"] = None if seconds is None else round(1000 * seconds)
        return StatedClient(**given)


class ClientsFile(Struct, frozen=True, forbid_unknown_fields=True):
    """The file."""

    clients: Annotated[tuple[ClientEntry, ...], Meta(min_length=1)]


def unused_entries(clients: StatedClients, members: DataFrame) -> list[str]:
    """Return a sentence for each entry that matches none of the members."""
    if not clients.entries:
        return []
    expressions = [entry.expressions for entry in clients.entries]
    client_id = F.coalesce("client_id", F.lit(""))
    matches = [F.max(F.col("group_id").rlike(group) & client_id.rlike(client)) for group, client in expressions]
    used = members.agg(*matches).head() or ()
    return [
        f"entry {number} of the clients file matches no member: group {entry.group!r}, client_id {entry.client_id!r}"
        for number, (entry, is_used) in enumerate(zip(clients.entries, used, strict=True), 1)
        if not is_used
    ]


def read_clients(path: str) -> StatedClients:
    """Read a file; without a path, return nothing. Raises UserError for a file that cannot be read, or a mistake in it.

    >>> read_clients("docs/examples/clients.yaml").of("billing-eu", "billing-1").team
    'payments'
    """
    if not path:
        return StatedClients()
    return StatedClients(tuple(entry.stated() for entry in read_as(read_yaml(path), ClientsFile).clients))
