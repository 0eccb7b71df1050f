"""What the job ``partition`` tells on the console."""

from collections.abc import Callable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.summary import columns, one_line
from rebalance_sim.tables import (
    CLIENT_AGREEMENT,
    KEY_FINDINGS,
    PARTITION_GROWTH,
    PARTITION_LOAD,
    PRODUCE_REQUESTS,
    TOPICS_AT_RISK,
)

SHOWN_ROWS = 25
"""Rows of a table that are shown, those first where most is to be seen."""


def shown_key(key: bytes | None) -> str:
    r"""Show a key as text if it is text, else in hexadecimal digits.

    >>> [shown_key(key) for key in (b"TT0124", b"\xff\x00", b"", None)]
    ['TT0124', '0xff00', '(empty)', '(null)']
    """
    if not key:
        return "(null)" if key is None else "(empty)"
    try:
        text = bytes(key).decode()
    except UnicodeDecodeError:
        text = ""
    return text if text.isprintable() and text else f"0x{bytes(key).hex()}"


def summarise_partitions(tables: Mapping[str, DataFrame]) -> list[str]:
    """What each table says first: the hottest partitions, what is odd about keys, what moves, who disagrees."""
    lines = _loads(tables[PARTITION_LOAD.name])
    for name, told in _TOLD.items():
        lines += told(tables[name]) if name in tables else []
    return lines


def _loads(loads: DataFrame) -> list[str]:
    """The hottest partition of each topic, and the heaviest key in it; the most uneven topics first."""
    hottest = F.struct("partition", "share", "records", "heaviest_keys")
    by_topic = loads.groupBy("client", "cluster", "topic").agg(
        F.count("*").alias("partitions"),
        F.sum("records").alias("records"),
        F.sum("bytes").alias("bytes"),
        F.count_if(F.col("records") == 0).alias("idle"),
        F.max("imbalance").alias("imbalance"),
        F.max_by(hottest, F.struct("imbalance", -F.col("partition"))).alias("hottest"),
    )
    rows = _first(by_topic, F.desc("imbalance"), "cluster", "topic", "client")
    cells = [
        (
            row["client"],
            row["topic"],
            *(f"{row[name]:,}" for name in ("partitions", "records", "bytes", "idle")),
            f"{row['hottest']['partition']} with {percent(row['hottest']['share'])}",
            _times(row["imbalance"]),
            _heaviest(row["hottest"]),
        )
        for row in rows
    ]
    header = (
        "client",
        "topic",
        "partitions",
        "records",
        "bytes",
        "idle",
        "hottest partition",
        "times an even share",
        "its heaviest key",
    )
    return _table("load of the partitions", header, cells)


def percent(share: float | None) -> str:
    """Write a share.

    >>> percent(0.5083)
    '50.8 %'
    """
    return "-" if share is None else f"{100 * share:.1f} %"


def _heaviest(partition: Row) -> str:
    if not partition["heaviest_keys"]:
        return "-"
    first = partition["heaviest_keys"][0]
    return f"{shown_key(first['key'])}: {first['records']:,} of {partition['records']:,} records"


def _findings(findings: DataFrame) -> list[str]:
    rows = _first(findings, F.desc("records"), "cluster", "topic", "client", "finding")
    lines = [f"  {one_line(row['topic'], 40)}: {one_line(_with_key(row), 110)}" for row in rows]
    return _under("odd about the keys", lines)


def _with_key(finding: Row) -> str:
    return finding["told"] if finding["key"] is None else f"{finding['told']}: {shown_key(finding['key'])}"


def _growth(growth: DataFrame) -> list[str]:
    """What moves, most first."""
    rows = _first(growth, F.desc("bytes_moved"), F.desc("records_moved"), "cluster", "topic", "client")
    cells = [
        (
            row["client"],
            row["topic"],
            f"{row['partitions']:,} to {row['partitions_after']:,}",
            *(_moved(row, name) for name in ("keys", "records", "bytes")),
            f"{row['records_gone']:,}",
            f"{_times(row['imbalance'])} to {_times(row['imbalance_after'])}",
        )
        for row in rows
    ]
    header = ("client", "topic", "partitions", "keys move", "records move", "bytes move", "gone", "times an even share")
    return _table("what would move to another partition", header, cells)


