"""A log at one moment: who waits, who runs and since when, and how a policy continues."""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Floats, Ints, Jobs, Labels

Rows = NDArray[np.intp]
SLIVER = 1e-9
"""Least remaining part of a job that still runs."""


@dataclass(frozen=True, eq=False)
class Snapshot:
    """What is known of a log at a time, replayed until then under a policy."""

    queue: Instance  # whose log it is. Of run times, only those of jobs that have ended are known
    # When each job starts; what is after ``time`` is not known either; shape (jobs,).
    starts: Floats
    time: float
    # waiting, running, ended: rows of the log; those that have ended in the order of their ends.
    waiting: Rows = field(init=False)
    running: Rows = field(init=False)
    ended: Rows = field(init=False)

    def __post_init__(self) -> None:
        jobs, at = self.queue.jobs, self.time
        ends = self.starts + jobs.run
        begun, over = self.starts <= at, ends <= at
        ended = np.flatnonzero(over)
        for name, rows in (
            ("waiting", np.flatnonzero((jobs.submit <= at) & ~begun)),
            ("running", np.flatnonzero(begun & ~over)),
            ("ended", ended[np.argsort(ends[ended], kind="stable")]),
        ):
            object.__setattr__(self, name, rows)

    @property
    def asked(self) -> Rows:
        """The rows whose run times are not known yet: who waits, then who runs."""
        return np.concatenate((self.waiting, self.running))

    @cached_property
    def elapsed(self) -> Floats:
        """For how long each of them has run."""
        waiting = np.zeros(len(self.waiting))
        return np.concatenate((waiting, self.time - self.starts[self.running]))

    def onward(self, runs: Floats, *, estimated: bool) -> Instance:
        """Return the log from here on, given run times for `asked`.

        Until ``time`` the machine is full: of the jobs that run, and of one that holds the rest.
        So whoever waits has waited until now, and a policy decides at ``time`` as it would have.
        With ``estimated`` a policy knows of who runs what was requested, else how long it runs.
        """
        bare, jobs, running = self._bare, self.queue.jobs, len(self.running)
        waiting = len(self.waiting)
        gone, count = self.time - float(bare.submit[0]), len(bare) - waiting
        mine = runs[waiting:]
        rest = np.maximum(mine - self.elapsed[waiting:], SLIVER * np.maximum(mine, 1.0))
        run = bare.run.copy()
        run[:running], run[count:] = gone + rest, runs[:waiting]
        asked = None
        if jobs.estimate is not None and estimated:
            asked = np.full(len(bare), np.nan)
            left = jobs.estimate[self.running] - self.elapsed[waiting:]
            asked[:running] = gone + np.fmax(left, rest)
            asked[count:] = jobs.estimate[self.waiting]
        if asked is not None and not np.isfinite(asked).any():
            asked = None
        return self.queue.with_jobs(replace(bare, run=run, estimate=asked))

    @cached_property
    def _bare(self) -> Jobs:
        """The jobs of `onward`: who runs, what holds the rest until now, who waits."""
        jobs, waiting, running = self.queue.jobs, self.waiting, self.running
        zero = min(float(jobs.submit[waiting].min(initial=self.time)), self.time) - 1.0
        free = self.queue.servers - int(jobs.need[running].sum())
        held = [free] if free else []
        count = len(running) + len(held)
        user = None
        if jobs.user is not None:
            codes = [jobs.user.codes[running], np.full(len(held), -1), jobs.user.codes[waiting]]
            user = Labels(np.concatenate(codes).astype(np.int32), jobs.user.names)
        needs: list[Ints] = [jobs.need[running], np.array(held, dtype=np.int32), jobs.need[waiting]]
        return Jobs(
            submit=np.concatenate((np.full(count, zero), jobs.submit[waiting])),
            need=np.concatenate(needs).astype(np.int32),
            run=np.full(count + len(waiting), self.time - zero),
            user=user,
        )
