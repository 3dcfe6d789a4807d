"""Split the gap of a log between the policies and the bound.

``python -m benchmarks.hindsight [LOG.json ...]``; without arguments the logs of `benchmarks.logs`.
A local search finds a good schedule of each log: it delays single jobs, replays the others under
`saf`, and keeps changes that reduce the mean response time. No bound can exceed the mean response
time of this schedule, so the distance from it to the best policy is a loss of the policy.
"""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import schedopt
from benchmarks.logs import convert_logs
from schedopt.instances.msfq import Instance
from schedopt.policies.msfq.logs.registration import replay_log

Floats = NDArray[np.float64]
HEAD = (
    "| log | bound, s | jobs held back, s | best policy, s | held back over bound "
    "| policy over held back |\n| --- | ---: | ---: | ---: | ---: | ---: |"
)
DAY = 86400.0


def held_back(
    queue: Instance, jobs: int = 300, replayed: int = 30_000_000, seed: int = 0
) -> tuple[float, Floats]:
    """Return the mean response time and the starts of the best schedule found.

    Parameters
    ----------
    queue : Instance
        Of a log.
    jobs : int
        Number of jobs that may be delayed: those with the most servers times squared run time.
    replayed : int
        Total number of jobs in all replays.
    seed : int
        Seed of the search.
    """
    log, rng = queue.jobs, np.random.default_rng(seed)

    def mean_response(release: Floats, fill: str) -> tuple[float, Floats]:
        held = queue.with_jobs(replace(log, release=release))
        starts = replay_log(held, "saf", "exact", fill=fill)
        return float((starts + log.run - log.submit).mean()), starts

    release = log.released.copy()
    value, starts, fill = min(
        ((*mean_response(release, fill), fill) for fill in ("stop", "easy")),
        key=lambda one: one[0],
    )
    long = np.argsort(-(log.need * log.run**2), kind="stable")[:jobs]
    for _ in range(replayed // len(log)):
        job = long[min(int(rng.exponential(len(long) / 4)), len(long) - 1)]
        kind = rng.integers(5)
        if kind == 0:
            time = log.released[job]
        elif kind == 1:
            time = float(log.released.max()) + 1
        elif kind == 4:
            time = starts[long[rng.integers(len(long))]] + 1
        else:
            time = starts[job] + rng.exponential(5 * DAY if kind == 2 else DAY / 4)
        tried = release.copy()
        tried[job] = max(time, log.released[job])
        if tried[job] == release[job]:
            continue
        found, at = mean_response(tried, fill)
        if found < value:
            value, starts, release = found, at, tried
    return value, starts


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
    print(HEAD)
    for path in [Path(path) for path in sys.argv[1:]] or convert_logs():
        queue = schedopt.load(path)
        bounded = schedopt.solve(queue, formulation="bound")
        policy, bound = bounded.objective, bounded.bound
        value = min(checked(queue, held_back(queue)[1]), policy)
        values = f"{bound:,.4g} | {value:,.4g} | {policy:,.4g}"
        ratios = f"{value / bound - 1:.1%} | {policy / value - 1:.1%}"
        print(f"| {path.stem} | {values} | {ratios} |", flush=True)


if __name__ == "__main__":
    main()
