"""The checker of preemptive references: pieces that the machine can hold, and make up every job."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance, Preempted
from schedopt.solvers.result import Document
from schedopt.validation.report import Report, same

Floats = NDArray[np.float64]
ROUNDING = 1e-9
"""Relative, of the pieces of a job: each is a difference of two times of the log."""


def check(queue: Instance, solution: Preempted, claim: Document, report: Report) -> Floats | None:
    """Check a log that was played with preemption; return response times, shape (jobs,).

    They are None where the pieces do not make up the jobs.
    """
    jobs = queue.jobs
    if solution.jobs != len(jobs):
        report.violations.append(f"jobs: {solution.jobs}, where the log has {len(jobs)}")
        return None
    try:
        of, begin, end = solution.intervals
    except InputError as error:
        report.violations.append(str(error))
        return None
    number = of.astype(np.int64)
    known = (number == of) & (number >= 0) & (number < len(jobs))
    if not (known.all() and np.isfinite(begin).all() and np.isfinite(end).all()):
        report.violations.append("pieces: of jobs that the log has not, or at no time")
        return None
    _pieces(queue, number, begin, end, report)
    ends = np.full(len(jobs), -np.inf)
    np.maximum.at(ends, number, end)
    if report.violations:
        return None
    response: Floats = ends - jobs.submit
    work = jobs.need * jobs.run
    mean, weighted = response.mean(), (work * response).sum() / work.sum()
    longest = np.maximum(jobs.run, solution.slowdown_bound)
    report.expect(solution.slowdown_bound > 0, "slowdown_bound: not above 0")
    for what, claimed, ours in (
        ("objective", claim.objective, weighted if queue.objective == "weighted" else mean),
        ("mean_response_time", solution.mean_response_time, mean),
        ("weighted_response_time", solution.weighted_response_time, weighted),
        ("mean_bounded_slowdown", solution.mean_bounded_slowdown,
         np.maximum(response / longest, 1.0).mean()),
        ("makespan", solution.makespan, ends.max() - jobs.submit.min()),
        ("preemptions", solution.preemptions, len(number) - len(jobs)),
    ):  # fmt: skip
        met = claimed is not None and same(float(claimed), float(ours))
        report.expect(met, f"{what}: {ours:.12g}, not {claimed}")
    return response


def _pieces(
    queue: Instance,
    number: NDArray[np.int64],
    begin: Floats,
    end: Floats,
    report: Report,
) -> None:
    """Every job is served as long as it runs, not before it came, nor twice at once; all fit."""
    jobs = queue.jobs
    report.expect(bool((begin <= end).all()), "pieces: one ends before it begins")
    early = int((begin < jobs.submit[number]).sum())
    report.expect(not early, f"pieces: {early} begin before their job's submit")
    served = np.bincount(number, end - begin, len(jobs))
    far = np.abs(served - jobs.run) > ROUNDING * (jobs.run + np.abs(end).max())
    if far.any():
        first = int(np.argmax(far))
        report.violations.append(
            f"pieces: {int(far.sum())} jobs are served for another time than they run (first: job "
            f"{first}, {served[first]:.12g} of {jobs.run[first]:.12g})"
        )
    order = np.lexsort((begin, number))
    follows = number[order][1:] == number[order][:-1]
    twice = int((follows & (begin[order][1:] < end[order][:-1])).sum())
    report.expect(not twice, f"pieces: {twice} begin before the same job's last has ended")
    need = jobs.need[number].astype(np.int64)
    times = np.concatenate([end, begin])
    change = np.concatenate([-need, need])
    lasting = np.concatenate([end > begin] * 2)
    starts = np.repeat([0, 1], len(begin))  # what ends at an instant ends before anything begins
    turn = np.lexsort((starts[lasting], times[lasting]))
    busy = np.cumsum(change[lasting][turn])
    most = int(busy.max(initial=0))
    report.expect(most <= queue.servers, f"capacity: {most} servers busy, of {queue.servers}")
