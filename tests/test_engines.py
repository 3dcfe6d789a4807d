"""Every engine, imported in every order in one process, solves a known model right."""

import sys
from itertools import permutations, product
from pathlib import Path
from random import Random
from typing import Any

import highspy
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
for name, solver in (("two-shots", "highs"), ("fig8", "cp-sat"), ("twins", "model")):
    assert schedopt.solve(f"example:{name}", solver=solver).proven, name
print("well")
"""


@pytest.mark.parametrize("order", list(permutations(["highspy", "ortools", "cvxpy"]))[::5])
def test_engines_live_together_in_every_order(order: tuple[str, ...]) -> None:
    head = "".join(f"import {name}\n" for name in order)
    head = head.replace("import ortools\n", "import ortools.sat.python.cp_model, ortools\n")
    assert process(sys.executable, "-c", head + SOLVED).stdout.strip() == "well"


def test_doctor_finds_every_engine_well() -> None:
    findings = {finding.name: finding for finding in doctor()}
    assert False not in [finding.ok for finding in findings.values()]
    tried = {name.split(" ")[1] for name in findings if name.startswith("engine ")}
    assert tried >= {"priced-core", "highs", "scip", "cp-sat", "model"}


def test_doctor_says_what_is_ill(monkeypatch: pytest.MonkeyPatch) -> None:

    def ill(tiny: Any, *, solver: str, **how: Any) -> Any:
        if solver == "highs":
            raise ImportError("no such engine")
        found = solve(tiny, solver=solver, **how)
        return structs.replace(found, objective=5.0) if solver == "branch-and-bound" else found

    monkeypatch.setattr(examining, "problems", lambda: [problem("dssp")])
    monkeypatch.setattr(examining, "solve", ill)
    findings = {finding.name: finding for finding in doctor()}
    assert "no such engine" in findings["engine highs of selection"].detail
    bad = {name.split(" of ")[0] for name, found in findings.items() if found.ok is False}
    assert bad >= {
        "engine highs",
        "engine branch-and-bound",
    }  # and who solves by HiGHS, or as it does


PROGRAMS = {
    "min\n 2 x + 3 y\nst\n x + y >= 4.5\nbounds\n x <= 10\n y <= 10\ngeneral\n y\nend\n": 9,
    "min\n 2 y + 99999 z\nst\n x + y = 10\n x - 100 z <= 0\nbinary\n z\nend\n": 20,
    "min\n 100 x + 0.01 y\nst\n x + z = 3\n z - y <= 0\n - y - z <= 0\n z <= 3\n - z <= -0.45\n"
    "general\n z\nend\n": 0.03,
}
"""HiGHS 2957, 2975 and 3073, of which 1.14.0 finds 15, 99,999 and 200.01: presolve fixes a whole
column to a wrong value."""


@pytest.mark.parametrize("program", PROGRAMS)
def test_presolve_keeps_the_optimum(program: str, tmp_path: Path) -> None:
    (tmp_path / "model.lp").write_text(program)
    engine = highspy.Highs()
    engine.silent()
    engine.readModel(str(tmp_path / "model.lp"))
    engine.run()
    assert engine.getObjectiveValue() == pytest.approx(PROGRAMS[program])


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
