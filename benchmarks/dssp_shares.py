"""Selections under shares: the engine of their own beside HiGHS and SCIP.

``python -m benchmarks.dssp_shares``: a season of 20 teams, 100,000 jobs of 1,000 teams, and 40
selections under rules that cross, kept in build/crossing.jsonl: run again, they go on where they
stopped. ``crossing`` as its argument names these alone.
"""

from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.tables import Measured, measurement, resumed, row, run
from benchmarks.timing import agree, best_of, spent
from schedopt.formulations.constraints import FairShare
from schedopt.formulations.dssp import Selection
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.crossing import KINDS
from schedopt.instances.dssp.group_fair import BOUNDED
from schedopt.solvers import door, mip
from schedopt.solvers.mip.named import engine_of
from schedopt.solvers.result import Limits
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT = 60.0  # seconds after which an alternative is stopped
PART = 10.0  # seconds for a selection under rules that cross
CROSSING = {200: 0.0, 500: 2e-4, 2_000: 2e-4, 20_000: 5e-5}
"""Jobs under rules that cross, and the gap that is asked for."""
FAIR = (1_000, 10_000, 100_000)
"""Items of knapsacks with group fairness."""
OURS = "schedopt"


@measurement
def fair_share() -> Measured:
    """Solve a season of 20 teams, whole `solve()` and engine, beside HiGHS on the same matrix."""
    yield "(a) 2,388 jobs, 20 teams: best of 3"
    ratios = []
    for seed in range(1, 4):
        options = {"nights": 56, "stages": False, "teams": 20}
        night = generate("dssp", seed=seed, options=options)
        free = solve(night).solution.shares["team"]
        for what, rule in (
            ("a cap each", _caps(free, lambda i: 0.9)),
            ("caps that bind or not", _caps(free, lambda i: 0.6 + 0.1 * (i % 8))),
            ("caps and floors", _floors(free)),
        ):
            solve(night, constraints=[rule])  # compiles
            ours, result = best_of(3, partial(solve, night, constraints=[rule]))
            model = Selection(night).add(rule)
            theirs = [mip.solve(engine_of("highs"), model, Limits()) for _ in range(3)]
            alone = min(one.seconds.solve for one in theirs)
            agree(result.objective, result.bound, theirs[0].objective)
            ratios.append(alone / ours)
            took = result.seconds.solve
            beside = {"engine ms": 1000 * took, "HiGHS alone s": alone}
            yield row(f"seed {seed}, {what}", 1000 * ours, "ms", **beside, ratio=alone / ours)
    yield row("HiGHS alone over solve()", min(ratios), least=10)


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


@measurement
def many_teams(jobs: int = 100_000, teams: int = 1_000) -> Measured:
    """Solve 100,000 jobs of 1,000 teams with caps and floors, beside two others at 60 s."""
    night, rule = _large(jobs, teams)
    door.solve(Selection(night).add(rule))  # compiles
    runs = [door.solve(Selection(night).add(rule)) for _ in range(3)]
    seconds, gap = min((run.seconds.build + run.seconds.solve, run.gap or 0.0) for run in runs)
    yield f"(a2) {jobs:,} jobs, {teams:,} teams, caps and floors"
    engine = min(run.seconds.solve for run in runs)
    objective = runs[0].objective
    beside = {"engine alone s": engine, "objective": objective, "gap": f"{gap:.1e}"}
    yield row("shares, on one core", seconds, "s", most=5, **beside)
    for name in ("highs", *(["scip"] if find_spec("pyscipopt") else [])):
        theirs = door.solve(Selection(night).add(rule), Limits(time_limit=LIMIT), solver=name)
        beside = {"objective": theirs.objective, "gap": theirs.gap}
        yield row(name, theirs.seconds.solve, "s", **beside)
    yield row("gap of shares", gap, most=1e-6)


def _large(jobs: int, teams: int) -> tuple[Instance, FairShare]:
    """Draw jobs with whole rewards to 1,000, caps that bind or not, and a floor for a third."""
    draw = np.random.Generator(np.random.PCG64(1))
    demand, reward = draw.integers(1, 10**6, jobs), draw.integers(1, 1_000, jobs)
    owner = draw.integers(0, teams, jobs)
    made = tuple(
        Job(
            name=f"j{j}",
            reward=float(r),
            demand=float(d),
            critical_path=1.0,
            groups={"team": f"t{t:04d}"},
        )
        for j, (d, r, t) in enumerate(zip(demand.tolist(), reward.tolist(), owner, strict=True))
    )
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


