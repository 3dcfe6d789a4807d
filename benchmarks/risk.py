"""The price of uncertain run times: gaps of 2,388 jobs, and what informed plans earn.

``python -m benchmarks.risk [LOG.swf ...]``: nights of logs go beside the rest. There a job's run
time is guessed from what its user asked for, or where the log does not say from the last two jobs
of its user; by how much such guesses are off is learned from the jobs before. What happens is what
happened. ``python -m benchmarks.risk --no-gaps ...`` leaves the first table out.
"""

import sys
from collections import deque
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace

from benchmarks.tables import Measured, measurement, row, run
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.planned import Ints
from schedopt.instances.dssp.scenarios import MILLION, RUNNING, factors
from schedopt.instances.msfq.log_converters import convert
from schedopt.problems import problem
from schedopt.problems.dssp.chances import jobs_in_time
from schedopt.solvers.result import Result
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

LIMIT = 60.0
MEASURES = ("mean", "cvar:0.9", "chance:0.95")
SPREADS = {"±30%": 0.3, "lognormal 0.5": Lognormal(sigma=0.5)}
NIGHTS, SCENARIOS, HINDSIGHT = 3, 100, 50
"""Nights of the second table, scenarios that decide, and those that the clairvoyant is asked of."""
SECONDS = 20.0  # for each choice under risk of the second table
JOBS, LOGGED, LEARNED = 40, 4, 500
"""Jobs of a night of a log, how many such nights, and jobs before the first of them."""


class Entry(NamedTuple):
    """A job of a log."""

    name: str
    processors: int
    run: float


class Night(NamedTuple):
    """A night, the factors that happen (drawn ones if none), and a cautious factor."""

    night: Instance
    happens: Ints | None = None
    safe: float = 1.3


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
def worth(nights: Sequence[tuple[str, Sequence[Night]]]) -> Measured:
    """Print what plans earn as they are run, in % of what hindsight would choose."""
    yield "rewards as run, in % of the best choice in hindsight; jobs in time of those promised"
    for name, group in nights:
        ideal = [hindsight(*one) for one in group]
        plans = [dict(planned(one.night, one.safe)) for one in group]
        for how in plans[0]:
            told = [as_run(*one[:2], plan[how]) for one, plan in zip(group, plans, strict=True)]
            best = sum(ideal) / 100
            means, tails, kept, asked = (sum(column) for column in zip(*told, strict=True))
            beside = {"worst tenth": tails / best, "in time": f"{kept / max(1, asked):.1%}"}
            yield row(f"{name}: {how}", means / best, "%", **beside)


def planned(night: Instance, longer: float) -> Iterator[tuple[str, Result]]:
    """Yield selections: by planned times, by these made longer, and under risk."""
    options = {"scenarios": SCENARIOS}
    safe = tuple(_longer(job, longer) for job in night.jobs)
    yield "by means", solve(night)
    yield "by the safe end", solve(replace(night, jobs=safe))
    for risk in MEASURES:
        yield risk, solve(night, risk=risk, options=options, time_limit=SECONDS)


def as_run(
    night: Instance, happens: Ints | None, plan: Result
) -> tuple[float, float, float, float]:
    """Return the mean reward, that of the worst tenth, how many are in time, and of how many."""
    carried = problem("dssp").carried_out(night, plan)
    jobs, in_time = jobs_in_time(night, carried.solution, str(carried.policy), 0, happens)
    earned = np.sort(in_time @ night.rewards[jobs])
    tail = earned[: max(1, len(earned) // 10)]
    return float(earned.mean()), float(tail.mean()), float(in_time.sum()), float(in_time.size)


def hindsight(night: Instance, happens: Ints | None, _: float) -> float:
    """Return what the best selections would earn on average, were run times known."""
    best = []
    for drawn in factors(night, 0, RUNNING, HINDSIGHT) if happens is None else happens:
        jobs = tuple(_longer(job, f / MILLION) for job, f in zip(night.jobs, drawn, strict=True))
        best.append(solve(replace(night, jobs=jobs), many=True).objective or 0.0)
    return float(np.mean(best))


def of_log(path: str) -> Iterator[Night]:
    """Yield nights of a log, each with what was guessed from the jobs before it."""
    log, last = convert(path, overrun="keep"), dict[int, deque[float]]()
    known = list[tuple[Entry, float]]()
    jobs_of_log = log.jobs
    asked = np.full(len(jobs_of_log), np.nan)
    asked = asked if jobs_of_log.estimate is None else jobs_of_log.estimate
    users = np.full(len(asked), -1) if jobs_of_log.user is None else jobs_of_log.user.codes
    columns = (column.tolist() for column in (jobs_of_log.need, jobs_of_log.run, asked, users))
    rows = zip(*columns, strict=True)
    for number, (need, ran_for, planned, user) in enumerate(rows):
        runs = last.setdefault(user, deque(maxlen=2))
        guess = planned if planned > 0 else (sum(runs) / len(runs) if runs else None)
        runs.append(ran_for)
        if guess:
            known.append((Entry(str(number), need, ran_for), guess))
    for first in range(LEARNED, len(known) - JOBS + 1, max(JOBS, (len(known) - LEARNED) // LOGGED)):
        seen, jobs = known[:first], known[first : first + JOBS]
        ratios = np.array([entry.run / guess for entry, guess in seen])
        sigma = min(2.0, max(0.05, float(np.log(ratios).std())))
        mean = float(ratios.mean())
        work = sum(entry.run * entry.processors for entry, _ in jobs)
        deadline = max(work / log.servers / 1.5, *(float(entry.run) for entry, _ in jobs[:9]))
        made = [
            Job(
                name=entry.name,
                reward=float(entry.processors),
                spread=Lognormal(sigma=sigma),
                stages=((round(max(1.0, guess * mean), 1),) * entry.processors,),
            )
            for entry, guess in jobs
        ]
        night = Instance(
            name=f"{log.name} from job {first}",
            processors=log.servers,
            deadline=round(deadline, 1),
            jobs=tuple(made),
        )
        runs_of = np.array([entry.run for entry, _ in jobs])
        happened = runs_of / night.tasks.longest * MILLION
        safe = float(np.quantile(ratios, 0.9)) / mean
        yield Night(night, np.rint(happened).astype(np.int64)[None], safe)


def _longer(job: Job, factor: float) -> Job:
    return replace(
        job,
        demand=round(job.planned_demand * factor, 1),
        critical_path=round(job.planned_critical_path * factor, 1),
    )


def main(asked: Sequence[str]) -> None:
    """Print both tables."""
    made = [generate("dssp", seed=s, options={"processors": 800}) for s in range(1, NIGHTS + 1)]
    nights = [(f"{NIGHTS} render nights", [Night(spread_over(one, 0.3)) for one in made])]
    logs = [one for one in asked if one != "--no-gaps"]
    for log in logs:
        group = list(of_log(log))
        nights.append((f"{len(group)} nights of {Path(log).name}", group))
    sys.argv[1:] = []
    run(*(() if len(logs) < len(asked) else (gaps,)), partial(worth, nights))


if __name__ == "__main__":
    main(sys.argv[1:])
