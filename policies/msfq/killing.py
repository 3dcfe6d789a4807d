"""Rules of the MJQM simulator: a window, and two that stop jobs and begin them anew.

A job that is stopped waits aside and, later, runs as long as it would have; what it did is lost.
So the runs that end make up a schedule that preempts nobody.
"""

from collections import deque
from collections.abc import Reversible
from itertools import islice
from typing import cast

from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, is_count
from schedopt.policies.msfq.registration import admission_rule
from schedopt.policies.msfq.rule import Job, Rule, State
from schedopt.policies.registry import NotApplicableError

SOURCE = "the MJQM simulator of NeDS-Lab, Ca' Foscari University of Venice"
CYCLES = 10


@admission_rule(
    "smash",
    source=f"{SOURCE}: SMASH",
    summary="of the first few who wait, the most servers that fit",
    window=Option(2, "a whole number >= 0; 0 is all who wait", lambda v: v == 0 or is_count(v)),
)
class Smash(Rule):
    """Of the first ``window`` jobs that wait, start the widest that fits, of such the oldest."""

    def __init__(self, queue: Instance, window: int = 2) -> None:
        self._window = window or None

    def __call__(self, state: State) -> Job | None:
        """Return what starts next."""
        fitting = (job for job in islice(state.jobs, self._window) if job.need <= state.free)
        return max(fitting, key=lambda job: job.need, default=None)


class _Killing(Rule):
    """First come, first served, but running jobs may be stopped, and start over later.

    Who is put aside holds no more than ``room`` servers together, put there at most ``cycles``
    times before all begin anew; until those have ended, ``calm``, nobody else is put aside.
    """

    kills = True

    def __init__(self, queue: Instance, cycles: int, room: int) -> None:
        self._needs = sorted(job.need for job in queue.classes)
        self._servers, self._cycles, self._room = queue.servers, cycles, room
        self._line: deque[Job] = deque()
        self._last, self._held, self._killed = -1, 0, 0
        self._aside: list[Job] = []
        self._again: set[int] = set()
        self._calm = False
        self._due: deque[Job] | None = None

    def __call__(self, state: State) -> Job | None:
        """Return what starts next: after an event, what is to start is found all at once."""
        if self._due is None:
            came = []
            for job in reversed(cast("Reversible[Job]", state.jobs)):
                if job.number <= self._last:
                    break
                came.append(job)
            self._line.extend(reversed(came))
            self._last = max(self._last, *(job.number for job in came), -1)
            self._due, self._free = deque(), state.free
            self._serving = [run.job for run in state.in_service]
            self._again &= {job.number for job in self._serving}
            self._flush(state)
        if self._due:
            return self._due.popleft()
        self._due = None
        return None

    def _flush(self, state: State) -> None:
        """Stop and start the jobs that the rule names."""
        raise NotImplementedError

    @property
    def _first(self) -> int:
        """The need of the first in line."""
        return self._line[0].need if self._line else 0

    def _begin(self, job: Job, again: bool) -> None:
        assert self._due is not None  # noqa: S101  there is an event
        self._due.append(job)
        self._serving.append(job)
        self._free -= job.need
        if again:
            self._again.add(job.number)

    def _serve(self, again: bool = False) -> None:
        """Start the first in line while it fits; ``again``: among those that start over."""
        while self._line and self._first <= self._free:
            self._begin(self._line.popleft(), again)

    def _kill(self, state: State) -> None:
        """Stop all running jobs."""
        assert self._due is not None  # noqa: S101  there is an event
        due = {job.number for job in self._due}
        for job in self._serving:
            if job.number not in due:
                state.kill(job.number)
        self._due.clear()
        self._aside += self._serving
        self._held += self._servers - self._free
        self._serving, self._free = [], self._servers
        self._killed += 1

    def _may_kill(self, most: int) -> bool:
        busy = self._servers - self._free
        room = min(most, self._room - self._held)
        waits = self._first > self._free and not self._calm
        return bool(self._serving) and busy <= room and self._killed < self._cycles and waits


