"""The table that people read: on the terminal, under benchmarks/results/, and in the README."""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from app import __version__
from benchmarks.rows import Findings, Growth, Row
from benchmarks.servers import ROOT

RESULTS = ROOT / "benchmarks" / "results"
START, END = "<!-- bench -->", "<!-- /bench -->"
PACKAGES = ("jax", "jaxlib", "numpy", "scipy", "fastapi", "uvicorn", "pydantic")


def conditions() -> dict[str, Any]:
    """When, on what kind of machine and with which versions; nothing that names the machine."""
    return {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {"gradserve": __version__} | {name: version(name) for name in PACKAGES},
    }


def duration(seconds: float | None) -> str:
    """A time in the unit that reads best."""
    if seconds is None:
        return ""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _value(row: Row, number: float) -> str:
    return duration(number) if row.unit == "s" else f"{number:.3g}"


def rows_table(rows: Sequence[Row]) -> str:
    """Every target in Markdown."""
    lines = [
        "| work | side by side with | measured | must | stretch | | ours | theirs | |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        cells = [row.work, row.against, _value(row, row.measured), f"≤ {_value(row, row.must)}"]
        cells += [_value(row, row.stretch), row.verdict(), duration(row.ours_s)]
        cells += [duration(row.theirs_s), row.note]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def growth_table(growths: Sequence[Growth]) -> str:
    """Cost by size and the exponents between sizes, in Markdown."""
    lines = ["| work | cost by size | exponent between sizes |", "|---|---|---|"]
    for growth in growths:
        cost = ", ".join(f"n = {n:,}: {duration(s)}" for n, s in sorted(growth.seconds.items()))
        exponents = ", ".join(f"{exponent:.2f}" for exponent in growth.exponents())
        lines.append(f"| {growth.work} | {cost} | {exponents} |")
    return "\n".join(lines)


def markdown(findings: Findings, made: dict[str, Any]) -> str:
    """The report of one family."""
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    parts = [
        f"Measured {made['date']} on {made['machine']}, Python {made['python']}, {versions}.",
        rows_table(findings.rows) if findings.rows else "",
        growth_table(findings.growths) if findings.growths else "",
        "\n".join(f"- {note}" for note in findings.notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write(family: str, findings: Findings, made: dict[str, Any]) -> Path:
    """Put what one family found into the record of this kind of machine; the path of its table."""
    RESULTS.mkdir(exist_ok=True)
    kind = RESULTS / f"{platform.machine()}-{os.cpu_count()}cores.json"
    record = json.loads(kind.read_text()) if kind.exists() else {}
    record[family] = {
        **made,
        "rows": [asdict(row) for row in findings.rows],
        "growths": [asdict(growth) for growth in findings.growths],
        "notes": list(findings.notes),
    }
    kind.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    table = kind.with_suffix(".md")
    table.write_text(
        "Each figure is the median of ratios of two things measured in turn in one run.\n\n"
        + "\n".join(f"## {name}\n\n{markdown(*_read(entry))}" for name, entry in record.items())
    )
    return table


def _read(entry: dict[str, Any]) -> tuple[Findings, dict[str, Any]]:
    """What was recorded of one family, as it was found, and how it was made."""
    growths = [
        Growth(growth["work"], {int(n): s for n, s in growth["seconds"].items()}, growth["unit"])
        for growth in entry["growths"]
    ]
    return Findings([Row(**row) for row in entry["rows"]], growths, entry["notes"]), entry


def readme_block(record: dict[str, Any]) -> str:
    """What the README quotes of a record."""
    lines = ["| work | side by side with | measured | target | |", "|---|---|---|---|---|"]
    for entry in record.values():
        for row in _read(entry)[0].rows:
            cells = [row.work, row.against, f"**{_value(row, row.measured)}**"]
            cells += [f"≤ {_value(row, row.must)}", row.verdict()]
            lines.append("| " + " | ".join(cells) + " |")
    last = max(record.values(), key=lambda entry: entry["date"])
    return "\n".join(
        [
            f"Measured {last['date']} on {last['machine']}, jax {last['versions']['jax']}; "
            "smaller is better.",
            "",
            *lines,
        ]
    )


def main() -> None:
    """Put the record written last into the README, between its two marks."""
    newest = max(RESULTS.glob("*.json"), key=lambda file: file.stat().st_mtime, default=None)
    if newest is None:
        sys.exit("nothing recorded yet: run make bench first")
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(START)
    _, _, after = rest.partition(END)
    block = readme_block(json.loads(newest.read_text()))
    readme.write_text(f"{before}{START}\n{block}\n{END}{after}")


if __name__ == "__main__":
    main()
