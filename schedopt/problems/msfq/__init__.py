"""`schedopt.msfq`: when a queue of multiserver jobs should switch class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from schedopt.formulations.msfq import LogBound, OptimalPolicy, Threshold
from schedopt.instances.extras import installed
from schedopt.instances.msfq import (
    Bracketed,
    ClassTime,
    Empirical,
    Exponential,
    Instance,
    JobClass,
    Measures,
    OptimalTable,
    Partition,
    Replayed,
    Simulated,
    Thresholded,
)
from schedopt.instances.msfq.logs import Jobs, Labels, Needs
from schedopt.instances.options import Options
from schedopt.policies.msfq import admission_rule
from schedopt.problems.record import Converter, Problem, ReferenceQuestion

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from schedopt.formulations.protocol import Formulation
    from schedopt.instances.constraints import Constraint
    from schedopt.instances.starts import StartTimes, WrongStart
    from schedopt.policies.registry import Policy
    from schedopt.problems import summary
    from schedopt.solvers.result import Result
    from schedopt.sweep.rows import BenchRow

__all__ = [
    "Bracketed",
    "ClassTime",
    "Empirical",
    "Exponential",
    "Instance",
    "JobClass",
    "Jobs",
    "Labels",
    "LogBound",
    "Measures",
    "Needs",
    "OptimalPolicy",
    "OptimalTable",
    "Partition",
    "Replayed",
    "Simulated",
    "Threshold",
    "Thresholded",
    "admission_rule",
    "sample_path",
]

QUICK = {
    "mean": ((4, 0.9), (8, 0.8), (16, 0.6), (32, 0.5)),
    "weighted": ((3, 0.6), (4, 0.5)),
}
"""For each objective: servers, and the load up to which the optimal policy takes seconds."""


class MsfqProblem(Problem[Instance]):
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
    formulations: ClassVar = {
        "threshold": Threshold,
        "optimal-policy": OptimalPolicy,
        "bound": LogBound,
    }
    from_bounds: ClassVar = ("bound",)
    converters: ClassVar = {"log": Converter("schedopt.instances.msfq.swf", tells=True)}

    def default_formulation(self, instance: Instance) -> str:
        """Return ``bound`` for a log, ``threshold`` for classes of jobs."""
        return "threshold" if instance.log is None else "bound"

    def hint(self, model: Formulation, seconds: float | None = None) -> Any | None:
        """Return the best of all policies on a log."""
        from schedopt.formulations.msfq.log_bound import LogBound
        from schedopt.problems.msfq.starts import best_policy

        return best_policy(model.instance, seconds) if isinstance(model, LogBound) else None

    def settings(self, instance: Instance, settings: Options) -> dict[str, Any]:
        """Return a policy's options, with the content of a priority file in place of its name."""
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
        *,
        exact_up_to: int = 128,  # servers up to which the exact curve is fast
    ) -> ReferenceQuestion[Instance] | None:
        """Return the optimal policy if it is fast, else the best threshold; for logs the bound."""
        if instance.log is not None:
            return ReferenceQuestion(instance, "bound")
        if instance.one_or_all is None or not instance.memoryless or instance.load >= 1:
            return None
        own = {k: v for k, v in options.items() if k in self.measured_by(policy)}
        k, load = instance.servers, round(instance.load, 9)
        quick = any(k <= few and load <= busy for few, busy in QUICK[instance.objective])
        alone = not (own or instance.constraints or constraints)
        if quick and alone and installed("scipy"):
            return ReferenceQuestion(instance, "optimal-policy")
        if instance.servers > exact_up_to:
            own.setdefault("method", "area")
        # The best of all thresholds bounds each of them, but other policies may be better.
        exact = own.get("method", "exact") == "exact"
        bounding = exact and policy.name == "msfq" and options.get("variant") != "lazy"
        return ReferenceQuestion(instance, options=own, bounding=bounding)

    def comparable(self, result: Result, reference: Result) -> bool:
        """Return True unless only one of the two knows the sizes of jobs."""
        knows = result.options.get("estimates") == "exact"
        return reference.formulation != "optimal-policy" or not knows

    def sections(
        self, instance: Instance, result: Result, run: Result | None
    ) -> Iterator[summary.Section]:
        """Yield the parts of a page of one result, of a log with waits, usage and the queue."""
        from schedopt.problems.msfq.to_page import result_sections

        if instance.log is not None:
            yield from result_sections(instance, result)
        yield from super().sections(instance, result, run)

    def bench_sections(self, file: str, rows: Sequence[BenchRow]) -> Iterator[summary.Section]:
        """Yield the parts of a bench's page on a log: waits, usage and the queue."""
        from schedopt.problems.msfq.to_page import bench_sections

        yield from bench_sections(file, rows)

    def start_times(self, *args: Any, **options: Any) -> StartTimes:
        """Predict when waiting jobs of a log start."""
        from schedopt.problems.msfq.starts import start_times

        return start_times(*args, **options)

    def wrong_start(self, *args: Any, **options: Any) -> WrongStart | None:
        """Return the first start of a log that is not the policy's."""
        from schedopt.problems.msfq.starts import wrong_start

        return wrong_start(*args, **options)


RECORD = MsfqProblem()


def sample_path(
    queue: Instance,
    policy: str,
    grid: Sequence[float] | NDArray[np.float64],
    *,
    arrivals: int = 60_000,
    seed: int = 0,
    **options: float | str,
) -> NDArray[np.int64]:
    """Return the numbers of jobs in the system at given times of a simulation.

    Parameters
    ----------
    queue : Instance
    policy : str
        An admission rule, such as ``msfq``.
    grid : sequence of float
        Times from the start, ascending, shape (T,).
    arrivals : int
        Jobs that are played.
    seed : int
        The same seed, the same jobs.
    **options
        The rule's own, such as ``threshold``.

    Returns
    -------
    ndarray
        Shape (T, C): jobs of each class, in the instance's order.

    Raises
    ------
    InputError
        If there is no such rule, or an option is not right.
    """
    from schedopt.policies.msfq.registration import plan
    from schedopt.policies.msfq.simulation import simulate

    rule = plan(queue, policy, **options)
    return simulate(queue, rule, arrivals=arrivals, seed=seed, grid=grid).samples
