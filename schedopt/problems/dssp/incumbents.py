"""First schedules: what dispatchers get done in time, and the selection that bounds every schedule.

Each dispatcher runs all jobs, and those of the best selection, also of a machine that is filled
less. Jobs that are late, and those that rules or predecessors then ask to go with them, are dropped
and the others dispatched again, until nobody is late: so nobody who is chosen is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from schedopt.formulations.dssp import Schedule, Selection
from schedopt.instances.constraints import Forbid, Seats
from schedopt.instances.dssp import Scheduled, Selected, scheduled
from schedopt.solvers import door
from schedopt.solvers.alarm import alarm, raised
from schedopt.solvers.clock import now
from schedopt.solvers.deciding import left
from schedopt.solvers.dssp.schedule.solving import FILLS, bounding_selection, relaxed_of, told
from schedopt.solvers.dssp.trivial import trivial
from schedopt.solvers.engine import Partial
from schedopt.solvers.result import Limits, Result
from schedopt.solvers.stopping import stopped

if TYPE_CHECKING:
    from schedopt.instances.dssp.planned import Ints
    from schedopt.policies.dssp.dispatch import Played

SOON = ("lcpf", "edf", "density", "cpa", "least-slack", "reward")  # dispatchers that go first
FEW, SHARE = 0.1, 0.15  # parts of the time limit, for the first few of these schedules, and for all
CHOOSING = 1.0  # most seconds of a selection among jobs that are in time


def first(model: Schedule, limits: Limits) -> tuple[Partial, bool]:
    """Return the best first schedule with the bound, and whether that ends the search.

    A few dispatchers run before the bound is known, which a schedule that beats it refutes.
    """
    began, limit = now(), limits.time_limit
    search = Search(model, limits)
    with suppress(KeyboardInterrupt):
        search.begin(None if limit is None else FEW * limit)
    relaxed = relaxed_of(model, left(limits, began))
    if relaxed.bound is None and relaxed.termination != "infeasible":
        weak = trivial(bounding_selection(model))[1]
        relaxed = msgspec.structs.replace(relaxed, bound=weak)
    search.bounded(relaxed)
    with suppress(KeyboardInterrupt):
        search.run(None if limit is None else SHARE * limit)
    result = told(model, limits, search.schedule(), relaxed.bound, "time-limit")
    infeasible = relaxed.termination == "infeasible"
    if infeasible:
        claim = msgspec.structs.replace(relaxed, proved_by="selection")
        what = alarm(msgspec.structs.replace(result, found_by=search.who), claim)
        result = (
            raised(result, what)
            if what
            else msgspec.structs.replace(
                result, termination="infeasible", conflict=relaxed.conflict
            )
        )
    enough = result.gap is not None and result.gap <= limits.gap
    result = credited(result, search.who, "selection", proves=enough or result.solution is None)
    if enough or (stopped() and not infeasible):
        result = msgspec.structs.replace(result, termination="optimal" if enough else "interrupted")
    return Partial(result, relaxed.bound, relaxed), enough or infeasible or stopped()


def credited(result: Result, found: str | None, bounded: str, *, proves: bool) -> Result:
    """Return a result with the dispatcher that found it, and who bounded it."""
    return msgspec.structs.replace(
        result,
        solver=found or bounded,
        found_by=found,
        bounded_by=None if result.bound is None else bounded,
        proved_by=bounded if proves else None,
        seconds=msgspec.structs.replace(result.seconds, solve=0.0),
    )


class Search:
    """The best schedule of all dispatchers in which nobody is late and all rules hold."""

    def __init__(self, model: Schedule, limits: Limits) -> None:
        self.model, self.limits = model, limits
        self.chosen: Selected | None = None
        added = [rule for rule in model.added if isinstance(rule, Seats)]
        own = model.instance
        self.night = (
            msgspec.structs.replace(own, constraints=(*own.constraints, *added)) if added else own
        )
        choice = Selection(own).add(*model.added)
        self.program = choice.program()
        self.bare = not choice.stated and not any(job.after for job in own.jobs)
        self.value = -1.0
        self.who: str | None = None
        self.jobs: Ints = np.zeros(0, dtype=np.int64)
        self.played: Played | None = None
        self.target = float("inf")
        self.until: float | None = None
        if self.bare or self.program.broken(()) is None:
            self._keep(None, self.jobs, None)

    def bounded(self, relaxed: Result[Selected]) -> None:
        """Take the selection that bounds every schedule: what meets the bound ends the search."""
        self.chosen = relaxed.solution
        if relaxed.bound is not None:
            self.target = relaxed.bound / (1 + max(1e-9, self.limits.gap))

    def begin(self, seconds: float | None) -> None:
        """Try a few dispatchers on all jobs."""
        self._each(list(SOON[:3]), iter([self.able(job.name for job in self.night.jobs)]), seconds)

    def run(self, seconds: float | None) -> None:
        """Try all dispatchers on one set of jobs after another, as long as there is time."""
        from schedopt.policies.dssp.dispatchers import DRAWN, KEYS
        from schedopt.policies.registry import is_own

        names = [name for name in KEYS if name not in DRAWN and is_own("dssp", name)]
        names.sort(key=lambda name: (name not in SOON, SOON.index(name) if name in SOON else 0))
        self._each(names, self._sets(), seconds)

    def _each(self, names: list[str], sets: Iterator[Ints], seconds: float | None) -> None:
        from schedopt.policies.dssp.dispatchers import KEYS

        self.until = None if seconds is None else now() + seconds
        for jobs in sets:
            for name in names:
                if self._over():
                    return
                self.attempt(name, KEYS[name](self.night), jobs)

    def _over(self) -> bool:
        late = self.until is not None and now() > self.until
        return stopped() or self.value >= self.target or late

    def _sets(self) -> Iterator[Ints]:
        """Yield the jobs to dispatch: the best selection, all, the best for smaller machines."""
        night = self.model.instance
        if self.chosen is not None:
            yield self.able(self.chosen.selected)
        yield self.able(job.name for job in night.jobs)
        for fill in FILLS[1:]:
            chosen = self._selected(Selection(night, fill=fill).add(*self.model.added))
            if chosen is None or night.rewards[chosen].sum() <= self.value:
                return
            yield chosen

    def able(self, names: Iterable[str]) -> Ints:
        """Return the positions of jobs that can be in time."""
        night = self.night
        at = np.array(sorted(night.index[name] for name in names), dtype=np.int64)
        return np.asarray(at[night.in_time[at]], dtype=np.int64)

    def _selected(self, choice: Selection) -> Ints | None:
        limit = self.limits.time_limit
        seconds = CHOOSING if limit is None else min(CHOOSING, 0.1 * limit)
        result = door.solve(choice, Limits(time_limit=seconds, gap=1e-4, seed=self.limits.seed))
        return None if result.solution is None else self.able(result.solution.selected)

    def attempt(self, name: str, key: Any, jobs: Ints | None) -> None:
        """Dispatch jobs, and those of them that are in time, until all are; keep the best."""
        from schedopt.policies.dssp.dispatch import play

        rewards, kept = self.night.rewards, jobs
        while kept is not None and rewards[kept].sum() > self.value:
            played = play(self.night, kept, keys=key)
            done = self._in_time(kept, played)
            if rewards[done].sum() <= self.value:
                return
            allowed = self._allowed(done)
            if allowed is not None and len(allowed) == len(kept):
                self._keep(name, kept, played)
                return
            if allowed is not None and self._over():
                return
            kept = allowed

    def _keep(self, name: str | None, jobs: Ints, played: Played | None) -> None:
        self.value, self.who = float(self.night.rewards[jobs].sum()), name
        self.jobs, self.played = jobs, played

    def _in_time(self, jobs: Ints, played: Played) -> Ints:
        ends = played.completion
        late = (self.night.worth(j, float(ends[j])) != 1.0 for j in jobs.tolist())
        return jobs[~np.fromiter(late, np.bool_, len(jobs))]

    def _allowed(self, jobs: Ints) -> Ints | None:
        """Return these jobs, or the best of them that rules and predecessors allow."""
        if self.bare:
            return jobs
        if self.program.broken(self.program.completed(jobs.tolist())) is None:
            return jobs
        night, run = self.model.instance, set(jobs.tolist())
        out = tuple(job.name for j, job in enumerate(night.jobs) if j not in run)
        rules = [*self.model.added, *([Forbid(jobs=out, name="late jobs")] if out else [])]
        found = self._selected(Selection(night).add(*rules))
        return None if found is None else np.intersect1d(found, jobs)

    def schedule(self) -> Scheduled | None:
        """Return the record of the best schedule."""
        from schedopt.policies.dssp.dispatch import schedule_of

        if self.value < 0:
            return None
        if self.played is None:
            count = len(self.night.tasks.lengths)
            return scheduled(self.night, (), np.zeros(count), np.zeros(count, dtype=np.int64))
        return schedule_of(self.night, self.jobs, self.played)
