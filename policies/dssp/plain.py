"""The dispatch simulator in plain Python: the definition, which `dispatch.play` equals exactly."""

from bisect import insort
from heapq import heappop, heappush

import numpy as np

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.planned import Floats, Ints
from schedopt.policies.dssp.changing import play_changing
from schedopt.policies.dssp.played import Held, Played, prepared


def play_plainly(
    night: Instance, jobs: Ints, *, keys: Floats | None = None, draws: Floats | None = None
) -> Played:
    """Simulate a dispatcher on some jobs: see `dispatch.play`."""
    if night.beyond:
        return play_changing(night, jobs, keys=keys, draws=draws)
    run = _Simulation(night, jobs, keys, draws)
    while run.working or run.coming:
        run.advance()
        run.dispatch()
    places = np.array(run.places, dtype=np.int64)
    return Played(np.array(run.starts), places, np.array(run.completion))


class _Simulation:
    """One simulation, from event to event."""

    def __init__(
        self, night: Instance, jobs: Ints, keys: Floats | None, draws: Floats | None
    ) -> None:
        self.night = night
        self.tasks, self.keys = prepared(night, keys)
        self.lengths = self.tasks.lengths.tolist()
        self.starts = [float("nan")] * len(self.lengths)
        self.places = [-1] * len(self.lengths)
        self.completion = [float("nan")] * len(night.jobs)
        self.stage = self.tasks.first_stage[:-1].tolist()
        self.unfinished = [0] * len(night.jobs)
        self.runnable: list[tuple[float, int, int]] = []  # key, job, task, in that order
        self.pool: list[tuple[int, int]] = []  # task, job
        self.working: list[tuple[float, int, int]] = []  # end, processor, job
        self.idle = list(range(min(night.processors, max(1, len(self.lengths)))))[::-1]
        self.luck = iter(() if draws is None else draws.tolist())
        held = Held.of(night)
        self.left, self.use = held.capacity.copy(), held.use
        self.coming = sorted(jobs.tolist(), key=lambda job: night.jobs[job].release)
        self.now = 0.0

    def advance(self) -> None:
        """Go to the next event: end tasks, then release jobs."""
        released = [self.night.jobs[job].release for job in self.coming[:1]]
        self.now = min([*released, *(end for end, _, _ in self.working[:1])])
        while self.working and self.working[0][0] == self.now:
            _, place, job = heappop(self.working)
            self.idle.append(place)
            self.left += self.use[:, job]
            self.unfinished[job] -= 1
            if self.unfinished[job] == 0:
                self.stage[job] += 1
                if self.stage[job] == self.tasks.first_stage[job + 1]:
                    self.completion[job] = self.now
                else:
                    self.open_stage(job)
        while self.coming and self.night.jobs[self.coming[0]].release <= self.now:
            self.open_stage(self.coming.pop(0))

    def open_stage(self, job: int) -> None:
        """Make the tasks of a job's present stage runnable."""
        stage, first = self.stage[job], self.tasks.first_task
        self.unfinished[job] = int(first[stage + 1] - first[stage])
        for task in range(int(first[stage]), int(first[stage + 1])):
            if self.keys is None:
                self.pool.append((task, job))
            else:
                insort(self.runnable, (float(self.keys[task]), job, task))

    def dispatch(self) -> None:
        """Start tasks as long as there is an idle processor and one that finds its seats."""
        while self.idle and (taken := self.take()):
            task, job = taken
            self.left -= self.use[:, job]
            self.starts[task], self.places[task] = self.now, self.idle.pop()
            heappush(self.working, (self.now + self.lengths[task], self.places[task], job))

    def seated(self, job: int) -> bool:
        """Tell whether a task of a job finds the seats that it holds."""
        return not len(self.left) or bool((self.use[:, job] <= self.left).all())

    def take(self) -> tuple[int, int] | None:
        """Take the next task that finds its seats, and its job; None where there is none."""
        waiting: set[int] = set()  # jobs that do not find their seats
        for i, (_, job, task) in enumerate(self.runnable):
            if job in waiting:
                continue
            if self.seated(job):
                del self.runnable[i]
                return task, job
            waiting.add(job)
        found = [i for i, (_, job) in enumerate(self.pool) if self.seated(job)]
        if not found:
            return None
        i = found[int(next(self.luck) * len(found))]
        chosen, self.pool[i] = self.pool[i], self.pool[-1]
        self.pool.pop()
        return chosen
