"""What the application knows of msfq: when a queue of multiserver jobs should switch class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.instances.extras import installed
from schedopt.instances.options import Options
from schedopt.problems.record import Converter, Problem, Question

if TYPE_CHECKING:
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.msfq import Instance
    from schedopt.policies.registry import Policy
    from schedopt.solvers.result import Result

QUICK = {
    "mean": ((4, 0.9), (8, 0.8), (16, 0.6), (32, 0.5)),
    "weighted": ((3, 0.6), (4, 0.5)),
}
"""For each objective servers, and the load up to which their optimal policy takes seconds."""

SOME = 128  # servers up to which the exact curve is quick; beyond, it is approximated by area


class Msfq(Problem["Instance"]):
    """The record of msfq."""

    name = "msfq"
    title = "when a queue of multiserver jobs should switch class"
    objective = "mean response time"
    objectives: ClassVar = {"weighted": "mean response time, weighted by load"}
    tiny = (
        b'{"problem":"msfq","name":"tiny","servers":2,"classes":['
        b'{"need":1,"arrival_rate":0.3,"service_rate":1},'
        b'{"need":2,"arrival_rate":0.2,"service_rate":1}]}'
    )
    formulation_homes: ClassVar = {
        "threshold": "schedopt.formulations.msfq.threshold:Threshold",
        "optimal-policy": "schedopt.formulations.msfq.optimal:OptimalPolicy",
        "bound": "schedopt.formulations.msfq.log_bound:LogBound",
    }
    from_bounds: ClassVar = ("bound",)
    converters: ClassVar = {"log": Converter("schedopt.instances.msfq.swf", tells=True)}

    def default_formulation(self, instance: Instance) -> str:
        """Return ``bound`` for a log, ``threshold`` for classes of jobs."""
        return "threshold" if instance.log is None else "bound"

    def settings(self, instance: Instance, settings: Options) -> dict[str, Any]:
        """Return a policy's options, with a site's own policy as JSON in place of its file."""
        from schedopt.instances.msfq.site import inline

        return {
            key: inline(value) if value and key == "priority" else value
            for key, value in settings.items()
        }

    def question(
        self,
        instance: Instance,
        policy: Policy,
        options: Options,
        constraints: Sequence[Constraint] = (),
    ) -> Question[Instance] | None:
        """Return the optimal policy where it is quick, else the best threshold; of a log bounds."""
        if instance.log is not None:
            return Question(instance, "bound")
        if instance.one_or_all is None or not instance.memoryless or instance.load >= 1:
            return None
        own = {k: v for k, v in options.items() if k in self.measured_by(policy)}
        k, load = instance.servers, round(instance.load, 9)
        quick = any(k <= few and load <= busy for few, busy in QUICK[instance.objective])
        alone = not (own or instance.constraints or constraints)
        if quick and alone and installed("scipy"):
            return Question(instance, "optimal-policy")
        if instance.servers > SOME:
            own.setdefault("method", "area")
        # The best of all thresholds bounds each of them, but other policies may be better.
        exact = own.get("method", "exact") == "exact" and not options.get("trace")
        return Question(instance, options=own, bounding=policy.name == "msfq" and exact)

    def comparable(self, result: Result, reference: Result) -> bool:
        """Tell whether both know the same about sizes."""
        knows = result.options.get("estimates") == "exact"
        return reference.formulation != "optimal-policy" or not knows


RECORD = Msfq()
