"""A second method for schedules: a 0-1 program with a column for each start of a task.

It shares neither the search nor CP-SAT with the other engines: HiGHS solves it, and what that
leaves undecided is decided in whole numbers (see `binary.engine`). Its size is tasks times
units of time, so it is for small schedules on a coarse grid.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.formulations.dssp.declared import selection_program
from schedopt.formulations.dssp.rows import Choice, Row
from schedopt.formulations.dssp.valleys import Task, lowest_idle_processors
from schedopt.solvers.deciding import conclude
from schedopt.solvers.dssp.schedule import MOST_STARTS
from schedopt.solvers.dssp.selection.branch_and_bound.solving import Solver, conflict_oracle
from schedopt.solvers.engine import EngineTask
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule
    from schedopt.instances.dssp import Scheduled

PATIENCE = 60.0
"""Seconds that it may take where no time limit is given."""


def solve(model: Schedule, task: EngineTask) -> Result[Scheduled]:
    """Solve a schedule without a start or a bound; ``given.read`` has the columns."""
    limits, starts = task.limits, task.reading
    night, jobs = model.instance, len(model.instance.jobs)
    choice = Choice(
        [*night.index, *starts.names],
        [*night.rewards.tolist(), *[0.0] * len(starts.names)],
        starts.rows(),
        [*(j in starts.able for j in range(jobs)), *[True] * len(starts.names)],
        model.ruled,
    )
    program = selection_program(choice)
    if limits.time_limit is None:
        limits = replace(limits, time_limit=PATIENCE)
    solver = Solver(program, limits)
    decided = solver.run()
    solution = None
    if decided.best is not None:
        chosen = np.flatnonzero(decided.best[:jobs] == 1).tolist()
        begin, lengths = starts.begin(decided.best), model.grid.lengths.tolist()
        tasks = [Task(begin[i], begin[i] + lengths[i], 1, i) for i in starts.of_task]
        run = [task for task in tasks if starts.job_of[task.position] in chosen]
        solution = model.placed(chosen, begin, lowest_idle_processors(sorted(run)))
    result = conclude(
        model,
        solver.noted,
        decided,
        solver=task.name,
        version=solver.engine.version(),
        solution=solution,
        holds=conflict_oracle(program, list(model.side()), limits, solver.began),
    )
    own = msgspec.UNSET  # who decided the program is no engine of schedules
    return msgspec.structs.replace(result, found_by=own, proved_by=own)


class Starts:
    """The columns: the jobs, then each start of each task; `able` marks the jobs that can run."""

    def __init__(self, model: Schedule) -> None:
        self.model = model
        self.able: set[int] = set()
        self.names: list[str] = []
        self.of_task: dict[int, Mapping[int, int]] = {}
        self.job_of: dict[int, int] = {}
        self.stages: list[list[list[int]]] = []

    @classmethod
    def of(cls, model: Schedule) -> Starts | None:
        """Return the columns; None if there are too many."""
        starts = cls(model)
        for j in range(len(model.instance.jobs)):
            starts._add_starts_of_job(j)
            if len(starts.names) > MOST_STARTS:
                return None
        return starts

    def _add_starts_of_job(self, j: int) -> None:
        """Add the starts of a job's tasks that leave time for its other stages."""
        tasks, grid = self.model.instance.tasks, self.model.grid
        stages = [
            list(range(int(tasks.first_task[s]), int(tasks.first_task[s + 1])))
            for s in range(int(tasks.first_stage[j]), int(tasks.first_stage[j + 1]))
        ]
        # tasks of no length ask for no processor, and are done when the stage before them is
        timed = [[i for i in stage if grid.lengths[i] > 0] for stage in stages]
        timed = [stage for stage in timed if stage]
        longest = [max(int(grid.lengths[i]) for i in stage) for stage in timed]
        head, room = int(grid.releases[j]), int(grid.horizons[j]) - sum(longest)
        if head > room:
            return
        self.able.add(j)
        self.stages.append(timed)
        for stage, most in zip(timed, longest, strict=True):
            room += most
            for i in stage:
                last = room - int(grid.lengths[i])
                first = len(self.model.instance.jobs) + len(self.names)
                self.of_task[i] = {t: first + t - head for t in range(head, last + 1)}
                self.names += [f"{i} at {t}" for t in self.of_task[i]]
                self.job_of[i] = j
                if len(self.names) > MOST_STARTS:
                    return
            head += most

    def rows(self) -> Iterator[Row]:
        """Yield rows: tasks of selected jobs start once, in order, and find room."""
        for i, columns in self.of_task.items():
            body = [*columns.values(), self.job_of[i]]
            yield Row(f"once: {i}", body, [1] * len(columns) + [-1], 0, 0)
        for job in self.stages:
            for before, after in pairwise(job):
                for a in before:
                    for b in after:
                        yield from self._precedence_rows(a, b)
        ones = dict.fromkeys(self.of_task, 1)
        yield from self._capacity_rows("processors", ones, self.model.instance.processors)
        names = list(self.model.instance.index)
        for number, rule in enumerate(self.model.seats):
            uses = {i: rule.use.get(names[j], 0) for i, j in self.job_of.items()}
            yield from self._capacity_rows(f"seats {number}", uses, rule.capacity)

    def _precedence_rows(self, a: int, b: int) -> Iterator[Row]:
        """Yield rows: by each time b has started only if a has ended."""
        length = int(self.model.grid.lengths[a])
        for t in self.of_task[b]:
            started = [x for u, x in self.of_task[b].items() if u <= t]
            ended = [x for u, x in self.of_task[a].items() if u + length <= t]
            if len(ended) < len(self.of_task[a]):
                signs = [1] * len(started) + [-1] * len(ended)
                yield Row(f"{a} before {b} at {t}", [*started, *ended], signs, upper=0)

    def _capacity_rows(self, what: str, uses: Mapping[int, int], capacity: int) -> Iterator[Row]:
        """Yield rows: at each time the running tasks find room."""
        running: dict[int, list[tuple[int, int]]] = {}
        for i, use in uses.items():
            for t, x in self.of_task[i].items():
                for u in range(t, t + int(self.model.grid.lengths[i])) if use else ():
                    running.setdefault(u, []).append((x, use))
        for t, held in running.items():
            columns, sizes = zip(*held, strict=True)
            yield Row(f"{what} at {t}", columns, sizes, upper=capacity)

    def begin(self, values: np.typing.NDArray[np.int8]) -> list[int]:
        """Return when each task starts, in units; 0 for those of no length, or not run."""
        begins = [0] * len(self.model.grid.lengths)
        for i, columns in self.of_task.items():
            begins[i] = next((t for t, x in columns.items() if values[x] == 1), 0)
        return begins
