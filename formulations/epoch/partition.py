"""Partition: jobs into as few epochs as can be, for any inequity k."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Protocol, Self, runtime_checkable

from schedopt.formulations.epoch.direct import Direct
from schedopt.formulations.epoch.writing import Declared, positions
from schedopt.formulations.protocol import Hints, Settings, Side, Value
from schedopt.instances.constraints import (
    Apart,
    Constraint,
    Together,
    check_added,
    label,
)
from schedopt.instances.epoch import Instance, Partitioned, partitioned
from schedopt.instances.errors import InputError, shown
from schedopt.instances.options import checked

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


@runtime_checkable
class OwnKind(Protocol):
    """A side constraint of a user's own kind, which states itself in the direct model."""

    def state(self, partition: Partition, asked: IntVar) -> None:
        """Add its rows to the model, enforced where ``asked`` is true."""
        ...


class Partition(Declared):
    """Partition the jobs into the fewest epochs; in each all nodes are shared as k allows.

    Parameters
    ----------
    instance : Instance
        Nodes, inequity, jobs; its side constraints are taken over.
    model : {"auto", "slots", "counts", "direct"}
        The form in which it is solved: as a covering by slot patterns, the strongest; with counts
        per epoch, where there are too many patterns, or side constraints; or directly, by who is
        in which epoch, which native constraints need. ``auto`` leaves the choice to the solver.

    Attributes
    ----------
    model : cp_model.CpModel
        The direct model, built when first asked for. Add native constraints as you like:
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

    def __init__(self, instance: Instance, *, model: str = "auto") -> None:
        checked({"model": model}, self.known_options, "partition")
        self.instance = instance
        self.wanted = model
        self.added: list[Constraint] = []
        self.seconds = 0.0
        self._direct: Direct | None = None
        _check_kinds(instance.constraints)
        self._check_form(instance.constraints)

    @property
    def options(self) -> Settings:
        """The form that was asked for; the direct one once it is built."""
        return {"model": self.wanted if self._direct is None else "direct"}

    @property
    def rules(self) -> list[Constraint]:
        """All side constraints: the instance's, then those that were added."""
        return [*self.instance.constraints, *self.added]

    @property
    def model(self) -> CpModel:
        """The CP-SAT model."""
        return self._built().model

    @property
    def asked(self) -> dict[str, IntVar]:
        """For each side constraint, the literal of the direct model that asks for it."""
        return {} if self._direct is None else self._direct.asked

    @property
    def x(self) -> dict[tuple[str, str], IntVar]:
        """Whether a job is in the epoch that another leads, by names."""
        jobs = self.instance.jobs
        return {(jobs[j].name, jobs[e].name): x for (j, e), x in self._built().x.items()}

    def _built(self) -> Direct:
        if self._direct is None:
            began = time.perf_counter()
            self._direct = direct = Direct(self.instance)
            for position, constraint in enumerate(self.rules):
                self._state(direct, constraint, label(constraint, position))
            direct.stated()
            self.seconds += time.perf_counter() - began
        return self._direct

    def _check_form(self, constraints: Iterable[Constraint]) -> None:
        kinds = list(constraints)
        if self.wanted == "slots" and kinds:
            able = "auto, direct or counts, since there are side constraints"
            raise InputError(able, found=shown(self.wanted), place="option model")
        if self.wanted == "counts" and any(isinstance(kind, OwnKind) for kind in kinds):
            able = "auto or direct, since there are side constraints of a kind of your own"
            raise InputError(able, found=shown(self.wanted), place="option model")

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance.

        Raises
        ------
        InputError
            If one names a job that does not exist, has a name that is taken, or is of a kind that a
            partition cannot take; or if native constraints are there already.
        """
        check_added(self.instance, [*self.added, *constraints])
        _check_kinds(constraints)
        self._check_form(constraints)
        if constraints and self.native:
            raise InputError("side constraints before native ones", found="native ones")
        if constraints:
            self.added.extend(constraints)
            self._direct = None  # to be built anew
        return self

    def _state(self, direct: Direct, constraint: Constraint, name: str) -> None:
        """State a side constraint, asked for by a literal of its own."""
        asked = direct.literal(name)
        if isinstance(constraint, OwnKind):
            constraint.state(self, asked)
        elif isinstance(constraint, Together | Apart):
            members = [self.instance.index[job] for job in dict.fromkeys(constraint.jobs)]
            state = direct.together if isinstance(constraint, Together) else direct.apart
            state(members, asked)

    def ask(self, name: str, wanted: bool) -> None:
        """Ask for a side constraint, or do not."""
        self._built().ask(name, wanted)

    @property
    def native(self) -> int:
        """How many native constraints the user added."""
        return 0 if self._direct is None else self._direct.native

    @property
    def changed(self) -> bool:
        """Whether the user has changed the direct model."""
        return self._direct is not None and self._direct.changed

    @property
    def goal_changed(self) -> bool:
        """Whether the user has changed its objective."""
        return self._direct is not None and self._direct.goal_changed

    def side(self) -> Side:
        """Return the literal that asks for each side constraint, by its name.

        The literals are there once the direct model is built.
        """
        names = [label(constraint, position) for position, constraint in enumerate(self.rules)]
        return {name: [] for name in names} if self._direct is None else self._direct.side()

    def hint(self, solution: Partitioned) -> Hints:
        """Yield a value for each variable that a known partition gives one."""
        yield from self._built().hints(positions(self.instance, solution))

    def decode(self, value: Value) -> Partitioned:
        """Turn values of the variables into epochs with real allotments."""
        return partitioned(self.instance, self._built().epochs(value))


def _check_kinds(constraints: Iterable[Constraint]) -> None:
    for constraint in constraints:
        if not isinstance(constraint, Together | Apart | OwnKind):
            expected = "a kind that a partition can take (one of 'together', 'apart')"
            raise InputError(expected, found=repr(constraint.kind()))
