"""The pages that repeat what the code says, held against it."""

from pathlib import Path

from rebalance_sim.tables import INPUTS, OUTPUTS, Table

TABLES_PAGE = Path(__file__).parents[1] / "docs" / "tables.md"


def section(table: Table) -> str:
    lines = [f"## {table.name}", "", f"One row: {table.meaning}.", "", "| column | type | meaning |", "|---|---|---|"]
    for column in table.columns:
        note = "required" if column.required else f"default: {column.default}" if column.default is not None else ""
        meaning = f"{column.meaning} ({note})" if note and table.name in INPUTS else column.meaning
        lines.append(f"| {column.name} | `{column.type.simpleString()}` | {meaning} |")
    return "\n".join(lines)


def page() -> str:
    parts = [
        "# Tables",
        "",
        "Columns that are not required may be missing: they are read as null, or as their default.",
        "",
    ]
    parts += ["# Inputs", "", *(f"{section(table)}\n" for table in INPUTS.values())]
    parts += ["# Outputs", "", *(f"{section(table)}\n" for table in OUTPUTS.values())]
    return "\n".join(parts)


def test_the_page_of_tables() -> None:
    assert TABLES_PAGE.read_text() == page()
