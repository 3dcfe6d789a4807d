"""Selections: knapsacks and rules beside HiGHS, SCIP, OR-Tools and COMBO.

``python -m benchmarks.dssp_selection [TABLE ...]``. `crossing` keeps its rows in
build/crossing.jsonl: run again, it goes on where it stopped.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from ortools.algorithms.python import knapsack_solver

from benchmarks.tables import Measured, agree, best_of, cpu, cpu_time, measurement, resume, row, run
from schedopt.formulations.constraints import FairShare
from schedopt.formulations.dssp import Selection
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.families import KINDS
from schedopt.instances.files import dump, load
from schedopt.solvers import mip, portfolio
from schedopt.solvers.dssp.selection.knapsack.search import Core
from schedopt.solvers.mip import engine_of
from schedopt.solvers.mip.translating import translate
from schedopt.solvers.result import Limits, Result
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT = 60.0  # seconds after which an alternative is stopped, its time then marked >
COMBO = {
    ("uncorrelated", 10_000): 0.3,
    ("uncorrelated", 100_000): 2.5,
    ("weakly-correlated", 10_000): 0.4,
    ("weakly-correlated", 100_000): 2.4,
    ("strongly-correlated", 10_000): 0.9,
    ("strongly-correlated", 100_000): 9.0,
    ("subset-sum", 10_000): 0.18,
    ("subset-sum", 100_000): 1.3,
}
"""CPU milliseconds of COMBO, its copy of the items included, by family and jobs: of ours 1.5 times
as much is asked."""
PART = 10.0  # seconds for a selection under rules that cross
CROSSING = {200: 0.0, 500: 2e-4, 2_000: 2e-4, 20_000: 5e-5}
"""Jobs under rules that cross, and the gap that is asked for."""
OURS = "schedopt"
RIVALS = ("highs", *(["scip"] if find_spec("pyscipopt") else []))


def knapsack_of(family: str, jobs: int) -> Any:
    return generate("dssp", family, seed=1, options={"jobs": jobs})


def highs_alone(model: Selection) -> Result:
    """Solve the whole matrix with HiGHS."""
    return mip.solve(engine_of("highs"), model, Limits(time_limit=LIMIT))


def branch_and_bound(night: Any, limit: float) -> float | None:
    """Return the optimum by OR-Tools' knapsack solver, or None if the limit is too short."""
    kind = knapsack_solver.SolverType.KNAPSACK_MULTIDIMENSION_BRANCH_AND_BOUND_SOLVER
    solver = knapsack_solver.KnapsackSolver(kind, "selection")
    solver.set_time_limit(limit)
    demands = [night.demands.astype(int).tolist()]
    solver.init(night.rewards.astype(int).tolist(), demands, [int(night.room())])
    value = solver.solve()
    return float(value) if solver.is_solution_optimal() else None


@measurement
def strongly_correlated() -> Measured:
    """Time the core with its build beside what COMBO takes."""
    yield "(b2) the core with its build, R = 1,000: CPU time, best of 9"

    def core(night: Any) -> None:
        search = Core(night.rewards, night.demands, float(night.room()))
        while not search.advance(1.0):
            pass

    for (family, jobs), combo in COMBO.items():
        took = 1e3 * cpu(partial(core, knapsack_of(family, jobs)), 9)
        yield row(f"{family}, {jobs:,} jobs", took, "ms", most=1.5 * combo, COMBO=combo)


@measurement
def reading() -> Measured:
    """Time reading a million jobs beside decoding them untyped, and building beside reading."""
    yield "(c) reading, every check included, building and translating: CPU time, best of 3"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "jobs.json"
        dump(knapsack_of("uncorrelated", 1_000_000), path)
        untyped = cpu(lambda: msgspec.json.decode(path.read_bytes()), 2)
        took = cpu(partial(load, path), 3)
        yield row("a million jobs read", took, "s", most=1.55, untyped_decoding_s=untyped)
        dump(knapsack_of("uncorrelated", 100_000), path)
        read, night = cpu(partial(load, path), 3), load(path)
    build = cpu(lambda: translate(Selection(night).model), 3)
    yield row("100,000 jobs: building over reading", build / read, most=3, reading_s=read)


