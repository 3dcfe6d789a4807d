"""Lower bounds on the response time of a log over all schedules, including preemptive ones.

The arithmetic is exact, in integers or fractions; results are rounded down. Times are multiplied by
the number of servers, so that one fast server that replaces them has speed 1.
"""

from fractions import Fraction
from heapq import heappop, heappush
from math import inf, nextafter

from schedopt.formulations.msfq.log_bound import Ticks

SERVERS = "servers"


def relaxation_bounds(
    ticks: Ticks, *, weighted: bool = False, of: str = SERVERS
) -> dict[str, float]:
    """Return bounds on the mean response time by name.

    Parameters
    ----------
    ticks : Ticks
        The jobs of a machine without partitions.
    weighted : bool
        Whether a job weighs servers times run time.
    of : str
        The resource to which ``need`` and ``servers`` refer. With weights, resources other than
        servers have the bound ``run`` only.

    Returns
    -------
    dict of str to float
        In the unit of the log: ``run``, the mean run time. ``squashed-area``, without weights: the
        mean response time of shortest remaining work first on one server as fast as all together,
        which at every time has completed the most jobs (Smith, Operations Research 26, 1978).
        ``combined``, without weights: the k-th completion is the later of those in the two
        relaxations. ``busy-dates``, with weights: a job ends half its run time or more after its
        mean busy date, and one fast server minimizes the mean busy dates (Goemans, SODA 1997).
    """
    servers = ticks.servers
    submit = [time * servers for time in ticks.submit.tolist()]
    run, weight = ticks.run.tolist(), ticks.weight.tolist()
    work = [need * time for need, time in zip(ticks.need.tolist(), run, strict=True)]
    came = sum(w * r for w, r in zip(weight, submit, strict=True))
    alone = [r + servers * p for r, p in zip(submit, run, strict=True)]
    sums: dict[str, Fraction | int] = {
        "run": sum(w * end for w, end in zip(weight, alone, strict=True)) - came,
    }
    if not weighted:
        squashed = sorted(_shortest_remaining(submit, work))
        sums["squashed-area"] = sum(squashed) - came
        both = sum(max(a, b) for a, b in zip(sorted(alone), squashed, strict=True))
        sums["combined"] = both - came
    elif of == SERVERS:
        halves = Fraction(servers * sum(w * p for w, p in zip(weight, run, strict=True)), 2)
        sums["busy-dates"] = _work_done(submit, work) - came + halves
    return {
        name: max(0.0, rounded_down(ticks.mean_response_bound(Fraction(total) / servers)))
        for name, total in sums.items()
    }


def rounded_down(value: Fraction) -> float:
    """Return the greatest float that is at most a fraction."""
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)


def _shortest_remaining(submit: list[int], work: list[int]) -> list[int]:
    """Return the completion time of each job on one server under shortest remaining work first."""
    ready: list[tuple[int, int]] = []
    ends = [0] * len(work)
    now = came = 0
    while came < len(work) or ready:
        if not ready:
            now = max(now, submit[came])
        while came < len(work) and submit[came] <= now:
            heappush(ready, (work[came], came))
            came += 1
        remaining, job = heappop(ready)
        until = now + remaining
        if came < len(work) and submit[came] < until:
            heappush(ready, (until - submit[came], job))
            now = submit[came]
        else:
            ends[job] = now = until
    return ends


def _work_done(submit: list[int], work: list[int]) -> Fraction:
    """Return the least sum of work times mean busy date; it is the same in any order."""
    twice = began = now = 0
    for came, amount in zip(submit, work, strict=True):
        if came > now:
            twice += now * now - began * began
            began = now = came
        now += amount
    return Fraction(twice + now * now - began * began, 2)
