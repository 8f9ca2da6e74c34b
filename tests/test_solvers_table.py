"""docs/solvers-table.md holds every problem of the tests, and counts that still hold."""

from __future__ import annotations

import re

from tests.compute.solvers import problems_hs, problems_mgh
from tests.compute.solvers.solving import solve
from tests.serving import ROOT

ROW = re.compile(r"^\| (\d+[^|]*) \| (\d+) \| (.*) \|$", re.MULTILINE)


def test_every_problem_has_its_row() -> None:
    rows = ROW.findall((ROOT / "docs" / "solvers-table.md").read_text())
    problems = [*problems_mgh.PROBLEMS, *problems_hs.PROBLEMS]
    assert [int(name.split()[0]) for name, _, _ in rows] == [each.number for each in problems]
    assert [int(n) for _, n, _ in rows] == [len(each.start) for each in problems]


def test_a_row_is_what_is_counted_today() -> None:
    rows = ROW.findall((ROOT / "docs" / "solvers-table.md").read_text())
    at = next(i for i, each in enumerate(problems_mgh.PROBLEMS) if each.number == 12)
    problem, written = problems_mgh.PROBLEMS[at], rows[at][2].split(" | ")
    found = solve("least_squares", problem.source, [problem.start])
    assert found["value"] < 1e-20
    assert int(written[3]) == found["statistics"]["evaluations"]
