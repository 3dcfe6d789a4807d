"""Preemptive references on logs: they show what nonpreemption costs; no cluster runs them.

They stop jobs and resume them later, at no cost and on any servers, and know how long each job has
still to run. They are defined here job by job, and played in plain Python.
"""

from collections.abc import Callable, Iterator
from functools import partial
from math import inf

import numpy as np

from schedopt.instances.msfq import Instance, Preempted
from schedopt.instances.msfq.answers import packed
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.options import Option, is_number
from schedopt.policies.msfq.logs.measures import SLOWDOWN_BOUND, confidence
from schedopt.policies.registry import NotApplicableError, Policy, register

MOST = 200_000
"""The most jobs that are played in plain Python."""
Left = Callable[[int], float]
Choice = Callable[[Jobs, int, list[int], Left], list[int]]
"""``choice(jobs, servers, present, left)``: of the jobs present, by arrival, those to serve now."""
Piece = tuple[int, float, float]


def server_filling(jobs: Jobs, servers: int, present: list[int], left: Left) -> list[int]:
    """Serve the widest first of the oldest jobs that together need all servers."""
    return _filled(jobs, servers, present)


def server_filling_srpt(jobs: Jobs, servers: int, present: list[int], left: Left) -> list[int]:
    """Serve the widest first of the jobs of least work that together need all servers."""
    return _filled(jobs, servers, _by_work(jobs, present, left))


def divisor_filling(jobs: Jobs, servers: int, present: list[int], left: Left) -> list[int]:
    """Serve those of the k oldest jobs that fill the most servers, ties to the oldest.

    Where needs divide k, any k jobs hold some that fill all k servers: so these do.
    """
    oldest = present[:servers]
    sums = [1]  # bit s: some of the jobs from here on, the last first, need s servers together
    for job in reversed(oldest):
        sums.append(sums[-1] | sums[-1] << int(jobs.need[job]))
    sums.reverse()
    target = (sums[0] & ((1 << servers + 1) - 1)).bit_length() - 1
    served = []
    for job, rest in zip(oldest, sums[1:], strict=True):
        need = int(jobs.need[job])
        if need <= target and rest >> (target - need) & 1:
            served.append(job)
            target -= need
    return served


def least_work_left(jobs: Jobs, servers: int, present: list[int], left: Left) -> list[int]:
    """Serve jobs with the least work left, skipping those that do not fit."""
    return _fitting(jobs, servers, _by_work(jobs, present, left))


def _by_work(jobs: Jobs, present: list[int], left: Left) -> list[int]:
    return sorted(present, key=lambda job: (int(jobs.need[job]) * left(job), job))


def _filled(jobs: Jobs, servers: int, ordered: list[int]) -> list[int]:
    needed = count = 0
    while needed < servers and count < len(ordered):
        needed += int(jobs.need[ordered[count]])
        count += 1
    return _fitting(jobs, servers, sorted(ordered[:count], key=lambda job: -int(jobs.need[job])))


def _fitting(jobs: Jobs, servers: int, ordered: list[int]) -> list[int]:
    served = []
    for job in ordered:
        if jobs.need[job] <= servers:
            served.append(job)
            servers -= int(jobs.need[job])
        if not servers:
            break
    return served


def played(jobs: Jobs, servers: int, choice: Choice) -> Iterator[Piece]:
    """Yield the pieces in which jobs are served, as (job, begin, end), each when it ends.

    At an instant first all ends that ends there, then all comes that is submitted there, and then
    who is served is chosen anew.
    """
    need, submit = jobs.need, jobs.submit.tolist()
    left = jobs.run.tolist()
    present: list[int] = []
    began: dict[int, float] = {}
    ends: dict[int, float] = {}
    came = 0
    while came < len(need) or present:
        now = min(submit[came] if came < len(need) else inf, min(ends.values(), default=inf))
        for job in [job for job, end in ends.items() if end <= now]:
            yield job, began.pop(job), ends.pop(job)
            present.remove(job)
        while came < len(need) and submit[came] == now:
            present.append(came)
            came += 1
        remaining = partial(_left, left, ends, now)
        served = set(choice(jobs, servers, present, remaining))
        for job in [job for job in ends if job not in served]:
            left[job] = ends.pop(job) - now
            if (begin := began.pop(job)) < now:
                yield job, begin, now
        for job in sorted(served - ends.keys()):
            began[job], ends[job] = now, now + left[job]


