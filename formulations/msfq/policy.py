"""The base of both formulations of optimal policies."""

from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, ClassVar, Literal

from schedopt.formulations.msfq.process import ClassProcess, Process, costs_changed
from schedopt.formulations.msfq.unruled import Undecoded
from schedopt.formulations.protocol import Settings
from schedopt.instances.constraints import Constraint
from schedopt.instances.msfq import Instance
from schedopt.instances.options import Option, checked, is_count, is_number


class PolicyFormulation(Undecoded):
    """The optimal nonpreemptive policy of a system with exponential sizes and a load below 1.

    ``model`` holds events, decisions and costs; its objective is the least long-run cost, and users
    may change its costs. ``certificate`` is what the last bound follows from, None before a solve.
    """

    problem: ClassVar[str] = "msfq"
    refusing: ClassVar[str] = "for an optimal policy (formulation threshold takes response-time)"
    name: ClassVar[str] = "optimal-policy"
    engine: ClassVar[str] = "numeric"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[Mapping[str, Option]] = {
        "tolerance": Option(1e-6, "a number above 0", lambda v: is_number(v) and v > 0, asks=False),
        "most": Option(12_000_000, "a whole number of states", is_count, asks=False),
    }

    model: Process | ClassProcess

    def __init__(self, queue: Instance, given: dict[str, Any]) -> None:
        self.options: Settings = checked(given, self.known_options, "optimal-policy")
        self.instance = queue
        self.added: Sequence[Constraint] = ()
        self.certificate: dict[str, object] | None = None
        self.seconds = 0.0

    def _declare(self, process: Process | ClassProcess) -> None:
        """Take a process for the model."""
        self.model, self._declared = process, deepcopy(process)

    @property
    def changed(self) -> bool:
        """Whether the user has changed the process: no more than its costs can be."""
        return self.goal_changed

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed what jobs cost; see `process.costs_changed`."""
        return costs_changed(self.model, self._declared)
