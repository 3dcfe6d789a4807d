"""Every engine, imported in every order in one process, solves a known model right."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations

import pytest

from schedopt.verbs.doctor import ENGINES, examine

KNAPSACK = """
def highspy_():
    h = highspy.Highs(); h.silent()
    a, b, c = (h.addBinary() for _ in range(3))
    h.addConstr(3 * a + 3 * b + c <= 4); h.maximize(5 * a + 3 * b + c)
    return h.getObjectiveValue()
def ortools_():
    from ortools.sat.python import cp_model
    m = cp_model.CpModel(); a, b, c = (m.new_bool_var(n) for n in "abc")
    m.add(3 * a + 3 * b + c <= 4); m.maximize(5 * a + 3 * b + c)
    s = cp_model.CpSolver(); s.parameters.num_workers = 1; s.solve(m)
    return s.objective_value
def cvxpy_():
    x = cvxpy.Variable(nonneg=True)
    return cvxpy.Problem(cvxpy.Maximize(2 * cvxpy.sqrt(3 * x)), [x <= 3]).solve(solver="CLARABEL")
for engine in (highspy_, ortools_, cvxpy_):
    assert abs(engine() - 6) < 1e-5, engine
print("well")
"""


@pytest.mark.parametrize("order", list(permutations(["highspy", "ortools", "cvxpy"])), ids="-".join)
def test_engines_live_together_in_every_order(order: tuple[str, ...]) -> None:
    head = "".join(f"import {name}\n" for name in order)
    head = head.replace("import ortools\n", "import ortools.sat.python.cp_model, ortools\n")
    done = subprocess.run(
        [sys.executable, "-c", head + KNAPSACK], capture_output=True, text=True, check=False
    )
    assert done.stdout.strip() == "well", done.stderr


def test_doctor_finds_every_engine_well() -> None:
    findings = {finding.name: finding for finding in examine()}
    assert all(finding.ok for finding in findings.values())
    assert {f"engine {name}" for name in ENGINES} <= findings.keys()


def test_doctor_says_what_is_ill(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken() -> float:
        raise ImportError("no such engine")

    monkeypatch.setitem(ENGINES, "highs", broken)
    monkeypatch.setitem(ENGINES, "core", lambda: 5.0)
    findings = {finding.name: finding for finding in examine()}
    assert not findings["engine highs"].ok
    assert "no such engine" in findings["engine highs"].detail
    assert not findings["engine core"].ok
