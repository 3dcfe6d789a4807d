"""Split the gap of a log between the policies and the bound.

``python -m benchmarks.hindsight [LOG.json ...]``; without arguments the logs of `benchmarks.logs`.
A local search finds a good schedule of each log: it delays single jobs, replays the others under
`saf`, and keeps changes that reduce the mean response time. No bound can exceed the mean response
time of this schedule, so the distance from it to the best policy is a loss of the policy. Short
parts of the log are also solved exactly.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import schedopt
from benchmarks.logs import convert_logs
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.registration import replay_log

Floats = NDArray[np.float64]
HEAD = (
    "| log | bound, s | jobs held back, s | best policy, s | policy over bound "
    "| held back over bound | policy over held back | parts: bound to optimum "
    "| parts: policy to optimum |"
)
DAY = 86400.0


@dataclass(frozen=True)
class HoldBackParams:
    """Settings of the local search.

    Attributes
    ----------
    jobs : int
        Number of jobs that may be delayed: those with the most servers times squared run time.
    replayed : int
        Total number of jobs in all replays.
    """

    jobs: int = 300
    replayed: int = 30_000_000
    seed: int = 0
    fills: Sequence[str] = ("stop", "easy")


@dataclass(frozen=True)
class SliceParams:
    """Settings of the short parts; ``effort`` is the deterministic time of CP-SAT for each."""

    jobs: int = 12
    count: int = 10
    effort: float = 2.0
    seed: int = 0


def held_back(queue: Instance, params: HoldBackParams) -> tuple[float, Floats]:
    """Return the mean response time and the starts of the best schedule found.

    Parameters
    ----------
    queue : Instance
        Of a log.
    params : HoldBackParams
        Settings of the search.
    """
    jobs, rng = queue.jobs, np.random.default_rng(params.seed)

    def mean_response(release: Floats, fill: str) -> tuple[float, Floats]:
        held = queue.with_jobs(replace(jobs, release=release))
        starts = replay_log(held, "saf", "exact", fill=fill)
        return float((starts + jobs.run - jobs.submit).mean()), starts

    release = jobs.released.copy()
    value, starts, fill = min(
        ((*mean_response(release, fill), fill) for fill in params.fills), key=lambda one: one[0]
    )
    long = np.argsort(-(jobs.need * jobs.run**2), kind="stable")[: params.jobs]
    last = float(jobs.released.max()) + 1
    for _ in range(params.replayed // len(jobs)):
        job = long[min(int(rng.exponential(len(long) / 4)), len(long) - 1)]
        kind = rng.integers(5)
        if kind == 0:
            time = jobs.released[job]
        elif kind == 1:
            time = last
        elif kind == 2:
            time = starts[job] + rng.exponential(5 * DAY)
        elif kind == 3:
            time = starts[job] + rng.exponential(DAY / 4)
        else:
            time = starts[long[rng.integers(len(long))]] + 1
        tried = release.copy()
        tried[job] = max(time, jobs.released[job])
        if tried[job] == release[job]:
            continue
        found, at = mean_response(tried, fill)
        if found < value:
            value, starts, release = found, at, tried
    return value, starts


def slices(queue: Instance, params: SliceParams) -> list[tuple[float, float]]:
    """Return the relative distances of the bound and the best policy from the optimum, by part.

    Parts are consecutive jobs at random positions in which some job waits under the best policy.
    Parts whose optimum CP-SAT does not prove are left out.

    Returns
    -------
    list of (float, float)
        Bound and best policy divided by the optimum, each minus 1.
    """
    jobs, rng = queue.jobs, np.random.default_rng(params.seed)
    found: list[tuple[float, float]] = []
    for first in rng.permutation(max(1, len(jobs) - params.jobs)).tolist():
        rows = np.arange(first, min(first + params.jobs, len(jobs)))
        part = queue.with_jobs(Jobs(jobs.submit[rows], jobs.need[rows], jobs.run[rows]))
        bounded = schedopt.solve(part, formulation="bound")
        alone = float(part.jobs.run.mean())
        if bounded.bound is None or bounded.objective is None or bounded.objective <= alone:
            continue
        best = optimum(part, params.effort)
        if best is not None:
            found.append((bounded.bound / best - 1, bounded.objective / best - 1))
        if len(found) == params.count:
            break
    return found


def optimum(queue: Instance, effort: float) -> float | None:
    """Return the least mean response time of a short log, proven by CP-SAT, or None."""
    from ortools.sat.python import cp_model

    jobs, model = queue.jobs, cp_model.CpModel()
    submit = np.rint(jobs.submit - jobs.submit[0]).astype(int).tolist()
    run = np.rint(jobs.run).astype(int).tolist()
    end = max(submit) + sum(run)
    starts = [model.new_int_var(first, end, "") for first in submit]
    blocks = [
        model.new_fixed_size_interval_var(start, length, "")
        for start, length in zip(starts, run, strict=True)
    ]
    model.add_cumulative(blocks, jobs.need.tolist(), queue.servers)
    model.minimize(sum(starts))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_deterministic_time = effort
    if solver.solve(model) != cp_model.OPTIMAL:
        return None
    return (solver.objective_value + sum(run) - sum(submit)) / len(run)


def checked(queue: Instance, starts: Floats) -> float:
    """Return the mean response time of a schedule; `RuntimeError` if the checker rejects it."""
    scheduled = queue.with_jobs(replace(queue.jobs, start=starts))
    result = schedopt.evaluate(scheduled, "recorded")
    report = schedopt.check(scheduled, result)
    if not report.ok:
        raise RuntimeError(f"the schedule is wrong: {report}")
    return float(result.objective)


def main() -> None:
    """Print a row for each log."""
    paths = [Path(path) for path in sys.argv[1:]] or list(convert_logs())
    print(HEAD, "| --- |" + " ---: |" * 8, sep="\n")
    for path in paths:
        queue = schedopt.load(path)
        bounded = schedopt.solve(queue, formulation="bound")
        policy, bound = bounded.objective, bounded.bound
        value = min(checked(queue, held_back(queue, HoldBackParams())[1]), policy)
        parts = slices(queue, SliceParams())
        below, above = np.mean(parts, axis=0) if parts else (np.nan, np.nan)
        values = f"{bound:,.4g} | {value:,.4g} | {policy:,.4g}"
        ratios = (policy / bound - 1, value / bound - 1, policy / value - 1, below, above)
        print(
            f"| {path.stem} | {values} | {' | '.join(f'{one:.1%}' for one in ratios)} |", flush=True
        )


if __name__ == "__main__":
    main()
