"""Selections under shares: the engine of their own beside HiGHS, CP-SAT and SCIP.

``python -m benchmarks.dssp_shares``: a season of 20 teams, then 100,000 jobs of 1,000 teams.
"""

from __future__ import annotations

from functools import partial
from importlib.util import find_spec
from typing import Any

import highspy
import numpy as np
from ortools.sat.python import cp_model
from rich.table import Table

from benchmarks.ceilings import part_of
from benchmarks.timing import agree, best_of, out, verdict
from schedopt.formulations.constraints import FairShare
from schedopt.formulations.dssp import Selection
from schedopt.instances.dssp import Instance, Job
from schedopt.solvers import door
from schedopt.solvers.mip.translating import translate
from schedopt.solvers.result import Limits
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT = 60.0
"""Seconds after which an alternative is stopped."""


def fair_share() -> None:
    """Solve a season of 20 teams, whole `solve()` and engine, beside HiGHS on the same matrix."""
    title = "(a) 2,388 jobs, 20 teams: best of 3"
    heads = (
        "seed", "shares", "solve() ms", "engine ms", "of putting in order", "HiGHS alone s", "ratio"
    )  # fmt: skip
    table = Table(*heads, title=title, title_justify="left")
    ratios = []
    for seed in range(1, 4):
        options = {"nights": 56, "stages": False, "teams": 20}
        night = generate("dssp", seed=seed, options=options)
        plain = solve(night).solution.shares["team"]
        for what, rule in (
            ("a cap each", _caps(plain, lambda i: 0.9)),
            ("caps that bind or not", _caps(plain, lambda i: 0.6 + 0.1 * (i % 8))),
            ("caps and floors", _floors(plain)),
        ):
            solve(night, constraints=[rule])  # compiles
            ours, result = best_of(3, partial(solve, night, constraints=[rule]))
            matrix = translate(Selection(night).add(rule).model)
            alone, engine = best_of(3, partial(_highs_alone, matrix))
            found = engine.getInfo().objective_function_value / matrix.cost_scale
            agree(result.objective, result.bound, found)
            ratios.append(alone / ours)
            engine_took = result.seconds.solve
            cells = (f"{1000 * ours:.1f}", f"{1000 * engine_took:.1f}",
                     part_of(len(night.jobs) / engine_took, "keys put in order"))  # fmt: skip
            table.add_row(str(seed), what, *cells, f"{alone:.3f}", f"{alone / ours:.0f}")
    out.print(table)
    least = min(ratios)
    verdict(least >= 10, f"solve() 10 times as fast as HiGHS alone in each (least {least:.0f})")


def _caps(shares: dict[str, float], part: Any) -> FairShare:
    """Return a cap for each team, a part of what it gets without one."""
    caps = {team: round(part(i) * share, 6) for i, (team, share) in enumerate(shares.items())}
    return FairShare(by="team", at_most=caps)


def _floors(shares: dict[str, float]) -> FairShare:
    """Return caps for some teams, and floors for others above what they get without one."""
    teams = list(shares)
    return FairShare(
        by="team",
        at_most={team: round(0.8 * shares[team], 6) for team in teams[::2]},
        at_least={team: round(1.1 * shares[team], 6) for team in teams[1::4]},
    )


def many_teams(jobs: int = 100_000, teams: int = 1_000) -> None:
    """Solve 100,000 jobs of 1,000 teams with caps and floors, beside three others at 60 s."""
    night, rule = _large(jobs, teams)
    door.solve(Selection(night).add(rule))  # compiles
    runs = [door.solve(Selection(night).add(rule)) for _ in range(3)]
    ours = min((run.seconds.build + run.seconds.solve, run.gap or 0.0) for run in runs)
    title = f"(a2) {jobs:,} jobs, {teams:,} teams, caps and floors"
    heads = ("solver", "seconds", "objective", "gap")
    table = Table(*heads, title=title, title_justify="left")
    objective, engine = runs[0].objective, min(run.seconds.solve for run in runs)
    table.add_row("shares", f"{ours[0]:.2f} ({engine:.2f})", f"{objective:,.0f}", f"{ours[1]:.1e}")
    names = ["highs", *(["scip"] if find_spec("pyscipopt") else [])]
    for name in names:
        theirs = door.solve(Selection(night).add(rule), Limits(time_limit=LIMIT), solver=name)
        found = "none" if theirs.objective is None else f"{theirs.objective:,.0f}"
        gap = "" if theirs.gap is None else f"{theirs.gap:.1e}"
        table.add_row(name, f"{theirs.seconds.solve:.1f}", found, gap)
    table.add_row("cp-sat", *_cp_sat(night, rule))
    out.print(table)
    told = f"{ours[0]:.2f} s, gap {ours[1]:.1e}"
    verdict(ours[0] <= 5 and ours[1] <= 1e-6, f"within 1e-6 in 5 s on one core ({told})")