@measurement
def fair_share() -> Measured:
    """Solve a season of 20 teams, from the instance on, beside HiGHS on the same matrix."""
    yield "(a) 2,388 jobs, 20 teams: best of 3"
    for seed in range(1, 4):
        options = {"nights": 56, "stages": False, "teams": 20}
        night = generate("dssp", seed=seed, options=options)
        free = solve(night).solution.shares["team"]
        teams = list(free)

        def caps(part: Callable[[int], float], free: dict[str, float] = free) -> dict[str, float]:
            """Return a cap for each team, a part of what it gets without one."""
            return {team: round(part(i) * free[team], 6) for i, team in enumerate(free)}

        most, least = caps(lambda _: 0.8), caps(lambda _: 1.1)
        for what, bounds in (
            ("a cap each", {"at_most": caps(lambda _: 0.9)}),
            ("caps that bind or not", {"at_most": caps(lambda i: 0.6 + 0.1 * (i % 8))}),
            (
                "caps and floors",
                {
                    "at_most": {team: most[team] for team in teams[::2]},
                    "at_least": {team: least[team] for team in teams[1::4]},
                },
            ),
        ):
            rule = FairShare(by="team", **bounds)
            solve(night, constraints=[rule])  # compiles
            ours, result = best_of(3, partial(solve, night, constraints=[rule]))
            theirs = highs_alone(Selection(night).add(rule))
            agree(result.objective, result.bound, theirs.objective)
            ratio = theirs.seconds.solve / ours
            beside = {"engine ms": 1000 * result.seconds.solve, "HiGHS s": theirs.seconds.solve}
            yield row(f"seed {seed}, {what}, HiGHS over it", ratio, least=10, **beside)


def night_of_teams(jobs: int, teams: int) -> tuple[Instance, FairShare]:
    """Draw jobs with whole rewards to 1,000, caps that bind or not, and a floor for a third."""
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


Beside = dict[str, tuple[float, float, float]]
"""The value, gap and CPU seconds of each solver: ours first."""


class Crossing(NamedTuple):
    """A selection under rules that cross, and what each solver finds."""

    jobs: int
    rules: str
    seed: int
    seen: Beside

    @property
    def worse(self) -> bool:
        """Whether a rival's value is larger or its gap smaller, beyond rounding, than ours."""
        (value, gap, _), *others = self.seen.values()
        return any(value < theirs or gap > their_gap + 1e-9 for theirs, their_gap, _ in others)


def solve_beside(night: Instance) -> Beside:
    """Solve a selection with ours and the rivals."""
    seen = {}
    for name in (OURS, *RIVALS):
        limits = Limits(time_limit=PART, threads=1)
        solver = None if name == OURS else name
        took, result = cpu_time(partial(portfolio.solve, Selection(night), limits, solver=solver))
        seen[name] = result.objective or 0.0, 1.0 if result.gap is None else result.gap, took
    return seen


def solve_crossing(key: tuple[int, str, int]) -> Crossing:
    jobs, rules, seed = key
    options = {"jobs": jobs, "rules": rules}
    return Crossing(*key, solve_beside(generate("dssp", "crossing", seed=seed, options=options)))


@measurement
def crossing(seeds: int = 5, file: Path = Path("build/crossing.jsonl")) -> Measured:
    """Solve selections under rules that cross in 10 s, beside HiGHS and SCIP alone."""
    solve_crossing((100, "all", 1))  # compiles
    keys = list(product(CROSSING, KINDS, range(1, seeds + 1)))
    done = resume(file, Crossing, lambda item: item[:3], keys, solve_crossing)
    yield f"(a3) rules that cross, {PART:.0f} s, one thread: {seeds} seeds a row"
    for jobs, rules in product(CROSSING, KINDS):
        every = [done[jobs, rules, seed] for seed in range(1, seeds + 1)]
        gaps = {name: [item.seen[name][1] for item in every] for name in every[0].seen}
        ours = gaps.pop(OURS)
        yield row(
            f"{jobs:,} jobs, {rules}: largest gap",
            max(ours),
            most=CROSSING[jobs],
            proven=sum(gap == 0.0 for gap in ours),
            seconds=max(item.seen[OURS][2] for item in every),
            worse_than_a_rival=sum(item.worse for item in every),
            **{f"{name} gap": f"{max(of):.1e}" for name, of in gaps.items()},
        )


if __name__ == "__main__":
    run(strongly_correlated, reading, fair_share, crossing)