class Crossed(NamedTuple):
    """A selection under rules that cross, and by solver its value, gap and seconds: ours first."""

    jobs: int
    rules: str
    seed: int
    seen: dict[str, tuple[float, float, float]]

    @property
    def worse(self) -> bool:
        """Whether a rival's value is larger or its gap smaller, beyond rounding, than ours."""
        (value, gap, _), *others = self.seen.values()
        return any(value < other or gap > left + 1e-9 for other, left, _ in others)


@measurement
def crossing(seeds: int = 5, file: Path = Path("build/crossing.jsonl")) -> Measured:
    """Solve selections under rules that cross in 10 s, beside HiGHS and SCIP alone.

    A line of the file for each is written as it is done: run again, it goes on where it stopped.
    """
    door.solve(Selection(_crossed(100, "all", 1)), Limits(time_limit=PART))  # compiles
    keys = list(product(CROSSING, KINDS, range(1, seeds + 1)))
    done = resumed(file, Crossed, lambda one: one[:3], keys, _beside)
    yield f"(a3) rules that cross, {PART:.0f} s, one thread: {seeds} seeds a row"
    for jobs, rules in product(CROSSING, KINDS):
        every = [done[jobs, rules, seed] for seed in range(1, seeds + 1)]
        gaps = {name: [one.seen[name][1] for one in every] for name in every[0].seen}
        ours = gaps.pop(OURS)
        yield row(
            f"{jobs:,} jobs, {rules}: largest gap",
            max(ours),
            most=CROSSING[jobs],
            proven=sum(gap == 0.0 for gap in ours),
            seconds=max(one.seen[OURS][2] for one in every),
            worse_than_a_rival=sum(one.worse for one in every),
            **{f"{name} gap": f"{max(of):.1e}" for name, of in gaps.items()},
        )
    worse = sum(done[key].worse for key in keys)
    yield row(f"value or gap worse than a rival's, of {len(keys)}", worse, most=0)


@measurement
def group_fair(seeds: int = 2, seconds: float = PART) -> Measured:
    """Solve knapsacks with bounds on counts, weights or profits of groups, beside others."""
    for bounds in BOUNDED:
        yield f"(a4) group fairness, {bounds} of 10 groups, {seconds:.0f} s, one thread"
        for jobs, family in product(FAIR, ("uncorrelated", "strongly-correlated")):
            options = {"jobs": jobs, "family": family, "bounds": bounds}
            drawn = [
                generate("dssp", "group-fair", seed=s + 1, options=options) for s in range(seeds)
            ]
            every = [_solved(night, seconds) for night in drawn]
            for name in every[0]:
                gaps = [one[name][1] for one in every]
                beside = {
                    "proven": sum(gap == 0.0 for gap in gaps),
                    "largest gap": f"{max(gaps):.1e}",
                }
                yield row(
                    f"{jobs:,} {family}: {name}", max(one[name][2] for one in every), "s", **beside
                )


def _beside(key: tuple[int, str, int]) -> Crossed:
    return Crossed(*key, _solved(_crossed(*key), PART))


def _solved(night: Instance, seconds: float) -> dict[str, tuple[float, float, float]]:
    """Solve one with ours and the rivals: value, gap and seconds of each."""
    seen = {}
    for name in (OURS, "highs", *(["scip"] if find_spec("pyscipopt") else [])):
        limits = Limits(time_limit=seconds, threads=1)
        solver = None if name == OURS else name
        took, found = spent(partial(door.solve, Selection(night), limits, solver=solver))
        gap = 1.0 if found.gap is None else found.gap
        seen[name] = (found.objective or 0.0, gap, took)
    return seen


def _crossed(jobs: int, rules: str, seed: int) -> Instance:
    return generate("dssp", generator="crossing", seed=seed, options={"jobs": jobs, "rules": rules})


if __name__ == "__main__":
    run(fair_share, many_teams, crossing, group_fair)
