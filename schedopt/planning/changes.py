"""Differences between two plans of a night, and the plan with the fewest changes."""

from __future__ import annotations

from math import ceil, floor
from typing import TYPE_CHECKING, Any, Literal

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.planning.document import PlanInHand
from schedopt.planning.moments import seconds
from schedopt.planning.plan_rows import paid_jobs
from schedopt.planning.remaining import RemainingNight, whole_schedule

if TYPE_CHECKING:
    from schedopt.formulations.dssp import Schedule

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


# --- the plan with the fewest changes, by CP-SAT; ties prefer early ends of running jobs ----------


def nearest(
    comparison: PlanComparison, model: Schedule, hint: Scheduled, least: float, seconds: float
) -> Scheduled | None:
    """Return a schedule with the fewest changes among those that earn enough, or None.

    Parameters
    ----------
    comparison : PlanComparison
        Knows the plan before.
    model : Schedule
        Of the rest of the night; its objective is replaced.
    hint : Scheduled
        A schedule that earns enough.
    least : float
        What it has to earn.
    seconds : float
        Most seconds, for both searches.
    """
    from ortools.sat.python import cp_model

    found: tuple[Any, ...] = (cp_model.OPTIMAL, cp_model.FEASIBLE)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = 0
    solver.parameters.max_deterministic_time = seconds
    solver.parameters.max_time_in_seconds = 2 * seconds
    native, loss = model.model, model.loss
    for variable, value in model.hint(hint):
        native.add_hint(variable, round(value))
    native.add(model.earned >= ceil(least * model.reward_scale * (1 - 1e-12)) - loss)
    rest, unchanged = comparison.rest, list[Any]()
    for name in comparison.free:
        x = model.x[name]
        was = comparison.was.get(name)
        if was is None:
            unchanged.append(1 - x)
        elif (same := _same_span(comparison, model, name)) is not None:
            unchanged.append(same)
    total = sum(unchanged)
    native.maximize(total)
    if solver.solve(native) not in found:
        return None
    begun = [rest.instance.index[name] for name in comparison.begun]
    if begun:
        native.add(total >= round(solver.objective_value))
        ends = [model.ends[j] for j in begun]
        native.clear_hints()
        for k in range(len(native.proto.variables)):
            variable = native.get_int_var_from_proto_index(k)
            native.add_hint(variable, solver.value(variable))
        first = solver.value
        best: Scheduled = model.decode(first)
        native.minimize(sum(ends))
        if solver.solve(native) not in found:
            return best
    decoded: Scheduled = model.decode(solver.value)
    return decoded


def _same_span(comparison: PlanComparison, model: Schedule, name: str) -> Any:
    """Return a literal for an unchanged start and end of a job; None if it must change."""
    rest, native, (start, end) = comparison.rest, model.model, comparison.was[name]
    begun = rest.progress[name].runs
    running = max((run.end for run in rest.running(name).values()), default=None)
    if begun and abs(min(run.start for run in begun.values()) - start) >= comparison.near:
        return None
    if running is not None and running >= end + comparison.near:
        return None
    same = native.new_bool_var(f"same[{name}]")
    native.add_implication(same, model.x[name])
    parts = [rest.instance.index[one] for one in (rest.parts.get(name), name) if one is not None]
    if not begun:
        opening = _tasks(model, parts[0], first=True)
        times = [model.starts[i] for i in opening]
        _meet(model, same, times, _window(comparison, model, start), is_first=True)
    if running is None or running <= end - comparison.near:
        closing = _tasks(model, parts[-1], first=False) or _tasks(model, parts[0], first=False)
        ends = [model.starts[i] + int(model.grid.lengths[i]) for i in closing]
        _meet(model, same, ends, _window(comparison, model, end), is_first=False)
    else:  # what runs ends then: the rest has to end by then
        for i in _tasks(model, parts[-1], first=False) or _tasks(model, parts[0], first=False):
            closed = model.starts[i] + int(model.grid.lengths[i])
            native.add(closed <= _window(comparison, model, end)[1]).only_enforce_if(same)
    return same


def _tasks(model: Schedule, j: int, *, first: bool) -> list[int]:
    """Return the tasks of positive length of the first or last stage of a job."""
    tasks = model.instance.tasks
    s = int(tasks.first_stage[j]) if first else int(tasks.first_stage[j + 1]) - 1
    stage = range(int(tasks.first_task[s]), int(tasks.first_task[s + 1]))
    return [i for i in stage if model.grid.lengths[i] > 0]


def _window(comparison: PlanComparison, model: Schedule, time: float) -> tuple[int, int]:
    """Return the earliest and the latest time, in units, that count as equal to a time."""
    scale = model.grid.scale
    return floor((time - comparison.near) * scale) + 1, ceil((time + comparison.near) * scale) - 1


def _meet(
    model: Schedule, same: Any, times: list[Any], window: tuple[int, int], *, is_first: bool
) -> None:
    """State that, if ``same`` holds, the first or the last of some times is in a window."""
    native, reached = model.model, list[Any]()
    for time in times:
        literal = native.new_bool_var("")
        least, most = time >= window[0], time <= window[1]
        native.add(least if is_first else most).only_enforce_if(same)
        native.add(most if is_first else least).only_enforce_if(literal)
        reached.append(literal)
    if reached:
        native.add_bool_or(reached).only_enforce_if(same)
