"""Lower bounds on the response time of a log, over all schedules, preemptive ones too.

All arithmetic is exact, in whole numbers or fractions, and what is returned is rounded down. Times
are multiplied by the servers, so that the machine as one fast server has speed 1.
"""

from fractions import Fraction
from heapq import heappop, heappush
from math import inf, nextafter
from operator import mul

from schedopt.formulations.msfq.log_bound import Ticks

SERVERS = "servers"


SQUASHED, OPENED = 300_000, 70_000
"""Jobs in a second, at the least: of squashed areas, of prices to start from."""


def relaxation_bounds(
    ticks: Ticks, *, weighted: bool = False, of: str = SERVERS, seconds: float = inf
) -> dict[str, float]:
    """Return bounds on the mean response time by name.

    - ``run``: no job responds sooner than it runs.
    - ``squashed-area``: shortest remaining work first on one server as fast as all together, which
      at every instant has completed as many jobs as can be (Smith, Operations Research 26, 1978).
      Not where jobs have weights.
    - ``combined``: the k-th completion is no sooner than in either of these, for each k; nor this.
    - ``busy-dates``, where jobs have weights: a job ends half its run time or more after the mean
      time at which its work is done, which one fast server does soonest (Goemans, SODA 1997).

    ``weighted``: whether jobs weigh servers times run; all alike by default; ``of``: the resource
    that ``need`` and ``servers`` are of. Where jobs have weights, what is known of others is
    ``run`` alone, and where there are too few ``seconds`` for so many jobs too.
    """
    servers = ticks.servers
    if len(ticks.run) > SQUASHED * seconds:
        run = sum(map(mul, ticks.weight.tolist(), ticks.run.tolist()))
        return {"run": rounded_down(ticks.mean_response_bound(run))}
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
    """Return the greatest float that is not above a fraction."""
    near = float(value)
    return near if Fraction(near) <= value else nextafter(near, -inf)


def _shortest_remaining(submit: list[int], work: list[int]) -> list[int]:
    """Return when each job ends on one server, the shortest remaining work first."""
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
    """Return the least sum of work times the mean time at which it is done: the same in any order.

    Work is done evenly over each busy time of the one fast server.
    """
    twice = began = now = 0
    for came, amount in zip(submit, work, strict=True):
        if came > now:
            twice += now * now - began * began
            began = now = came
        now += amount
    return Fraction(twice + now * now - began * began, 2)
