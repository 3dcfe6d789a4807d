"""`schedopt.dssp`: which jobs to run by the deadline, and when."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.formulations.dssp import Schedule, Season, Selection
from schedopt.instances.dssp import (
    Down,
    Instance,
    Job,
    PlacedTask,
    Scheduled,
    Selected,
    scheduled,
    selected,
)
from schedopt.instances.errors import InputError, at_parameter, quote
from schedopt.instances.options import Options
from schedopt.policies.dssp.dispatchers import dispatcher
from schedopt.policies.dssp.selectors import selector
from schedopt.problems.record import Converter, Problem, ReferenceQuestion

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.constraints import Constraint
    from schedopt.policies.registry import Policy
    from schedopt.problems import summary
    from schedopt.solvers.result import Limits, Result


__all__ = [
    "Down",
    "Instance",
    "Job",
    "PlacedTask",
    "Schedule",
    "Scheduled",
    "Season",
    "Selected",
    "Selection",
    "dispatcher",
    "scheduled",
    "selected",
    "selector",
]


class DsspProblem(Problem[Instance]):
    """The record of dssp."""

    name = "dssp"
    title = "which jobs to run by the deadline, and when"
    objective = "reward"
    tiny = (
        b'{"problem":"dssp","name":"tiny","processors":2,"deadline":4,"jobs":['
        b'{"name":"a","reward":5,"stages":[[2,3]]},{"name":"b","reward":3,"stages":[[3]]},'
        b'{"name":"c","reward":1,"stages":[[1]]}]}'
    )
    formulations: ClassVar = {
        "selection": Selection,
        "schedule": Schedule,
        "season": Season,
    }
    explained: ClassVar = ("selection", "schedule", "season")
    converters: ClassVar = {
        "table": Converter("schedopt.instances.dssp.jobtable", tells=True),
        "workflow": Converter("schedopt.instances.dssp.wfformat", several=True),
        "log": Converter("schedopt.instances.dssp.swf"),
    }

    def default_formulation(self, instance: Instance) -> str:
        """Return ``season`` for several nights, otherwise ``selection``."""
        return "season" if instance.nights > 1 else super().default_formulation(instance)

    def fallback(self, model: Any) -> tuple[Any | None, float | None]:
        """Return a greedy selection by reward per demand, and a weak bound."""
        from schedopt.solvers.dssp.greedy import greedy_solution

        return (None, None) if model.name == "schedule" else greedy_solution(model)

    def expect_explained(self, model: Formulation) -> None:
        """Raise `InputError` if a formulation cannot be explained, such as one under risk."""
        super().expect_explained(model)
        if risk := model.options.get("risk"):
            expected = "a model without risk: under risk no prices are known"
            raise InputError(expected, found=quote(risk), parameter="explain")

    def explain(self, model: Any, result: Result, limits: Limits) -> summary.Explanation:
        """Explain why jobs are left out, and what each rule costs."""
        from schedopt.problems.dssp.explaining import explain

        return explain(model, result, limits)

    def policy(self, name: str, constraints: Sequence[Constraint] = ()) -> Policy:
        """Return a policy by name; two names joined by ``+`` select and then dispatch."""
        from schedopt.problems.dssp.two_phase import two_phase, with_seats

        if "+" in name:
            with at_parameter("policy"):
                return two_phase(self, name, constraints)
        return with_seats(super().policy(name), constraints)

    def quantity(self, text: str, instance: Instance) -> float:
        """Return a duration such as ``12h``, or a time of day, in the instance's unit."""
        from schedopt.instances.dssp.clock import dates_of, time_of

        unit, start = instance.unit, instance.start
        return time_of(text, unit, dates_of(start, unit) if start else None)

    def carried_out(self, instance: Instance, result: Result) -> Result | None:
        """Return a result with times; a selection is dispatched."""
        from schedopt.planning.plan_rows import dispatch_result

        return dispatch_result(instance, result)

    def plan(self, instance: Instance, result: Result, run: Result | None) -> summary.Plan:
        """Return a row for each job: whether it runs, the reason if not, and its times."""
        from schedopt.planning.plan_rows import plan

        return plan(instance, result, run)

    def sections(
        self, instance: Instance, result: Result, run: Result | None
    ) -> Iterator[summary.Section]:
        """Yield the parts of a page of one result."""
        from schedopt.problems.dssp.to_page import sections

        return sections(instance, result, run)

    def settings(self, instance: Instance, settings: Options) -> dict[str, Any]:
        """Return a policy's options, with the number of a ``fill`` that is given as a word."""
        settled = dict(settings)
        if "fill" in settled:
            settled["fill"] = instance.fill(settled["fill"])
        return settled

    def measured_by(self, policy: Policy) -> Options:
        """Return no options for dispatchers, since the bound of schedules has none."""
        return {} if _dispatches(policy) else super().measured_by(policy)

    def question(
        self,
        instance: Instance,
        policy: Policy,
        options: Options,
        constraints: Sequence[Constraint] = (),
    ) -> ReferenceQuestion[Instance] | None:
        """Return the optimal selection; for dispatchers, that of the bounding night."""
        from schedopt.instances.dssp import bounding

        if _dispatches(policy) and bounding(instance) is not instance:
            return ReferenceQuestion(bounding(instance), ruled=False)
        return super().question(instance, policy, options, constraints)


def _dispatches(policy: Policy) -> bool:
    return policy.phase in ("dispatch", "both") or "dispatcher" in policy.options


RECORD = DsspProblem()
