"""Differences between two plans of a night."""

from __future__ import annotations

from typing import Literal

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.planning.document import PlanInHand
from schedopt.planning.moments import seconds
from schedopt.planning.plan_rows import paid_jobs
from schedopt.planning.remaining import RemainingNight, whole_schedule

Kind = Literal["", "kept", "earlier", "later", "added", "dropped"]
Span = tuple[float, float]


def spans(night: Instance, solution: Scheduled | None) -> dict[str, Span]:
    """Return the start and the end of each job that runs and earns a reward."""
    found: dict[str, Span] = {}
    if solution is None:
        return found
    paid = {*paid_jobs(night, solution)}
    for task in solution.tasks:
        if task.job in paid:
            start, end = found.get(task.job, (task.start, task.end))
            found[task.job] = min(start, task.start), max(end, task.end)
    return found


def time_tolerance(night: Instance) -> float:
    """Return the difference up to which two times of a plan count as equal.

    It is a minute if the night has a start by the clock, else a rounding error.
    """
    if night.start is None:
        return 1e-9 * (1 + night.horizon)
    return seconds(night, 60)


def change(was: Span | None, now: Span | None, near: float) -> Kind:
    """Return the change of a job between two plans; empty if it runs in neither."""
    if was is None or now is None:
        return "added" if now is not None else "dropped" if was is not None else ""
    start, end = now[0] - was[0], now[1] - was[1]
    if abs(start) < near and abs(end) < near:
        return "kept"
    return "later" if end >= near or (start >= near and end > -near) else "earlier"


def objective_values(night: Instance, schedule: Scheduled) -> tuple[float, ...]:
    """Return the value of a schedule for each objective of a night, in their order."""
    return schedule.objectives or (night.objective_of(schedule),)


class PlanComparison:
    """Compares schedules of the rest of a night with the current plan."""

    def __init__(self, plan: PlanInHand, rest: RemainingNight) -> None:
        self.rest, self.near = rest, time_tolerance(rest.night)
        self.was = spans(plan.night_state().night, plan.result.solution)
        self.free = [job.name for job in rest.night.jobs if job.name not in rest.settled]
        self.begun = [name for name in self.free if rest.progress[name].runs]

    def spans(self, schedule: Scheduled) -> dict[str, Span]:
        """Return the start and the end of each job of the night in a schedule of the rest."""
        chosen = {*schedule.selected} & {*self.rest.night.index}
        whole = whole_schedule(self.rest.night, chosen, self.rest.to_night(schedule))
        return spans(self.rest.night, whole)

    def key(self, schedule: Scheduled) -> tuple[int, float, float]:
        """Return the sort key of a schedule: number of changes, sum of ends, negative reward."""
        now = self.spans(schedule)
        kinds = [change(self.was.get(name), now.get(name), self.near) for name in self.free]
        ends = sum(now[name][1] for name in self.begun if name in now)
        changed = sum(kind not in ("", "kept") for kind in kinds)
        return changed, round(ends, 6), -self.rest.instance.objective_of(schedule)
