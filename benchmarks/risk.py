"""What uncertain run times cost: gaps of 2,388 jobs, and what plans earn that know more or less.

``python -m benchmarks.risk [LOG.swf ...]``: the first 300 jobs of logs, as nights, go beside the
rest.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from benchmarks.tables import Measured, measurement, row, run
from schedopt.instances.dssp import Instance, Job, swf
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.scenarios import MILLION, RUNNING, factors
from schedopt.problems import problem
from schedopt.problems.dssp.chances import ran
from schedopt.solvers.result import Result
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT = 60.0
MEASURES = ("mean", "cvar:0.9", "chance:0.95")
SPREADS = {"±30%": 0.3, "lognormal 0.5": Lognormal(sigma=0.5)}
NIGHTS, SCENARIOS, HINDSIGHT = 3, 100, 50
"""Nights of the second table, scenarios that decide, and those that the clairvoyant is asked of."""


def spread_over(night: Instance, spread: float | Lognormal) -> Instance:
    """Return a night whose jobs all have a spread."""
    return replace(night, jobs=tuple(replace(job, spread=spread) for job in night.jobs))


@measurement
def gaps() -> Measured:
    """Print how far 2,388 jobs with 100 scenarios are solved within a minute."""
    yield f"2,388 jobs, {SCENARIOS} scenarios, {LIMIT:.0f} s: the gap in %"
    options = {"nights": 56, "stages": False, "processors": 35_000}
    night = generate("dssp", seed=1, options=options)
    for name, spread in SPREADS.items():
        for risk in MEASURES:
            found = solve(spread_over(night, spread), risk=risk, time_limit=LIMIT)
            told, gap = found.risk or {}, 100 * (found.gap or 0.0)
            beside = {
                "objective": found.objective,
                "out of sample": told.get("out_of_sample"),
                "±": told.get("confidence"),
                "s": found.seconds.build + found.seconds.solve,
            }
            yield row(f"{risk}, {name}", gap, "%", most=0.1 if spread == 0.3 else None, **beside)


@measurement
def worth(nights: Sequence[tuple[str, Sequence[Instance]]]) -> Measured:
    """Print what plans earn as they are run, in % of what hindsight would choose."""
    yield "rewards as run, in % of the best choice in hindsight; jobs in time of those promised"
    for name, group in nights:
        ideal = [hindsight(night) for night in group]
        plans = [dict(planned(night)) for night in group]
        for how in plans[0]:
            told = [as_run(night, plan[how]) for night, plan in zip(group, plans, strict=True)]
            parts = [100 * mean / best for (mean, _, _), best in zip(told, ideal, strict=True)]
            tails = [100 * tail / best for (_, tail, _), best in zip(told, ideal, strict=True)]
            kept = [share for _, _, share in told]
            beside = {"worst tenth": np.mean(tails), "in time": f"{np.mean(kept):.1%}"}
            yield row(f"{name}: {how}", float(np.mean(parts)), "%", **beside)


def planned(night: Instance) -> Iterator[tuple[str, Result]]:
    """Yield who would be selected: by planned times, by the longest, and under risk."""
    options = {"scenarios": SCENARIOS}
    safe = tuple(_longer(job, 1.3) for job in night.jobs)
    yield "by means", solve(night)
    yield "by the safe end", solve(replace(night, jobs=safe))
    for risk in MEASURES:
        yield risk, solve(night, risk=risk, options=options, time_limit=20.0)


def as_run(night: Instance, plan: Result) -> tuple[float, float, float]:
    """Return the mean reward, that of the worst tenth, and the share of the jobs in time."""
    carried = problem("dssp").carried_out(night, plan)
    jobs, in_time = ran(night, carried.solution, str(carried.policy), seed=0)
    earned = np.sort(in_time @ night.rewards[jobs])
    return float(earned.mean()), float(earned[: len(earned) // 10].mean()), float(in_time.mean())


def hindsight(night: Instance) -> float:
    """Return what the best selections would earn on average, were run times known."""
    best = []
    for drawn in factors(night, 0, RUNNING, HINDSIGHT):
        jobs = tuple(_longer(job, f / MILLION) for job, f in zip(night.jobs, drawn, strict=True))
        best.append(solve(replace(night, jobs=jobs), many=True).objective or 0.0)
    return float(np.mean(best))


def _longer(job: Job, factor: float) -> Job:
    return replace(
        job,
        demand=round(job.planned_demand * factor, 1),
        critical_path=round(job.planned_critical_path * factor, 1),
    )


def main(logs: Sequence[str]) -> None:
    """Print both tables."""
    made = [generate("dssp", seed=s, options={"processors": 800}) for s in range(1, NIGHTS + 1)]
    nights = [(f"{NIGHTS} render nights", [spread_over(night, 0.3) for night in made])]
    for log in logs:
        night = swf.convert(log, deadline=6 * 3600.0, reward="linear", jobs=300)
        nights.append((Path(log).name, [spread_over(night, 0.3)]))
    sys.argv[1:] = []
    run(gaps, partial(worth, nights))


if __name__ == "__main__":
    main(sys.argv[1:])
