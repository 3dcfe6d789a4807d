"""The questions the other way round: how much load, or how few servers, a target allows."""

from math import inf

import msgspec

from schedopt.formulations.msfq.threshold import Threshold
from schedopt.instances.errors import InputError, shown
from schedopt.instances.msfq import Instance
from schedopt.solvers.msfq.threshold.enumeration import evaluate

BISECTIONS = 60


def best_response_time(queue: Instance, *, method: str = "area", variant: str = "literal") -> float:
    """Return the least objective over all thresholds, infinite where none is stable."""
    if queue.load >= 1:
        return inf
    model = Threshold(queue, method=method, variant=variant)  # type: ignore[arg-type]
    evaluate(model)
    best = model.best()
    return inf if best is None else float(model.curve[best])


def largest_arrival_rate(
    queue: Instance, target: float, *, method: str = "area", variant: str = "literal"
) -> float:
    """Return the largest total arrival rate, at the same mix, that meets a response-time target.

    It is 0 where even a nearly idle one-or-all system misses the target. The target is the largest
    mean (or weighted) response time. ``exact`` is right at every load; the approximations
    overestimate at low load, and then return too low a rate.
    """
    _positive(target)
    most = queue.arrival_rate / queue.load
    low, high = 0.0, most * (1 - 1e-9)
    if best_response_time(queue.scaled(high), method=method, variant=variant) <= target:
        return high
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if best_response_time(queue.scaled(middle), method=method, variant=variant) <= target:
            low = middle
        else:
            high = middle
        if high - low <= 1e-12 * most:
            break
    return low


def fewest_servers(
    queue: Instance, target: float, *, most: int = 4096, method: str = "area"
) -> int | None:
    """Return the fewest servers with which the same classes meet a response-time target, or None.

    A job that needs all servers goes on doing so. Counted up from two, to `most`: a drain of more
    servers takes longer, so that nothing says that more of them are never worse.
    """
    _positive(target)
    for servers in range(2, most + 1):
        if best_response_time(_with_servers(queue, servers), method=method) <= target:
            return servers
    return None


def _with_servers(queue: Instance, servers: int) -> Instance:
    classes = tuple(
        job if job.need == 1 else msgspec.structs.replace(job, need=servers)
        for job in queue.classes
    )
    return msgspec.structs.replace(queue, servers=servers, classes=classes, constraints=())


def _positive(target: float) -> None:
    if not 0 < target < inf:
        raise InputError("a finite number > 0", found=shown(target), place="target")