def _moved(row: Row, name: str) -> str:
    return f"{row[f'{name}_moved']:,} of {row[name]:,} ({percent(row[f'{name}_moved_share'])})"


def _times(imbalance: float | None) -> str:
    return "-" if imbalance is None else f"{imbalance:.2f}"


def _agreement(agreement: DataFrame) -> list[str]:
    """Where they agree least, first."""
    rows = _first(agreement, "keys_agreed_share", "cluster", "topic", "client", "other_client")
    cells = [
        (
            row["topic"],
            f"{row['client']}, {row['other_client']}",
            f"{row['keys_agreed']:,} of {row['keys']:,} ({percent(row['keys_agreed_share'])})",
            f"{row['records_agreed']:,} of {row['records']:,} ({percent(row['records_agreed_share'])})",
            _parted(row["examples"][0]) if row["examples"] else "-",
        )
        for row in rows
    ]
    header = ("topic", "clients", "keys that they agree on", "records", "a key that parts")
    return _table("where two clients agree", header, cells)


def _parted(example: Row) -> str:
    places = (_place(example["partition"]), _place(example["other_partition"]))
    return f"{shown_key(example['key'])}: {places[0]}, {places[1]}"


def _place(partition: int | None) -> str:
    return "anywhere" if partition is None else str(partition)


def _at_risk(at_risk: DataFrame) -> list[str]:
    """Where the most records have parted, first."""
    rows = _first(at_risk, F.desc("records_parted"), F.desc("keys_parting"), "cluster", "topic")
    cells = [
        (
            row["topic"],
            ", ".join(row["clients"]),
            f"{row['keys_parting']:,} of {row['keys']:,}",
            f"{row['keys_parted']:,} of {row['keys_shared']:,}",
            f"{row['records_parted']:,}",
            _parted_by_client(row["examples"][0]),
        )
        for row in rows
    ]
    header = ("topic", "clients", "keys that would part", "of shared keys parted", "their records", "a key that parts")
    return _table("topics at risk: their producers are of clients that place keys differently", header, cells)


def _parted_by_client(example: Row) -> str:
    places = ", ".join(f"{place['client']} {_place(place['partition'])}" for place in example["partitions"])
    return f"{shown_key(example['key'])}: {places}"


def _first(rows: DataFrame, *order: Column | str) -> list[Row]:
    return rows.orderBy(*order).limit(SHOWN_ROWS + 1).collect()


def _table(title: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    head, *lines = columns(header, cells)
    return _under(title, lines, head)


def _under(title: str, lines: Sequence[str], *head: str) -> list[str]:
    """Show at most so many lines, and tell if there are more; nothing if there is none."""
    if not lines:
        return []
    more = f"; the first {SHOWN_ROWS} of more" if len(lines) > SHOWN_ROWS else ""
    return ["", f"{title}{more}", *head, *lines[:SHOWN_ROWS]]


def _requests(requests: DataFrame) -> list[str]:
    rows = _first(requests, F.desc("batches"), "cluster", "client")
    cells = [
        (
            row["client"],
            *(f"{row[name]:,}" for name in ("producers", "records", "batches")),
            *(f"{row[name]:,.1f}" for name in ("records_a_batch", "bytes_a_batch")),
            "-" if row["waited_ms"] is None else f"{row['waited_ms']:,.1f}",
            f"{row['requests_least']:,} to {row['requests_most']:,}",
            f"{row['unsent']:,}",
        )
        for row in rows
    ]
    header = (
        "client",
        "producers",
        "records",
        "batches",
        "records each",
        "bytes each",
        "ms until sent",
        "requests",
        "records never sent",
    )
    return _table("batches of the producers", header, cells)


_TOLD: dict[str, Callable[[DataFrame], list[str]]] = {
    PRODUCE_REQUESTS.name: _requests,
    KEY_FINDINGS.name: _findings,
    TOPICS_AT_RISK.name: _at_risk,
    PARTITION_GROWTH.name: _growth,
    CLIENT_AGREEMENT.name: _agreement,
}
"""How tables that may be there are told, in this order."""
