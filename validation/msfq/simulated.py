"""Checks of a simulation: Little's law, and a utilization that matches the arrivals."""

from math import fsum, sqrt
from typing import Any

from msgspec import UNSET

from schedopt.instances.msfq import Instance, Simulated
from schedopt.validation.report import Report


def check(queue: Instance, solution: Simulated, report: Report, *, enough_jobs: int = 1000) -> None:
    """Check a simulation, and add violations to the report.

    Means of classes with fewer than ``enough_jobs`` jobs are not checked.
    """
    report.expect(
        0 <= solution.utilization <= 1 + 1e-9,
        f"utilization: {solution.utilization:.6g}, not between 0 and 1",
    )
    if solution.confidence is not None:
        report.expect(solution.confidence >= 0, "confidence: below 0")
    for time in solution.classes:
        if isinstance(time.jobs, int) and time.jobs >= enough_jobs:
            parts = (time.mean_response_time, time.mean_number, time.arrival_rate)
            if all(isinstance(part, float) for part in parts) and time.percentiles is not UNSET:
                _check_littles_law(time, report)
            else:
                report.unjudged.append(
                    f"need {time.need}: the means of its {time.jobs} jobs are missing"
                )
    if solution.arrivals >= 10 * enough_jobs:
        _check_utilization(queue, solution, report)


def _check_littles_law(time: Any, report: Report) -> None:
    """Check N = λ·T for separately measured quantities, up to noise and the run's ends."""
    expected = time.arrival_rate * time.mean_response_time
    noise = time.arrival_rate * (time.confidence or 0.0)
    ends = time.mean_number * 10 * time.mean_response_time * time.arrival_rate / time.jobs
    report.expect(
        abs(expected - time.mean_number) <= 0.05 * time.mean_number + ends + 5 * noise + 1e-9,
        f"Little's law: need {time.need} has {time.mean_number:.6g} jobs in the system, but its "
        f"arrival rate times its response time is {expected:.6g}",
    )
    order = [value for _, value in sorted(time.percentiles.items(), key=lambda pair: int(pair[0]))]
    report.expect(order == sorted(order), f"percentiles: need {time.need}: not in order")


def _check_utilization(queue: Instance, solution: Simulated, report: Report) -> None:
    """Compare the utilization with the work that arrived, up to backlog and noise."""
    pairs = list(zip(queue.classes, solution.classes, strict=True))
    stated = [part for _, time in pairs for part in (time.arrival_rate, time.mean_number)]
    if not all(isinstance(part, float) and part >= 0 for part in stated):
        report.unjudged.append("load balance: an arrival rate or a mean number is missing")
        return
    k = queue.servers
    asked = fsum(j.need * _rate(t) / j.service_rate for j, t in pairs) / k
    spread = fsum(
        _rate(t) * (j.need / j.service_rate) ** 2 * j.sizes.second_moment for j, t in pairs
    )
    rate = max(fsum(_rate(t) for _, t in pairs), 1e-300)
    jobs = fsum(t.jobs for _, t in pairs if isinstance(t.jobs, int))
    time = max(jobs, 1.0) / rate
    piled = fsum(j.need * _number(t) / j.service_rate for j, t in pairs) / (k * time)
    noise = sqrt(spread / time) / k
    report.expect(
        abs(asked - solution.utilization) <= 0.01 + 6 * noise + 4 * piled,
        f"load balance: a utilization of {solution.utilization:.4g}, but a load of {asked:.4g}",
    )


def _rate(time: Any) -> float:
    """Return the observed arrival rate of a class."""
    return float(time.arrival_rate)


def _number(time: Any) -> float:
    """Return the mean number of jobs of a class in the system."""
    return float(time.mean_number)
