"""Lower bounds on the mean response time of a log, over all schedules, preemptive ones too.

All arithmetic is exact, in whole numbers or fractions, and what is returned is rounded down. Times
are multiplied by the servers, so that the machine as one fast server has speed 1.
"""

from __future__ import annotations

from fractions import Fraction
from heapq import heappop, heappush
from math import inf, nextafter

from instances.msfq import Instance

Number = int | Fraction
SHIFT = 40
"""Bits behind the point of what is summed rounded down."""


def bounds(queue: Instance) -> dict[str, float]:
    """Return bounds on the mean response time by name.

    - ``run``: no job responds sooner than it runs.
    - ``squashed-area``: shortest remaining work first on one server as fast as all together, which
      at every instant has completed as many jobs as can be (Smith, Operations Research 26, 1978).
    - ``combined``: the k-th completion is no sooner than in either of these, for each k.
    - ``busy-dates``: a job ends half its run time or more after the mean time at which its work is
      done; the least sum of those is that of one fast server that always does the job of least work
      (Goemans, SODA 1997).
    - ``best``: the greatest of them.

    Parameters
    ----------
    queue : Instance
        Of a log.
    """
    jobs, servers = queue.jobs, queue.servers
    submit = [_exact(time) * servers for time in jobs.submit.tolist()]
    run = [_exact(time) for time in jobs.run.tolist()]
    work = [need * time for need, time in zip(jobs.need.tolist(), run, strict=True)]
    alone = sorted(r + servers * p for r, p in zip(submit, run, strict=True))
    squashed = sorted(_shortest_remaining(submit, work))
    both = sum(max(a, b) for a, b in zip(alone, squashed, strict=True))
    came, scale = sum(submit), servers * len(run)
    found = {
        "run": _down(Fraction(sum(alone) - came, scale)),
        "squashed-area": _down(Fraction(sum(squashed) - came, scale)),
        "combined": _down(Fraction(both - came, scale)),
        "busy-dates": _down(
            (_busy_dates(submit, work) - came + Fraction(servers * sum(run)) / 2) / scale
        ),
    }
    return found | {"best": max(found.values())}


def _exact(value: float) -> Number:
    return int(value) if value.is_integer() else Fraction(value)


def _down(value: Fraction) -> float:
    """Return the greatest float that is not above a fraction."""
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)


def _shortest_remaining(submit: list[Number], work: list[Number]) -> list[Number]:
    """Return when each job ends on one server, the shortest remaining work first."""
    ready: list[tuple[Number, int]] = []
    ends: list[Number] = [0] * len(work)
    now: Number = 0
    came = 0
    while came < len(work) or ready:
        if not ready:
            now = max(now, submit[came])
        while came < len(work) and submit[came] <= now:
            heappush(ready, (work[came], came))
            came += 1
        left, job = heappop(ready)
        until = now + left
        if came < len(work) and submit[came] < until:
            heappush(ready, (until - submit[came], job))
            now = submit[came]
        else:
            ends[job] = now = until
    return ends


def _busy_dates(submit: list[Number], work: list[Number]) -> Fraction:
    """Return the least sum of mean times at which work is done, rounded down job by job."""
    ready: list[tuple[Number, int]] = []
    left = list(work)
    squares: list[Number] = [0] * len(work)
    now: Number = 0
    came = total = 0
    while came < len(work) or ready:
        if not ready:
            now = max(now, submit[came])
        while came < len(work) and submit[came] <= now:
            heappush(ready, (work[came], came))
            came += 1
        job = ready[0][1]
        until = now + left[job]
        if came < len(work) and submit[came] < until:
            until = submit[came]
        squares[job] += until * until - now * now
        left[job] -= until - now
        now = until
        if not left[job]:
            heappop(ready)
            total += (squares[job] * 2**SHIFT) // (2 * work[job])
    return Fraction(total, 2**SHIFT)
