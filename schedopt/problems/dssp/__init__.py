"""What the application knows of dssp: which jobs to run by the deadline, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.instances.naming import pick
from schedopt.instances.options import Options
from schedopt.problems.record import Converter, Problem, Question

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.figure import Figure

    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.dssp import Instance
    from schedopt.policies.registry import Policy
    from schedopt.problems.explained import Explanation
    from schedopt.problems.planned import Plan
    from schedopt.problems.sheet import Section
    from schedopt.problems.shown import Lines, ShownTable, Tables
    from schedopt.solvers.result import Document, Limits, Result

HINTS = ("greedy", "greedy-half")
"""Policies quick enough to start a solver from."""

HINTS_FROM = 500
"""Jobs from which on a start pays: loading compiled heuristics takes a second by itself."""


class Dssp(Problem["Instance"]):
    """The record of dssp."""

    name = "dssp"
    title = "which jobs to run by the deadline, and when"
    objective = "reward"
    tiny = (
        b'{"problem":"dssp","name":"tiny","processors":2,"deadline":4,"jobs":['
        b'{"name":"a","reward":5,"stages":[[2,3]]},{"name":"b","reward":3,"stages":[[3]]},'
        b'{"name":"c","reward":1,"stages":[[1]]}]}'
    )
    formulation_homes: ClassVar = {
        "selection": "schedopt.formulations.dssp.selection:Selection",
        "schedule": "schedopt.formulations.dssp.schedule:Schedule",
        "season": "schedopt.formulations.dssp.season:Season",
    }
    printed: ClassVar = {
        "random": "RANDOM",
        "first": "FIRST",
        "priority": "PRIORITY",
        "stcpu": "STCPU",
        "lcpf": "LCPF",
        "cpa": "CPA",
        "ltf": "LPT",
        "stf": "SPT",
        "greedy-half": "Ext-Greedy",
        "fptas": "FPTAS",
        "maxk": "MAXK",
    }
    converters: ClassVar = {
        "table": Converter("schedopt.instances.dssp.jobtable", tells=True),
        "workflow": Converter("schedopt.instances.dssp.wfformat", several=True),
        "log": Converter("schedopt.instances.dssp.swf"),
    }

    def default_formulation(self, instance: Instance) -> str:
        """Return the formulation of an instance where none is named: that of several nights."""
        return "season" if instance.nights > 1 else super().default_formulation(instance)

    def policy(self, name: str, constraints: Sequence[Constraint] = ()) -> Policy:
        """Return a policy by name; two joined by ``+`` choose and then dispatch."""
        from schedopt.problems.dssp.two_phase import seated, two_phase

        if "+" in name:
            return two_phase(self, name, constraints)
        found = super().policy(name)
        if found.name.startswith("nightly"):
            from schedopt.policies.dssp.nightly import with_rules

            return with_rules(found, constraints)
        return seated(found, constraints)

    def explain(
        self,
        model: Formulation,
        result: Result,
        limits: Limits,
        progress: Callable[[int, int], None] | None = None,
    ) -> Explanation:
        """Return why jobs are left out and what rules cost: see `explaining.explain`."""
        from schedopt.formulations.dssp import Season, Selection

        if not isinstance(model, Selection | Season):
            return super().explain(model, result, limits, progress)
        from schedopt.problems.dssp import explaining

        return explaining.explain(model, result, limits, progress)

    def quantity(self, text: str, unit: str) -> float:
        """Return a length of time, such as ``12h``, in a file's unit."""
        from schedopt.instances.dssp.clock import SECONDS, Clock

        return Clock(unit=pick(unit, SECONDS, "a unit of time")).length(text, "--vary")

    def carry(
        self,
        results: Sequence[Document],
        tables: Sequence[Path],
        rules: Sequence[Constraint],
        *,
        half_life: str | None,
        window: str | None,
    ) -> tuple[list[Constraint], list[str]]:
        """Return fair shares that know what earlier nights used: see `carrying.carry`."""
        from schedopt.problems.dssp import carrying

        return carrying.carry(results, tables, rules, half_life=half_life, window=window)

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return the best quick selection that breaks nothing, where there are many jobs."""
        from schedopt.problems.dssp.keeping import sound

        night = model.instance
        if model.name != "selection" or len(night.index) < HINTS_FROM or seconds == 0:
            return None
        fill = float(model.options["fill"])
        found = [self.policies()[name].run(night, fill=fill) for name in HINTS]
        kept = [solution for solution in found if sound(model, solution.selected, fill)]
        return max(kept, key=night.objective_of, default=None)

    def at_once(self, model: Formulation) -> tuple[Any | None, float | None]:
        """Return jobs by reward for their demand, as far as the rules allow, and a weak bound."""
        from schedopt.formulations.dssp import Season, Selection
        from schedopt.solvers.dssp.at_once import at_once

        if not isinstance(model, Selection | Season):
            return None, None
        return at_once(model)

    def settings(self, instance: Instance, settings: Options) -> dict[str, Any]:
        """Return a policy's options, with the number for a fill that is given in words."""
        found = dict(settings)
        if "fill" in found:
            found["fill"] = instance.fill(found["fill"])
        return found

    def measured_by(self, policy: Policy) -> Options:
        """Return no option where jobs are run: what bounds that depends on no choice."""
        return {} if _dispatches(policy) else super().measured_by(policy)

    def question(
        self,
        instance: Instance,
        policy: Policy,
        options: Options,
        constraints: Sequence[Constraint] = (),
    ) -> Question[Instance] | None:
        """Return the best choice under the same options; where jobs are run, whatever was planned.

        Jobs that are run are measured against the best choice in the bounding instance.
        """
        from schedopt.instances.dssp import bounding

        if _dispatches(policy) and bounding(instance) is not instance:
            return Question(bounding(instance), ruled=False)
        return super().question(instance, policy, options, constraints)

    def shares(self, result: Result) -> Mapping[str, Mapping[str, float]]:
        """Return the share of each group; of several nights, of the capacity of all of them."""
        from schedopt.problems.dssp import showing

        return showing.shares(result)

    def lines(self, instance: Instance, result: Result) -> Lines:
        """Yield what a result says beyond its objective."""
        from schedopt.problems.dssp import showing

        yield from showing.lines(instance, result)

    def tables(self, instance: Instance, result: Result) -> Tables:
        """Yield tables of a result."""
        from schedopt.problems.dssp import showing

        yield from showing.tables(instance, result)

    def dropped(self, instance: Instance, result: Result) -> ShownTable | None:
        """Return a table of the jobs that are left out, the most rewarding first."""
        from schedopt.problems.dssp import showing

        return showing.dropped(instance, result)

    def carried_out(self, instance: Instance, result: Result) -> Result | None:
        """Return a schedule as it is; a selection as the best dispatcher runs each night."""
        from schedopt.problems.dssp import planning

        return planning.dispatched(instance, result)

    def plans(self, instance: Instance) -> bool:
        """Tell that results are plans of jobs."""
        return True

    def plan(self, instance: Instance, result: Result, run: Result | None) -> Plan:
        """Return a row for each job: whether it runs, on which night, why not, and when."""
        from schedopt.problems.dssp import planning

        return planning.plan(instance, result, run)

    def sections(self, instance: Instance, result: Result, run: Result | None) -> Iterator[Section]:
        """Yield the timeline, the shares, what rules cost whom, and what happens to each job."""
        from schedopt.problems.dssp import paging

        yield from paging.sections(instance, result, run)

    def draw(self, instance: Instance) -> Figure:
        """Draw each job's critical path against its demand."""
        from schedopt.problems.dssp import drawing

        return drawing.jobs(instance)

    def draw_results(self, results: Sequence[Result], instance: Instance | None = None) -> Figure:
        """Draw schedules as they run; of selections the share of each group."""
        from schedopt.problems.dssp import drawing

        return drawing.results(results, instance)


def _dispatches(policy: Policy) -> bool:
    return policy.phase in ("dispatch", "both") or "dispatcher" in policy.options


RECORD = Dssp()
