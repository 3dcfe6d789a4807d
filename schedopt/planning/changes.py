"""How two plans of a night differ: what becomes of each job, and how many are changed."""

from __future__ import annotations

from typing import Literal

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.times import SECONDS, SPELLED
from schedopt.planning.document import PlanInHand
from schedopt.planning.plan_rows import paid_jobs
from schedopt.planning.remaining import RemainingNight, whole_schedule

Kind = Literal["", "kept", "earlier", "later", "added", "dropped"]
Span = tuple[float, float]


def spans(night: Instance, solution: Scheduled | None) -> dict[str, Span]:
    """Return when each job that is run and paid starts and ends."""
    found: dict[str, Span] = {}
    if solution is None:
        return found
    paid = {*paid_jobs(night, solution)}
    for task in solution.tasks:
        if task.job in paid:
            start, end = found.get(task.job, (task.start, task.end))
            found[task.job] = min(start, task.start), max(end, task.end)
    return found


def nearness(night: Instance) -> float:
    """Return by how much times of a plan may differ and still be the same.

    A minute where the night knows its time by the clock, else what rounding makes.
    """
    if night.start is None:
        return 1e-9 * (1 + night.horizon)
    return 60 / SECONDS[SPELLED[night.unit]]


def change(was: Span | None, now: Span | None, near: float) -> Kind:
    """Return what becomes of a job that runs in one of two plans; nothing of another."""
    if was is None or now is None:
        return "added" if now is not None else "dropped" if was is not None else ""
    start, end = now[0] - was[0], now[1] - was[1]
    if abs(start) < near and abs(end) < near:
        return "kept"
    return "later" if end >= near or (start >= near and end > -near) else "earlier"


def worth_of(night: Instance, schedule: Scheduled) -> tuple[float, ...]:
    """Return what a schedule is worth to each of the night's objectives, the first first."""
    return schedule.objectives or (night.objective_of(schedule),)


class Judge:
    """Counts how far schedules of the rest of a night are from the plan in hand."""

    def __init__(self, plan: PlanInHand, rest: RemainingNight) -> None:
        self.rest, self.near = rest, nearness(rest.night)
        self.was = spans(plan.standing().night, plan.result.solution)
        self.free = [job.name for job in rest.night.jobs if job.name not in rest.settled]
        self.begun = [name for name in self.free if rest.progress[name].runs]

    def spans(self, schedule: Scheduled) -> dict[str, Span]:
        """Return when each job of the night starts and ends in a schedule of the rest."""
        chosen = {*schedule.selected} & {*self.rest.night.index}
        whole = whole_schedule(self.rest.night, chosen, self.rest.to_night(schedule))
        return spans(self.rest.night, whole)

    def key(self, schedule: Scheduled) -> tuple[int, float, float]:
        """Return what is compared: changes, ends of what has begun, and the reward last."""
        now = self.spans(schedule)
        kinds = [change(self.was.get(name), now.get(name), self.near) for name in self.free]
        ends = sum(now[name][1] for name in self.begun if name in now)
        changed = sum(kind not in ("", "kept") for kind in kinds)
        return changed, round(ends, 6), -self.rest.instance.objective_of(schedule)