def _left(left: list[float], ends: dict[int, float], now: float, job: int) -> float:
    return ends[job] - now if job in ends else left[job]


def _run(
    name: str,
    choice: Choice,
    needs: str,
    queue: Instance,
    *,
    slowdown_bound: float = SLOWDOWN_BOUND,
) -> Preempted:
    """Play a log under a preemptive reference; `NotApplicableError` if it is not for such a log.

    ``needs`` says which needs it is for: any, divisors of the servers, or powers of 2, as the
    servers then are.
    """
    if queue.log is None:
        raise NotApplicableError(f"{name} plays logs: this instance holds classes of jobs")
    if queue.resources or queue.partitions:
        raise NotApplicableError(f"{name} is for logs without resources or partitions")
    jobs, servers = queue.jobs, queue.servers
    if len(jobs) > MOST:
        raise NotApplicableError(f"{name} is played in plain Python, for at most {MOST:,} jobs")
    if needs == "divisors" and (servers % jobs.need).any():
        raise NotApplicableError(f"{name} is for needs that divide the number of servers")
    if needs == "powers" and any(n & (n - 1) for n in {servers, *np.unique(jobs.need).tolist()}):
        raise NotApplicableError(f"{name} is for servers and needs that are powers of 2")
    pieces = np.array(list(played(jobs, servers, choice)))
    ends = np.zeros(len(jobs))
    np.maximum.at(ends, pieces[:, 0].astype(np.int64), pieces[:, 2])
    response = ends - jobs.submit
    work = jobs.need * jobs.run
    slowdown = np.maximum(1.0, response / np.maximum(jobs.run, slowdown_bound))
    return Preempted(
        jobs=len(jobs),
        mean_response_time=float(response.mean()),
        weighted_response_time=float(work @ response / work.sum()),
        mean_bounded_slowdown=float(slowdown.mean()),
        slowdown_bound=slowdown_bound,
        preemptions=len(pieces) - len(jobs),
        makespan=float(ends.max() - jobs.submit[0]),
        confidence=confidence(response, work if queue.objective == "weighted" else None),
        count=len(pieces),
        pieces=packed(pieces.T.ravel()),
    )


FILLING = "Grosof, Harchol-Balter and Scheller-Wolf, Queueing Systems 102, 2022, section 3"
OPTIMAL = "Grosof, Scully, Harchol-Balter and Scheller-Wolf, Proc. ACM SIGMETRICS, 2023"
for _name, _choice, _needs, _source, _summary in (
    (
        "server-filling",
        server_filling,
        "powers",
        FILLING,
        "the widest first of the fewest oldest jobs that can fill all servers",
    ),
    (
        "server-filling-mem",
        server_filling,
        "any",
        "ServerFilling with memory of the MJQM simulator of NeDS-Lab, which takes any needs",
        "the widest first of the fewest oldest jobs that need all servers together",
    ),
    (
        "server-filling-srpt",
        server_filling_srpt,
        "powers",
        OPTIMAL,
        "the widest first of the fewest jobs with least work left that can fill all servers",
    ),
    (
        "divisor-filling",
        divisor_filling,
        "divisors",
        "after the same paper, which proves that k jobs can fill all servers; its choice differs",
        "of the k oldest jobs those that fill most servers, the oldest of such",
    ),
    (
        "preemptive-srpt",
        least_work_left,
        "any",
        "Schrage, Operations Research 16, 1968, for one server; here who does not fit is skipped",
        "the least work left first",
    ),
):
    register(
        Policy(
            name=_name,
            problem="msfq",
            run=partial(_run, _name, _choice, _needs),
            source=_source,
            summary=f"a preemptive reference, which no cluster runs: {_summary}",
            options={
                "slowdown_bound": Option(
                    SLOWDOWN_BOUND, "a number above 0", lambda v: is_number(v) and v > 0
                )
            },
            suits="beside",
        )
    )
