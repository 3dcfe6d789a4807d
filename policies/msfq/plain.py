"""The simulator as plainly as it can be said, by which the compiled one is judged.

Completions at an instant come before an arrival at it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from heapq import heappop, heappush

import numpy as np
from numpy.typing import NDArray

from instances.msfq import Instance
from instances.msfq.traces import Trace
from policies.msfq.rules import Rule


class Servers:
    """Who waits and who runs: what an admission rule sees (`rules.State`).

    Attributes
    ----------
    needs, waiting, running : list of int
        By class.
    free : int
        Servers.
    """

    def __init__(self, queue: Instance) -> None:
        self.needs = [job.need for job in queue.classes]
        self.waiting, self.running = [0] * len(self.needs), [0] * len(self.needs)
        self.free = queue.servers
        self._lines: list[deque[int]] = [deque() for _ in self.needs]

    def oldest(self, among: Iterable[int]) -> int | None:
        """Return which of these classes' waiting jobs arrived first; None if none waits."""
        waiting = [c for c in among if self._lines[c]]
        return min(waiting, key=lambda c: self._lines[c][0], default=None)

    def arrive(self, job: int, c: int) -> None:
        """Put a job at the end of its class's line."""
        self._lines[c].append(job)
        self.waiting[c] += 1

    def start(self, c: int) -> int:
        """Start the first job of a class, and return it."""
        self.waiting[c] -= 1
        self.running[c] += 1
        self.free -= self.needs[c]
        if self.free < 0:
            raise RuntimeError(f"a rule started a job of {self.needs[c]} servers beyond capacity")
        return self._lines[c].popleft()

    def complete(self, c: int) -> None:
        """Give a job's servers back."""
        self.running[c] -= 1
        self.free += self.needs[c]


def play_plainly(queue: Instance, rule: Rule, trace: Trace) -> NDArray[np.float64]:
    """Play a trace to its end, and return each job's response time, shape (jobs,).

    Jobs that a rule never starts have NaN.

    Parameters
    ----------
    queue : Instance
        Servers and classes.
    rule : callable
        Which class starts next, or None: see `rules`.
    trace : Trace
        The jobs.
    """
    servers = Servers(queue)
    responses = np.full(len(trace.times), np.nan)
    ends: list[tuple[float, int]] = []

    def admit(now: float) -> None:
        while (c := rule(servers)) is not None:
            job = servers.start(c)
            heappush(ends, (now + float(trace.sizes[job]), job))

    def complete() -> None:
        now, job = heappop(ends)
        servers.complete(int(trace.classes[job]))
        responses[job] = now - trace.times[job]
        admit(now)

    for job, (time, c) in enumerate(zip(trace.times, trace.classes, strict=True)):
        while ends and ends[0][0] <= time:
            complete()
        servers.arrive(job, int(c))
        admit(float(time))
    while ends:
        complete()
    return responses
