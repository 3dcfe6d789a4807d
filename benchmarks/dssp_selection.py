"""Random selections of the comparison with other solvers, and OR-Tools' knapsack solver."""

from importlib.util import find_spec
from typing import Any

import numpy as np
from ortools.algorithms.python import knapsack_solver

from schedopt.formulations.constraints import FairShare
from schedopt.instances.dssp import Instance, Job
from schedopt.verbs.generate import generate

RIVALS = ("highs", *(["scip"] if find_spec("pyscipopt") else []))


def knapsack_of(family: str, jobs: int) -> Any:
    """Return a random knapsack of a family."""
    return generate("dssp", family, seed=1, options={"jobs": jobs})


def branch_and_bound(night: Any, limit: float) -> float | None:
    """Return the optimum by OR-Tools' knapsack solver, or None if the limit is too short."""
    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "selection")
    solver.set_time_limit(limit)
    demands = [night.demands.astype(int).tolist()]
    solver.init(night.rewards.astype(int).tolist(), demands, [int(night.room())])
    value = solver.solve()
    return float(value) if solver.is_solution_optimal() else None


def night_of_teams(jobs: int, teams: int) -> tuple[Instance, FairShare]:
    """Return random jobs, with a cap for each team and a floor for every third."""
    draw = np.random.Generator(np.random.PCG64(1))
    demand, reward = draw.integers(1, 10**6, jobs), draw.integers(1, 1_000, jobs)
    owner = draw.integers(0, teams, jobs)
    names = [f"t{t:04d}" for t in range(teams)]
    drawn = tuple(
        Job(f"j{j}", reward=float(r), demand=float(d), critical_path=1.0, groups={"team": names[t]})
        for j, (d, r, t) in enumerate(zip(demand.tolist(), reward.tolist(), owner, strict=True))
    )
    room = int(demand.sum()) // 2
    night = Instance(name="teams", processors=1, deadline=float(room), jobs=drawn)
    part = np.bincount(owner, demand, minlength=teams) / room
    caps = (part * draw.uniform(0.3, 1.2, teams)).clip(0, 1)
    floors = np.minimum(caps, part) * draw.uniform(0, 0.5, teams)
    most, least = (dict(zip(names, of.round(9).tolist(), strict=True)) for of in (caps, floors))
    at_least = {team: least[team] for team in names[::3]}
    return night, FairShare(by="team", at_most=most, at_least=at_least)
