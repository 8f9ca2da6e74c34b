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
    """The whole report."""
    versions = ", ".join(f"{name} {number}" for name, number in made["versions"].items())
    parts = [
        f"Measured {made['date']} on {made['machine']}, Python {made['python']}, {versions}.",
        "Each figure is the median of ratios of two things measured in turn in one run.",
        rows_table(findings.rows),
        growth_table(findings.growths),
        "\n".join(f"- {note}" for note in findings.notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def write(findings: Findings, made: dict[str, Any]) -> Path:
    """Write the JSON and the Markdown; the path of the latter."""
    RESULTS.mkdir(exist_ok=True)
    stem = f"{made['date']}-{platform.machine()}-{os.cpu_count()}cores"
    record = {
        **made,
        "rows": [{**asdict(row), "verdict": row.verdict()} for row in findings.rows],
        "growths": [{**asdict(g), "exponents": g.exponents()} for g in findings.growths],
        "notes": list(findings.notes),
    }
    (RESULTS / f"{stem}.json").write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n")
    path = RESULTS / f"{stem}.md"
    path.write_text(markdown(findings, made))
    return path


def readme_block(record: dict[str, Any]) -> str:
    """What the README quotes of a recorded run."""
    lines = ["| work | side by side with | measured | target | |", "|---|---|---|---|---|"]
    for fields in record["rows"]:
        verdict = fields.pop("verdict")
        row = Row(**fields)
        cells = [row.work, row.against, f"**{_value(row, row.measured)}**"]
        lines.append("| " + " | ".join([*cells, f"≤ {_value(row, row.must)}", verdict]) + " |")
    return "\n".join(
        [
            f"Measured {record['date']} on {record['machine']}, jax {record['versions']['jax']}; "
            "smaller is better.",
            "",
            *lines,
        ]
    )


def main() -> None:
    """Put the newest recorded run into the README, between its two marks."""
    newest = max(RESULTS.glob("*.json"), default=None)
    if newest is None:
        sys.exit("nothing recorded yet: run make bench first")
    readme = ROOT / "README.md"
    before, _, rest = readme.read_text().partition(START)
    _, _, after = rest.partition(END)
    block = readme_block(json.loads(newest.read_text()))
    readme.write_text(f"{before}{START}\n{block}\n{END}{after}")


if __name__ == "__main__":
    main()
