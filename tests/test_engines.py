"""Every engine, imported in every order in one process, solves a known model right."""

import sys
from itertools import permutations, product
from random import Random
from typing import Any

import highspy
import numpy as np
import pytest
from builders.cli import process
from msgspec import structs
from ortools.sat.python import cp_model

from schedopt.problems import problem
from schedopt.verbs import doctor as examining
from schedopt.verbs.doctor import doctor
from schedopt.verbs.solve import solve

SOLVED = """
import schedopt
for name, solver in (("two-shots", "highs"), ("fig8", "cp-sat"), ("twins", "clarabel")):
    assert schedopt.solve(f"example:{name}", solver=solver).proven, name
print("well")
"""


ORDERS = list(permutations(["highspy", "ortools", "cvxpy"]))


@pytest.mark.parametrize(  # in two of them any stands once before any other
    "order",
    [
        pytest.param(order, marks=() if order in (ORDERS[0], ORDERS[-1]) else pytest.mark.slow)
        for order in ORDERS
    ],
    ids="-".join,
)
def test_engines_live_together_in_every_order(order: tuple[str, ...]) -> None:
    head = "".join(f"import {name}\n" for name in order)
    head = head.replace("import ortools\n", "import ortools.sat.python.cp_model, ortools\n")
    assert process(sys.executable, "-c", head + SOLVED).stdout.strip() == "well"


def test_doctor_finds_every_engine_well() -> None:
    findings = {finding.name: finding for finding in doctor()}
    assert False not in [finding.ok for finding in findings.values()]
    tried = {name.split(" ")[1] for name in findings if name.startswith("engine ")}
    assert tried >= {"core", "highs", "scip", "cp-sat", "clarabel", "model"}


def test_doctor_says_what_is_ill(monkeypatch: pytest.MonkeyPatch) -> None:

    def ill(tiny: Any, *, solver: str, **how: Any) -> Any:
        if solver == "highs":
            raise ImportError("no such engine")
        found = solve(tiny, solver=solver, **how)
        return structs.replace(found, objective=5.0) if solver == "tree" else found

    monkeypatch.setattr(examining, "problems", lambda: [problem("dssp")])
    monkeypatch.setattr(examining, "solve", ill)
    findings = {finding.name: finding for finding in doctor()}
    assert "no such engine" in findings["engine highs of selection"].detail
    bad = {name.split(" of ")[0] for name, found in findings.items() if found.ok is False}
    assert bad >= {"engine highs", "engine tree"}  # and who solves by HiGHS, or as it does


Rows = list[tuple[float, float, dict[int, float]]]


def least_by_highs(costs: list[float], upper: list[float], whole: set[int], rows: Rows) -> float:
    engine = highspy.Highs()
    engine.silent()
    for j, (cost, most) in enumerate(zip(costs, upper, strict=True)):
        engine.addVar(0.0, most)
        engine.changeColCost(j, cost)
        if j in whole:
            engine.changeColIntegrality(j, highspy.HighsVarType.kInteger)
    for low, high, body in rows:
        columns, numbers = np.array(list(body), dtype=np.int32), np.array(list(body.values()))
        engine.addRow(low, high, len(body), columns, numbers)
    engine.run()
    return float(engine.getObjectiveValue())


INF = highspy.kHighsInf


@pytest.mark.parametrize(
    ("costs", "upper", "whole", "rows", "least"),
    [
        pytest.param(
            [2.0, 3.0], [10.0, 10.0], {1}, [(4.5, INF, {0: 1.0, 1: 1.0})], 9.0, id="HiGHS-2957"
        ),
        pytest.param(
            [0.0, 2.0, 99999.0],
            [INF, INF, 1.0],
            {2},
            [(10.0, 10.0, {0: 1.0, 1: 1.0}), (-INF, 0.0, {0: 1.0, 2: -100.0})],
            20.0,
            id="HiGHS-2975",
        ),
        pytest.param(
            [100.0, 0.01, 0.0],
            [INF, INF, INF],
            {2},
            [
                (3.0, 3.0, {0: 1.0, 2: 1.0}),
                (-INF, 0.0, {1: -1.0, 2: 1.0}),
                (-INF, 0.0, {1: -1.0, 2: -1.0}),
                (-INF, 3.0, {2: 1.0}),
                (-INF, -0.45, {2: -1.0}),
            ],
            0.03,
            id="HiGHS-3073",
        ),
    ],
)
def test_presolve_keeps_the_optimum(
    costs: list[float], upper: list[float], whole: set[int], rows: Rows, least: float
) -> None:
    """HiGHS 1.14.0 finds 15, 99,999 and 200.01: presolve fixes a whole column to a wrong value."""
    assert least_by_highs(costs, upper, whole, rows) == pytest.approx(least)


@pytest.mark.parametrize("seed", range(4))
def test_sums_beyond_31_bits_do_not_wrap_in_cp_sat(seed: int) -> None:
    """or-tools 5293: an enforced row over at-most-ones, its terms beyond 2^31 together."""
    draw, count = Random(seed), 8  # noqa: S311
    sizes = [draw.randint(2**28, 2**30) for _ in range(count)]
    worth = [*(draw.randint(1, 9) for _ in range(count)), 4]
    room, apart = sum(sizes) // 2, draw.sample(range(count), 3)
    best = max(
        sum(w * x for w, x in zip(worth, chosen, strict=True))
        for chosen in product((0, 1), repeat=count + 1)
        if sum(chosen[j] for j in apart) <= 1
        and (not chosen[-1] or sum(a * x for a, x in zip(sizes, chosen, strict=False)) <= room)
    )
    model = cp_model.CpModel()
    x = [model.new_bool_var(str(j)) for j in range(count + 1)]
    model.add_at_most_one(x[j] for j in apart)
    row = model.add(cp_model.LinearExpr.weighted_sum(x[:count], sizes) <= room)
    row.only_enforce_if(x[-1])
    model.maximize(cp_model.LinearExpr.weighted_sum(x, worth))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    assert solver.objective_value == best
