"""Window: some jobs of a log, alone on the machine, with the least mean response time."""

from __future__ import annotations

import time
from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from math import ceil, gcd, inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from schedopt.formulations.cp_sat import WholeModel
from schedopt.formulations.msfq.log_bound import Ticks
from schedopt.formulations.msfq.unruled import Unruled
from schedopt.formulations.protocol import Hints, Settings, Value
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance, Started, Windowed
from schedopt.instances.msfq.logs import Floats, Jobs
from schedopt.instances.options import Option, checked, is_count

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import IntVar

MOST_JOBS = 2_000
"""The most jobs of a window; the model of more would take gigabytes."""
ROOM = 2**60
"""A bound on the model's objective."""


class Window(Unruled, WholeModel):
    """Schedule some jobs of a log, as if there were no others, with the least response time.

    The jobs are those of the rows ``first`` to ``first + count - 1``. Nobody is preempted. The
    objective is their mean response time, or as the instance says the mean weighted by work.

    Parameters
    ----------
    queue : Instance
        Of a log.
    first : int
        The first job, by row from 0.
    count : int, optional
        How many jobs; 40 by default, or as many as there are from the first on.

    Attributes
    ----------
    ticks : Ticks
        The jobs in whole numbers; ``exact`` says whether these are the log's own.
    model : cp_model.CpModel
        Add native constraints as you like; `starts` has each job's start, in ticks from the first
        submit of the window.

    Raises
    ------
    InputError
        If the instance is of no log, or the window not within it.

    Notes
    -----
    Source: Baptiste, Le Pape and Nuijten, Constraint-Based Scheduling, 2001, chapter 3
    (cumulative). Servers are alike, so that any that are free serve.
    """

    problem: ClassVar[str] = "msfq"
    refusing: ClassVar[str] = "on a window"
    name: ClassVar[str] = "window"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    inexact: ClassVar[str] = "among schedules on a grid that rounds times"
    known_options: ClassVar[Mapping[str, Option]] = {
        "first": Option(0, "a row of the log, from 0", lambda v: type(v) is int and v >= 0),
        "count": Option(
            None, f"a whole number from 1 to {MOST_JOBS}", lambda v: is_count(v) and v <= MOST_JOBS
        ),
    }

    def __init__(self, queue: Instance, *, first: int = 0, count: int | None = None) -> None:
        given = {"first": first} | ({} if count is None else {"count": count})
        checked(given, self.known_options, "window")
        began = time.perf_counter()
        super().__init__(queue)
        self.add(*queue.constraints)
        if queue.log is None:
            raise InputError("an instance of a log", found="one of classes", place="log")
        queue.expect_servers_alone("a window")
        rows = len(queue.jobs)
        count = min(40, rows - first) if count is None else count
        if not (count >= 1 and first + count <= rows):
            expected = f"a window within the log's {rows} jobs"
            raise InputError(expected, found=f"first={first}, count={count}", place="option first")
        self.first, self.count = first, count
        self.jobs: Jobs = queue.jobs.take(slice(first, first + count))
        self.ticks = Ticks.of(queue, first, count)
        self.exact = self.ticks.exact
        self.starts: list[IntVar] = []
        self.model  # noqa: B018 - builds it
        self.seconds = time.perf_counter() - began

    @property
    def options(self) -> Settings:
        """Which jobs."""
        return {"first": self.first, "count": self.count}

    def _build(self) -> None:
        """State starts, the machine, the order of equal jobs, and the cost of response times."""
        ticks, model = self.ticks, self.model
        runs = ticks.run.tolist() if self.exact else (ticks.run + 1).tolist()
        submits = ticks.submit.tolist() if self.exact else (ticks.submit + 1).tolist()
        latest = max(submits) + sum(runs)
        pieces, last = [], dict[tuple[int, int], Any]()
        for job, (submit, need, run) in enumerate(
            zip(submits, ticks.need.tolist(), runs, strict=True)
        ):
            start = model.new_int_var(submit, latest - run, f"start[{self.first + job}]")
            pieces.append(model.new_fixed_size_interval_var(start, run, f"run[{job}]"))
            if (need, run) in last:  # who came first of two that are alike starts no later
                model.add(last[need, run] <= start)
            last[need, run] = start
            self.starts.append(start)
        model.add_cumulative(pieces, ticks.need.tolist(), ticks.servers)
        weights = ticks.weight.tolist()
        shared = gcd(*weights) or 1  # all may be rounded down to 0
        weights = [weight // shared for weight in weights]
        if sum(weights) * latest >= ROOM:
            self.exact = False
            shift = (sum(weights) * latest // ROOM).bit_length()
            weights = [max(1, weight >> shift) for weight in weights]
        given = sum(
            weight * (run - submit)
            for weight, run, submit in zip(weights, runs, submits, strict=True)
        )
        constant = model.new_constant(given)  # no offset: bounds are stated on the sum of the terms
        model.minimize(
            sum(w * start for w, start in zip(weights, self.starts, strict=True)) + constant
        )
        self.reward_scale = float(ticks.total * ticks.scale / shared)

    def hint(self, solution: Windowed) -> Hints:
        """Yield the starts of a known schedule."""
        for start, known in zip(self.starts, solution.starts, strict=True):
            yield start, float(ceil((known.start - self.jobs.submit[0]) * self.ticks.scale))

    def decode(self, value: Value) -> Windowed:
        """Turn starts in ticks into the schedule of their order.

        Jobs start as soon as they can in that order; where the user changed the model, as it says.
        """
        given = [value(start) for start in self.starts]
        if self.changed:
            told = self.jobs.submit[0] + np.array(given) / float(self.ticks.scale)
            return self._windowed(np.maximum(told, self.jobs.submit))
        return self.scheduled(sorted(range(self.count), key=given.__getitem__))

    def scheduled(self, order: list[int]) -> Windowed:
        """Return the schedule in which each job, in this order, starts as early as it can.

        Times are sums of the log's own times, so no start is off by rounding.
        """
        return self._windowed(placed(self.jobs, self.instance.servers, order))

    def _windowed(self, starts: Floats) -> Windowed:
        response = starts + self.jobs.run - self.jobs.submit
        work = self.jobs.need * self.jobs.run
        return Windowed(
            jobs=self.count,
            mean_response_time=float(response.mean()),
            weighted_response_time=float(work @ response / work.sum()),
            first=self.first,
            count=self.count,
            starts=tuple(
                Started(job=self.first + i, start=start) for i, start in enumerate(starts.tolist())
            ),
        )


def placed(jobs: Jobs, servers: int, order: list[int]) -> Floats:
    """Return starts, shape (jobs,): each job in turn as early as it fits."""
    starts = np.full(len(jobs), np.inf)
    edges, held = [-inf], [0]  # from each edge to the next so many servers are held

    def edge(time: float) -> int:
        at = bisect_left(edges, time)
        if at == len(edges) or edges[at] != time:
            edges.insert(at, time)
            held.insert(at, held[at - 1])
        return at

    for job in order:
        need, run, start = int(jobs.need[job]), float(jobs.run[job]), float(jobs.submit[job])
        at = bisect_right(edges, start) - 1
        while held[at] + need > servers or (at + 1 < len(edges) and edges[at + 1] < start + run):
            if held[at] + need > servers:
                start = edges[at + 1]
            at += 1
        starts[job] = start
        for part in range(edge(start), edge(start + run)):
            held[part] += need
    return starts
