"""Plan documents: a result with the original night and its history.

A plan that was not replanned has an empty history: its result answers the night. After a
replanning the result answers the rest of the night, which `remaining.RemainingNight` derives from
the night and the history; the solution has the tasks of the whole night, with the real times of
tasks that have run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.errors import InputError, quote
from schedopt.instances.protocol import AnyInstance, identity
from schedopt.planning.history import History, Key, NightState, as_events
from schedopt.planning.remaining import RemainingNight
from schedopt.solvers.question import LazyQuestion
from schedopt.solvers.result import Result

if TYPE_CHECKING:
    from schedopt.instances.dssp import PlacedTask


@dataclass(frozen=True, eq=False)
class PlanInHand:
    """A plan that can be replanned."""

    night: Instance  # the original one
    history: History  # up to the last replanning
    result: Result[Scheduled]

    @classmethod
    def of(cls, result: Result, night: Instance | None = None) -> PlanInHand:
        """Return the plan in a result.

        `InputError` if it has no solution, no night, or no times.
        """
        asked = result.asked
        if night is None:
            night = asked.instance if asked is not None else None
        if night is None:
            expected = "a plan with its night, as `schedopt plan ... --output plan.json` writes it"
            raise InputError(expected, found="a result without `night`")
        if result.problem != "dssp":
            raise InputError("a plan of jobs", found=quote(result.problem), place="problem")
        if asked is not None and asked.question.instance != identity(night):
            found = f"one of another night, {quote(asked.question.instance.name)}"
            raise InputError(f"a result of its night, {quote(night.name)}", found=found)
        if result.solution is None:
            raise InputError("a plan with a solution", found=quote(result.termination))
        if not isinstance(result.solution, Scheduled):
            what = "several nights" if night.nights > 1 else "jobs without stages"
            raise InputError(
                "a plan of one night whose jobs have stages", found=f"a plan of {what}"
            )
        history = asked.history if asked is not None else None
        return cls(night, as_events(history or ()), result)

    def night_state(self) -> NightState:
        """Return the state of the night at the last replanning."""
        return NightState.of(self.night, self.history)

    def by_place(self) -> dict[tuple[str, int, int], PlacedTask]:
        """Return the tasks, past and planned, by job, stage and number."""
        solution = self.result.solution
        tasks = solution.tasks if solution is not None else ()
        return {(task.job, task.stage, task.task): task for task in tasks}

    def tasks(self) -> Mapping[str, Mapping[Key, PlacedTask]]:
        """Return the tasks of each job, past and planned."""
        tasks: dict[str, dict[Key, PlacedTask]] = {}
        for (job, *key), task in self.by_place().items():
            tasks.setdefault(job, {})[key[0], key[1]] = task
        return tasks


def as_plan(result: Result, night: AnyInstance) -> Result:
    """Return a result with its night and an empty history, as a plan document has them."""
    asked = result.asked
    if asked is not None and asked.history is not None:
        return result
    options, added = ({}, result.constraints) if asked is None else (asked.options, asked.added)
    kept = LazyQuestion(night, result.formulation or None, options, added, ())
    if asked is not None and asked.instance is None:
        vars(kept)["question"] = asked.question  # as the document that was read has it
    return replace(result, asked=kept)


def rest_of(result: Result) -> tuple[RemainingNight, Result] | None:
    """Return the rest of the night of a replanned result, and its schedule of the rest.

    None for a result that was not replanned. `InputError` if its solution contradicts its history
    or its night.
    """
    asked = result.asked
    if asked is None or not asked.history:
        return None
    plan = PlanInHand.of(result)
    night_state = plan.night_state()
    rest = RemainingNight(night_state, night_state.at, result.constraints)
    solution = plan.result.solution
    assert isinstance(solution, Scheduled)  # noqa: S101  as a plan in hand has
    tasks = plan.by_place()
    for name, progress in night_state.progress.items():
        for key, run in progress.runs.items():
            task = tasks.get((name, *key))
            if task is None or (task.start, task.end) != (run.start, run.end):
                what = f"task {key[1]} of stage {key[0]} of {name}"
                expected = f"{what} from {run.start:g} to {run.end:g}, as the history has it"
                raise InputError(expected, found="another", place="solution")
            on = rest.on.get((name, *key), task.on)
            if task.on != on:
                expected = f"{name} on processors {list(on)}, as the history has it"
                raise InputError(expected, found=quote(list(task.on)), place="solution")
    if unknown := {*solution.selected} - {*rest.night.index}:
        raise InputError("jobs of the night", found=quote(min(unknown)), place="solution.selected")
    try:
        schedule = rest.from_night({*solution.selected} - rest.settled, tasks)
    except KeyError as missing:
        found = f"none for {missing.args[0]}"
        raise InputError("a time for each task of the jobs that run", found=found) from None
    asks = LazyQuestion(rest.instance, "schedule", {})
    on_rest = replace(
        result, instance=rest.instance.name, solution=schedule, constraints=(), asked=asks
    )
    return rest, on_rest