def _large(jobs: int, teams: int) -> tuple[Instance, FairShare]:
    """Draw jobs with whole rewards to 1,000, caps that bind or not, and a floor for a third."""
    draw = np.random.Generator(np.random.PCG64(1))
    demand, reward = draw.integers(1, 10**6, jobs), draw.integers(1, 1_000, jobs)
    owner = draw.integers(0, teams, jobs)
    made = tuple(
        Job(name=f"j{j}", reward=float(r), demand=float(d), critical_path=1.0,
            groups={"team": f"t{t:04d}"})
        for j, (d, r, t) in enumerate(zip(demand.tolist(), reward.tolist(), owner, strict=True))
    )  # fmt: skip
    room = int(demand.sum()) // 2
    night = Instance(name="teams", processors=1, deadline=float(room), jobs=made)
    part = np.bincount(owner, demand, minlength=teams) / room
    caps = (part * draw.uniform(0.3, 1.2, teams)).clip(0, 1)
    floors = np.minimum(caps, part) * draw.uniform(0, 0.5, teams)
    named = [f"t{t:04d}" for t in range(teams)]
    rule = FairShare(
        by="team",
        at_most={team: round(float(cap), 9) for team, cap in zip(named, caps, strict=True)},
        at_least={
            team: round(float(f), 9) for team, f in list(zip(named, floors, strict=True))[::3]
        },
    )
    return night, rule


def _cp_sat(night: Instance, rule: FairShare) -> tuple[str, str, str]:
    """Solve with CP-SAT, one worker, whole demands and rewards."""
    model = cp_model.CpModel()
    chosen = [model.new_bool_var("") for _ in night.jobs]
    demand = [int(job.demand or 0) for job in night.jobs]
    room = int(night.room(1.0))
    weighed = cp_model.LinearExpr.weighted_sum
    model.add(weighed(chosen, demand) <= room)
    for team, jobs in night.groups["team"].items():
        total = weighed([chosen[j] for j in jobs], [demand[j] for j in jobs])
        if team in rule.at_most:
            model.add(total <= int(rule.at_most[team] * room))
        if team in rule.at_least:
            model.add(total >= int(rule.at_least[team] * room) + 1)
    model.maximize(weighed(chosen, night.rewards.astype(int).tolist()))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = LIMIT
    status = solver.solve(model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return f"{solver.wall_time:.1f}", "none", ""
    gap = abs(solver.best_objective_bound - solver.objective_value) / solver.objective_value
    return f"{solver.wall_time:.1f}", f"{solver.objective_value:,.0f}", f"{gap:.1e}"


def _highs_alone(matrix: Any) -> highspy.Highs:
    """Solve arrays with highspy, as anyone would: gap 0, all else as it comes."""
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(matrix.columns), len(matrix.rows)
    program.col_cost_, program.sense_ = matrix.cost, highspy.ObjSense.kMaximize
    program.col_lower_, program.col_upper_ = matrix.column_lower, matrix.column_upper
    program.row_lower_, program.row_upper_ = matrix.row_lower, matrix.row_upper
    program.integrality_ = [highspy.HighsVarType.kInteger] * len(matrix.columns)
    program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    program.a_matrix_.start_ = matrix.starts
    program.a_matrix_.index_, program.a_matrix_.value_ = matrix.indices, matrix.values
    engine = highspy.Highs()
    engine.silent()
    engine.setOptionValue("mip_rel_gap", 0.0)
    engine.passModel(program)
    engine.run()
    return engine


if __name__ == "__main__":
    fair_share()
    many_teams()
