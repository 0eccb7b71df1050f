"""The console output of ``partition``."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.console import Cells, Line, Table
from rebalance_sim.tables import (
    CLIENT_AGREEMENT,
    CONFLICTING_KEYS,
    KEY_FINDINGS,
    MOVED_KEYS,
    PARTITION_GROWTH,
    PARTITION_LOAD,
    PRODUCE_REQUESTS,
    TOPICS_AT_RISK,
)
from rebalance_sim.wording import key_text

SHOWN_ROWS = 25
"""Number of rows shown of a table, the most important first."""
SHOWN_KEYS = 10
"""Number of rows shown of a table of keys."""


def shown_key(key: bytes | None) -> str:
    r"""Format a key as ``key_text`` does, or say that there is none.

    >>> [shown_key(key) for key in (b"TT0124", b"\xff\x00", b"", None)]
    ['TT0124', '0xff00', '(empty)', '(null)']
    """
    if not key:
        return "(null)" if key is None else "(empty)"
    return key_text(key)


_KEY: Cells = {"key": lambda row: shown_key(row["key"])}
"""How keys are shown in tables."""


def summarise_partitions(tables: Mapping[str, DataFrame]) -> list[Line]:
    """Return the console output: the first rows of each table, with a title."""
    lines = _loads(tables[PARTITION_LOAD.name])
    for name, summarise in _SUMMARIES.items():
        lines += summarise(tables[name]) if name in tables else []
    return lines


def _loads(loads: DataFrame) -> list[Line]:
    """Show the hottest partition of each topic and its heaviest key, the most imbalanced topics first."""
    figures = (
        "count(*) AS partitions",
        "sum(records) AS records",
        "sum(bytes) AS bytes",
        "count_if(records = 0) AS idle",
        "max(imbalance) AS imbalance",
        "max_by(struct(partition, share, records, heaviest_keys), struct(imbalance, -partition)) AS hottest",
    )
    by_topic = loads.groupBy("client", "cluster", "topic").agg(*map(F.expr, figures))
    rows = _first(by_topic, F.desc("imbalance"), "cluster", "topic", "client")
    header = (
        *("client", "topic", "partitions", "records", "bytes", "idle"),
        *("hottest partition", "x average", "heaviest key there"),
    )
    cells: Cells = {
        "hottest partition": lambda row: f"{row['hottest']['partition']} ({percent(row['hottest']['share'])})",
        "x average": "imbalance",
        "heaviest key there": lambda row: _heaviest(row["hottest"]),
    }
    return _table("partition load, most imbalanced topics first", header, rows, cells)


def percent(share: float | None) -> str:
    """Format a share.

    >>> percent(0.5083)
    '50.8 %'
    """
    return "-" if share is None else f"{100 * share:.1f} %"


def _heaviest(partition: Row) -> str:
    if not partition["heaviest_keys"]:
        return "-"
    first = partition["heaviest_keys"][0]
    return f"{shown_key(first['key'])}: {first['records']:,} of {partition['records']:,} records"


def _findings(findings: DataFrame) -> list[Line]:
    rows = _first(findings, F.desc("records"), "cluster", "topic", "client", "finding")
    return _table("findings about keys", ("topic", "finding"), rows, {"finding": _with_key})


def _with_key(finding: Row) -> str:
    return (
        finding["description"] if finding["key"] is None else f"{finding['description']}: {shown_key(finding['key'])}"
    )


def _growth(growth: DataFrame) -> list[Line]:
    """Show what moves, most bytes first."""
    rows = _first(growth, F.desc("bytes_moved"), F.desc("records_moved"), "cluster", "topic", "client")
    header = (
        *("client", "topic", "partitions", "keys moved", "records moved", "bytes moved"),
        *("out of range", "x average"),
    )
    cells: Cells = {
        "partitions": lambda row: f"{row['partitions']:,} to {row['partitions_after']:,}",
        "keys moved": lambda row: _moved(row, "keys"),
        "records moved": lambda row: _moved(row, "records"),
        "bytes moved": lambda row: _moved(row, "bytes"),
        "out of range": "records_out_of_range",
        "x average": lambda row: f"{_times(row['imbalance'])} to {_times(row['imbalance_after'])}",
    }
    return _table("keys that move if topics grow", header, rows, cells)


def _moved_keys(moved: DataFrame) -> list[Line]:
    """Show the keys that move, most records first."""
    rows = _first(moved, F.desc("records"), "cluster", "topic", "client", "key", number=SHOWN_KEYS)
    header = ("client", "topic", "key", "records", "from partition", "to partition")
    cells = _KEY | {"from partition": "partition", "to partition": "partition_after"}
    return _table("keys that move, most records first", header, rows, cells, SHOWN_KEYS)


def _moved(row: Row, name: str) -> str:
    return f"{row[f'{name}_moved']:,} of {row[name]:,} ({percent(row[f'{name}_moved_share'])})"


def _times(imbalance: float | None) -> str:
    return "-" if imbalance is None else f"{imbalance:.2f}"


def _agreement(agreement: DataFrame) -> list[Line]:
    """Show how far each two clients agree, the least first."""
    rows = _first(agreement, "keys_agreed_share", "cluster", "topic", "client", "other_client")
    header = ("topic", "clients", "keys in same partition", "records", "example of a conflict")
    cells: Cells = {
        "clients": _clients,
        "keys in same partition": lambda row: _agreed(row, "keys"),
        "records": lambda row: _agreed(row, "records"),
        "example of a conflict": lambda row: _two_partitions(row["examples"][0]) if row["examples"] else "-",
    }
    return _table("agreement between clients, least first", header, rows, cells)


def _clients(row: Row) -> str:
    return f"{row['client']}, {row['other_client']}"


def _agreed(row: Row, name: str) -> str:
    return f"{row[f'{name}_agreed']:,} of {row[name]:,} ({percent(row[f'{name}_agreed_share'])})"


def _conflicts(conflicts: DataFrame) -> list[Line]:
    """Show the keys that two clients place differently, most records first."""
    order = ("cluster", "topic", "key", "client", "other_client")
    rows = _first(conflicts, F.desc("records"), *order, number=SHOWN_KEYS)
    header = ("topic", "clients", "key", "records", "partitions")
    cells = _KEY | {"clients": _clients, "partitions": _places}
    return _table("keys placed differently, most records first", header, rows, cells, SHOWN_KEYS)


def _two_partitions(example: Row) -> str:
    return f"{shown_key(example['key'])}: {_places(example)}"


def _places(row: Row) -> str:
    return f"{_place(row['partition'])}, {_place(row['other_partition'])}"


def _place(partition: int | None) -> str:
    return "any" if partition is None else str(partition)


def _at_risk(at_risk: DataFrame) -> list[Line]:
    """Show the topics whose writers place keys differently, the most affected records first."""
    rows = _first(at_risk, F.desc("records_split"), F.desc("keys_conflicting"), "cluster", "topic")
    header = ("topic", "clients", "conflicting keys", "shared keys split", "records split", "example")
    cells: Cells = {
        "clients": lambda row: ", ".join(row["clients"]),
        "conflicting keys": lambda row: f"{row['keys_conflicting']:,} of {row['keys']:,}",
        "shared keys split": lambda row: f"{row['keys_split']:,} of {row['keys_shared']:,}",
        "example": lambda row: _partitions_by_client(row["examples"][0]),
    }
    return _table("topics at risk: clients that write them place keys differently", header, rows, cells)


def _partitions_by_client(example: Row) -> str:
    places = ", ".join(f"{place['client']} {_place(place['partition'])}" for place in example["partitions"])
    return f"{shown_key(example['key'])}: {places}"


def _first(rows: DataFrame, *order: Column | str, number: int = SHOWN_ROWS) -> list[Row]:
    return rows.orderBy(*order).limit(number + 1).collect()


def _table(
    title: str, header: Sequence[str], rows: Sequence[Row], cells: Cells, number: int = SHOWN_ROWS
) -> list[Line]:
    """Return a title and a table of the first rows; nothing if there are no rows."""
    if not rows:
        return []
    more = f" (first {number} rows)" if len(rows) > number else ""
    return ["", f"{title}{more}", Table.of_rows(header, rows[:number], cells)]


def _requests(requests: DataFrame) -> list[Line]:
    rows = _first(requests, F.desc("batches"), "cluster", "client")
    header = (
        *("client", "producers", "records", "batches", "records per batch: mean, p99, max"),
        *("bytes per batch: mean, p99, max", "wait (ms): mean, p99, max", "requests", "records not sent"),
    )
    cells: Cells = {
        "records per batch: mean, p99, max": lambda row: _spread(row, "records_per_batch"),
        "bytes per batch: mean, p99, max": lambda row: _spread(row, "bytes_per_batch"),
        "wait (ms): mean, p99, max": lambda row: _spread(row, "waited_ms"),
        "requests": lambda row: f"{row['min_requests']:,} to {row['max_requests']:,}",
        "records not sent": "unsent",
    }
    return _table("producer batches", header, rows, cells)


def _spread(row: Row, name: str) -> str:
    """Return the mean, the 99th percentile and the maximum of a figure of the batches."""
    if row[name] is None:
        return "-"
    return f"{row[name]:,.2f}, {row[f'p99_{name}']:,}, {row[f'max_{name}']:,}"


_SUMMARIES: dict[str, Callable[[DataFrame], list[Line]]] = {
    PRODUCE_REQUESTS.name: _requests,
    KEY_FINDINGS.name: _findings,
    TOPICS_AT_RISK.name: _at_risk,
    PARTITION_GROWTH.name: _growth,
    MOVED_KEYS.name: _moved_keys,
    CLIENT_AGREEMENT.name: _agreement,
    CONFLICTING_KEYS.name: _conflicts,
}
"""How optional tables are shown, in this order."""
