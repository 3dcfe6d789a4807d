"""Partition: jobs into as few epochs as can be, for any inequity k."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

from ortools.sat.python import cp_model

from formulations.epoch.bounding import least_epochs
from formulations.epoch.patterns import patterns
from formulations.epoch.shapes import Counts, Direct, Epochs, Shape, Slots
from instances.constraints import (
    Apart,
    Constraint,
    Together,
    check_names,
    check_references,
    label,
)
from instances.epoch import Instance, Partitioned, partitioned
from instances.errors import InputError, shown
from instances.options import Option, checked

MOST_PATTERNS = 60_000
"""Slot patterns beyond which counts by epoch are quicker."""

SHAPES = ("slots", "counts", "direct")

MODEL = Option(
    default="auto",
    expected=f"auto, or one of {', '.join(SHAPES)}: how the partition is written",
    accepts=lambda value: value == "auto" or value in SHAPES,
)


class Partition:
    """Partition the jobs into the fewest epochs; in each all nodes are shared as k allows.

    Parameters
    ----------
    instance : Instance
        Nodes, inequity, jobs; its side constraints are taken over.
    model : {"auto", "slots", "counts", "direct"}
        How it is written: as a covering by slot patterns, the strongest; with counts per epoch,
        where there are too many patterns; or directly, by who is in which epoch, which side
        constraints need. ``auto`` chooses among them in this order.

    Attributes
    ----------
    model : cp_model.CpModel
        Built when first asked for. Add native constraints as you like; with ``model="direct"``,
        `x[job name, leader's name]` says whether a job is in the epoch that a job leads.

    Raises
    ------
    InputError
        If ``model`` is not right.

    Notes
    -----
    Source: McCann and Zahorjan, TR 94-10-05, University of Washington, 1994, section 4.2; the paper
    computed it for k <= 1. The overhead is N for each epoch.
    """

    problem: ClassVar[str] = "epoch"
    name: ClassVar[str] = "partition"
    engine: ClassVar[str] = "cp-sat"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[dict[str, Option]] = {"model": MODEL}
    reward_scale: ClassVar[float] = 1.0
    loss: ClassVar[int] = 0
    exact: ClassVar[bool] = True

    def __init__(self, instance: Instance, *, model: str = "auto") -> None:
        checked({"model": model}, self.known_options, "partition")
        self.instance = instance
        self.asked: dict[str, cp_model.IntVar] = {}
        self.added: list[Constraint] = []
        self.seconds = 0.0
        self._wanted = model
        self._shape: Shape | None = None
        self._stated = 0
        _check_kinds(instance.constraints)
        self._check_shape(instance.constraints)

    @property
    def options(self) -> dict[str, Any]:
        """How the partition is written; ``auto`` where it did not have to be."""
        return {"model": self._wanted if self._shape is None else self._shape.name}

    @property
    def model(self) -> cp_model.CpModel:
        """The CP-SAT model."""
        return self._built().model

    @property
    def x(self) -> dict[tuple[str, str], cp_model.IntVar]:
        """Of the direct model: whether a job is in the epoch that another leads, by names."""
        shape: Any = self._built()
        jobs = self.instance.jobs
        return {(jobs[j].name, jobs[e].name): x for (j, e), x in shape.x.items()}

    def bound(self) -> float:
        """Return an overhead that no partition is below, whatever the side constraints."""
        minima = self.instance.minima[self.instance.descending].tolist()
        nodes = self.instance.nodes
        return float(nodes * least_epochs(minima, nodes, self.instance.inequity))

    def within(self, epochs: int) -> Partition | None:
        """Return the question whether there is a partition into at most so many epochs.

        It has no objective, and is for a partition that is written by slots; None otherwise.
        """
        shape = self._built()
        if not isinstance(shape, Slots) or self.native:
            return None
        began = time.perf_counter()
        other = Partition(self.instance, model="slots")
        other._shape = Slots(self.instance, shape.patterns, epochs)
        other._stated = len(other._shape.model.proto.constraints)
        other.seconds = self.seconds + time.perf_counter() - began
        return other

    def _built(self) -> Shape:
        if self._shape is None:
            began = time.perf_counter()
            self._shape = shape = self._chosen()
            for position, constraint in enumerate([*self.instance.constraints, *self.added]):
                self._state(constraint, label(constraint, position))
            self._stated = len(shape.model.proto.constraints)
            self.seconds += time.perf_counter() - began
        return self._shape

    def _chosen(self) -> Shape:
        instance, wanted = self.instance, self._wanted
        if wanted == "direct" or instance.constraints or self.added:
            return Direct(instance)
        if wanted == "counts":
            return Counts(instance)
        minima = instance.minima[instance.descending].tolist()
        most = MOST_PATTERNS if wanted == "auto" else 100 * MOST_PATTERNS
        found = patterns(minima, instance.nodes, instance.inequity, most)
        return Counts(instance) if found is None else Slots(instance, found)

    def _check_shape(self, constraints: Iterable[Constraint]) -> None:
        if list(constraints) and self._wanted in ("slots", "counts"):
            raise InputError(
                "direct or auto, since there are side constraints",
                found=shown(self._wanted),
                place="option model",
            )

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job that does not exist, has a name that is taken, or is of a kind that a
            partition cannot take; or if native constraints are there already.
        """
        together = [*self.instance.constraints, *self.added, *constraints]
        check_names(together)
        check_references(together, self.instance.index, self.instance.groups)
        _check_kinds(constraints)
        self._check_shape(constraints)
        if constraints and self.native:
            raise InputError("side constraints before native ones", found="native ones")
        if constraints:
            self.added.extend(constraints)
            self._shape = None  # perhaps to be written otherwise
            self.asked.clear()
        return self

    def _state(self, constraint: Constraint, name: str) -> None:
        """State a side constraint, asked for by a literal of its own."""
        shape = self._shape
        assert isinstance(shape, Direct)  # noqa: S101  see `_chosen`
        model, index = shape.model, self.instance.index
        asked = self.asked[name] = model.new_bool_var(f"asked[{name}]")
        self.ask(name, True)
        own = getattr(constraint, "state", None)
        if own is not None:
            own(self, asked)
            return
        first, *others = [index[job] for job in dict.fromkeys(getattr(constraint, "jobs", ()))]
        if isinstance(constraint, Together):
            for j in others:
                for mine, theirs in shape.shared(first, j):
                    model.add(mine == theirs).only_enforce_if(asked)
        else:
            for e in self.instance.descending:
                mine = [shape.x[j, e] for j in (first, *others) if (j, e) in shape.x]
                if len(mine) > 1:
                    model.add(sum(mine) <= 1).only_enforce_if(asked)

    def ask(self, name: str, wanted: bool) -> None:
        """Ask for a side constraint, or do not."""
        self.model.proto.variables[self.asked[name].index].domain[:] = [int(wanted)] * 2

    @property
    def native(self) -> int:
        """How many native constraints the user added."""
        if self._shape is None:
            return 0
        return len(self._shape.model.proto.constraints) - self._stated

    def side(self) -> dict[str, list[Any]]:
        """Return the literal that asks for each side constraint, by its name."""
        found: dict[str, list[Any]] = {name: [asked] for name, asked in self.asked.items()}
        return found | ({"native constraints": []} if self.native else {})

    def hint(self, solution: Partitioned) -> Iterable[tuple[Any, float]]:
        """Yield a value for each variable that a known partition gives one."""
        index = self.instance.index
        epochs: Epochs = [[index[name] for name in epoch.nodes] for epoch in solution.epochs]
        yield from self._built().hint(epochs)

    def decode(self, value: Callable[[Any], float]) -> Partitioned:
        """Turn values of the variables into epochs with real allotments."""
        return partitioned(self.instance, self._built().decode(value))


def _check_kinds(constraints: Iterable[Constraint]) -> None:
    for constraint in constraints:
        if not isinstance(constraint, Together | Apart) and not hasattr(constraint, "state"):
            expected = "a kind that a partition can take (one of 'together', 'apart')"
            raise InputError(expected, found=repr(constraint.kind()))