@admission_rule(
    "kill-smart",
    source=f"{SOURCE}: KillSmart",
    summary="FCFS that stops a few small jobs for a large one; together they begin anew later",
    suits="alone",
    k=Option(
        None,
        "a whole number >= 2: after k - 1 stops all begin anew (10, or fewer where they "
        "would not fit together)",
        lambda v: is_count(v) and v > 1,
    ),
    v=Option(1, "a whole number >= 1: busy servers up to which jobs are stopped", is_count),
)
class KillSmart(_Killing):
    """Where at most ``v`` servers are busy and the first in line does not fit, running jobs stop.

    After k - 1 stops, or k large jobs of two classes, or where nobody else is left, all that were
    stopped begin anew as soon as they fit together.
    """

    def __init__(self, queue: Instance, k: int | None = None, v: int = 1) -> None:
        k = min(CYCLES, max(2, 1 + queue.servers // v)) if k is None else k
        if (k - 1) * v > queue.servers:
            raise NotApplicableError(
                f"kill-smart may stop {(k - 1) * v} servers' jobs, which then never fit together "
                f"on {queue.servers}: take k = {1 + queue.servers // v} at most"
            )
        super().__init__(queue, k - 1, k * v)
        self._most, self._large, self._two = v, 0, len(queue.classes) == 2

    def _begin(self, job: Job, again: bool) -> None:
        super()._begin(job, again)
        self._large += self._two and job.need == self._needs[1] and not self._restarting

    _restarting = False

    def _flush(self, state: State) -> None:
        enough = self._large > self._cycles
        may = not enough and self._killed < self._cycles and self._held < self._room
        if may and self._free == self._servers and self._first == 1:
            self._serve()
        busy = self._servers - self._free
        if self._may_kill(self._most) and self._first > busy and not enough:
            self._kill(state)
            self._serve()
        self._calm = self._calm and bool(self._again)
        alone = not self._serving and not self._line and self._held > 0
        full = self._held == self._room or self._killed == self._cycles
        if not (full or alone or self._large > self._cycles):
            self._serve()
        elif self._free >= self._held:
            self._restarting = True
            for job in self._aside:
                self._begin(job, True)
            self._restarting = False
            self._aside, self._held, self._killed, self._large = [], 0, 0, 0
            self._calm = True
            self._serve(again=True)


@admission_rule(
    "dual-kill",
    source=f"{SOURCE}: DualKill",
    summary="FCFS that in turn stops small jobs for large ones, and large jobs for small ones",
    suits="alone",
    k=Option(
        CYCLES,
        "a whole number >= 2: after k - 1 stops all begin anew",
        lambda v: is_count(v) and v > 1,
    ),
)
class DualKill(_Killing):
    """Small jobs stop for one of the largest need, up to k - 1 stops; then the roles reverse.

    In the other turn one that holds all servers is stopped for one of the smallest need.
    """

    def __init__(self, queue: Instance, k: int = CYCLES) -> None:
        largest = max(job.need for job in queue.classes)
        super().__init__(queue, k - 1, (k - 1) * largest)
        self._large_turn = False

    def _flush(self, state: State) -> None:
        whole = len(self._serving) == 1 and not self._free
        wanted = self._needs[0] if self._large_turn else self._needs[-1]
        if whole == self._large_turn and self._first == wanted and self._may_kill(self._needs[-1]):
            self._kill(state)
            self._serve()
        self._calm = self._calm and bool(self._again or self._held)
        alone = not self._serving and not self._line
        if not (self._held == self._room or alone or self._killed == self._cycles):
            self._serve()
        elif self._room > self._servers or self._free >= self._held:
            left = []
            for job in sorted(self._aside, key=lambda job: job.need):
                if job.need <= self._free:
                    self._begin(job, True)
                    self._held -= job.need
                else:
                    left.append(job)
            self._aside = left
            if not left:
                self._killed, self._large_turn = 0, not self._large_turn
            self._calm = True
            self._serve(again=True)
