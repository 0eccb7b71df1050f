"""What the job ``partition`` tells on the console."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from rebalance_sim.commands.summary import columns

SHOWN_TOPICS = 25
"""Topics that are shown, those first where most is to be seen."""


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


def summarise_loads(loads: DataFrame) -> list[str]:
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
    rows = by_topic.orderBy(F.desc("imbalance"), "cluster", "topic", "client").limit(SHOWN_TOPICS + 1).collect()
    cells = [
        (
            row["client"],
            row["topic"],
            *(f"{row[name]:,}" for name in ("partitions", "records", "bytes", "idle")),
            f"{row['hottest']['partition']} with {percent(row['hottest']['share'])}",
            f"{row['imbalance']:.2f}",
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


def _table(title: str, header: Sequence[str], cells: Sequence[Sequence[str]]) -> list[str]:
    """Lay out at most so many rows as are shown, and tell if there are more."""
    if not cells:
        return []
    more = f"; the first {SHOWN_TOPICS} of more" if len(cells) > SHOWN_TOPICS else ""
    return ["", f"{title}{more}", *columns(header, cells[:SHOWN_TOPICS])]
