"""The plan document: a result, the original night, and the history of what has happened.

A plan that was not replanned has an empty history: its result answers the night. After a
replanning the result answers the rest of the night, which `remaining.RemainingNight` derives from
the night and the history; the solution has the tasks of the whole night, those that ran as they
ran.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from schedopt.instances.dssp import Instance, Scheduled
from schedopt.instances.errors import InputError, quote
from schedopt.instances.protocol import AnyInstance, identity
from schedopt.planning.history import Event, History, Key, Standing, as_events
from schedopt.solvers.result import Document, LazyQuestion, Result

if TYPE_CHECKING:
    from schedopt.instances.dssp import PlacedTask


@dataclass(frozen=True, eq=False)
class PlanInHand:
    """A plan, ready to be continued.

    Attributes
    ----------
    night : Instance
        The original night.
    history : tuple of Event
        What has happened up to the last replanning.
    result : Result
        The plan; its solution has times.
    """

    night: Instance
    history: History
    result: Result[Scheduled]

    @classmethod
    def of(cls, result: Result, night: Instance | None = None) -> PlanInHand:
        """Return the plan that a result holds; a selection is dispatched.

        `InputError` if it has no solution, no night, or jobs without tasks.
        """
        from schedopt.planning.plan_rows import dispatch_result

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
        run = dispatch_result(night, result)
        if run is None or not isinstance(run.solution, Scheduled):
            what = "several nights" if night.nights > 1 else "jobs without stages"
            raise InputError("a plan of one night whose jobs have stages", found=f"one of {what}")
        history = asked.history if asked is not None else None
        return cls(night, as_events(history or ()), run)

    def standing(self) -> Standing:
        """Return how the night stood at the last replanning."""
        return Standing.of(self.night, self.history)

    def tasks(self) -> Mapping[str, Mapping[Key, PlacedTask]]:
        """Return the tasks of each job, those that have run and those that are planned."""
        solution = self.result.solution
        tasks: dict[str, dict[Key, PlacedTask]] = {}
        for task in solution.tasks if solution is not None else ():
            tasks.setdefault(task.job, {})[task.stage, task.task] = task
        return tasks


def as_plan(result: Result, night: AnyInstance, history: Sequence[Event] = ()) -> Result:
    """Return a result that is written as a plan document: with its night and its history."""
    asked = result.asked or LazyQuestion(night, result.formulation or None, {}, result.constraints)
    kept = LazyQuestion(night, asked.formulation, asked.options, asked.added, tuple(history))
    if asked.instance is None or asked.instance is night:
        vars(kept)["question"] = asked.question  # as the document that was read has it
    return replace(result, asked=kept)


def document(result: Result, night: AnyInstance, history: Sequence[Event] = ()) -> Document:
    """Return the plan document of a result."""
    return as_plan(result, night, history).written()
