"""The base class of formulations in CP-SAT."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self

from schedopt.formulations.protocol import Side
from schedopt.instances.constraints import Constraint, check_rules, label
from schedopt.instances.extras import require

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar


class WholeModel:
    """An integer model in which a literal enforces each side constraint.

    A subclass states variables, constraints and objective in `_build`, and each side constraint in
    `_state`, enforced by the literal from `literal`. Solvers fix literals to find conflicts.

    Attributes
    ----------
    model : cp_model.CpModel
        The CP-SAT model, built when it is first asked for; users can change it.
    literals : dict of str to IntVar
        The literal that enforces each side constraint; empty before the model is built.
    reward_scale : float
        The objective of the model is in units of 1/reward_scale.
    exact : bool
        Whether the integers of the model represent the instance exactly. Otherwise the bound of
        CP-SAT is no bound for the instance.
    inexact : str
        The restriction under which an inexact model is optimal, such as ``on a grid``.
    """

    engine: ClassVar[str] = "cp-sat"
    inexact: ClassVar[str] = ""

    reward_scale: float = 1.0
    exact: bool = True

    def __init__(self, instance: Any) -> None:
        self.instance = instance
        self.literals: dict[str, IntVar] = {}
        self.added: list[Constraint] = []
        self.seconds = 0.0
        self._model: CpModel | None = None
        self._declared = _Declared()

    @property
    def loss(self) -> int:
        """The most that rounding can change the integer objective, in units of that objective."""
        return 0

    @property
    def rules(self) -> dict[str, Constraint]:
        """All side constraints by name: the instance's, then those that were added."""
        rules = [*self.instance.constraints, *self.added]
        return {label(rule, position): rule for position, rule in enumerate(rules)}

    @property
    def model(self) -> CpModel:
        """The CP-SAT model; it is built when it is first asked for, and users can change it."""
        if self._model is None:
            require("ortools", "model")
            from ortools.sat.python import cp_model

            began = time.perf_counter()
            self._model = cp_model.CpModel()
            try:
                self._build()
                for name, rule in self.rules.items():
                    self._state(rule, name)
                self._declared = _Declared.of(self._model)
            except BaseException:  # Ctrl-C too: a model is built completely, or not at all
                self._model, self.literals = None, {}
                raise
            self.seconds += time.perf_counter() - began
        return self._model

    def _build(self) -> None:
        """State variables, constraints and objective."""
        raise NotImplementedError

    def _state(self, rule: Constraint, name: str) -> None:
        """State a side constraint, enforced by its own literal."""
        raise NotImplementedError

    def _accept_rule(self, rule: Constraint, name: str) -> None:
        """Raise `InputError` for a side constraint that the model cannot express."""

    def literal(self, name: str) -> IntVar:
        """Return a new literal, true by default, that enforces a side constraint."""
        self.literals[name] = enforced = self.model.new_bool_var(f"asked[{name}]")
        set_domain(enforced.proto, [1, 1])
        return enforced

    def add(self, *constraints: Constraint) -> Self:
        """Add side constraints to those of the instance; raise `InputError` for a wrong one."""
        began = time.perf_counter()
        check_rules(self.instance, [*self.added, *constraints])
        changed = self.changed
        before = len(self.rules)
        for position, rule in enumerate(constraints, start=before):
            self._accept_rule(rule, label(rule, position))
        self.added.extend(constraints)
        if self._model is not None:
            for name, rule in list(self.rules.items())[before:]:
                self._state(rule, name)
            self._declared = self._declared if changed else _Declared.of(self._model)
        self.seconds += time.perf_counter() - began
        return self

    @property
    def changed(self) -> bool:
        """Whether anything in the model but hints differs from what was declared."""
        return self._model is not None and _Declared.of(self._model) != self._declared

    @property
    def goal_changed(self) -> bool:
        """Whether its objective differs from what was declared."""
        return self._model is not None and _Declared.goal_of(self._model) != self._declared.goal

    def side_constraints(self) -> Side:
        """Return the literal that enforces each side constraint, by name, once the model is built.

        Changes by the user are one more, ``native constraints``.
        """
        if self._model is None:
            return {name: [] for name in self.rules}
        rows: Side = {name: [literal] for name, literal in self.literals.items()}
        return rows | ({"native constraints": []} if self.changed else {})


def set_domain(message: Any, domain: Iterable[int]) -> None:
    """Set the domain of a variable or an objective in a model, in any release of OR-Tools."""
    message.domain.clear()
    message.domain.extend(domain)


class _Declared(NamedTuple):
    """A model as CP-SAT would read it, and its objective alone; hints do not count."""

    model: bytes = b""
    goal: bytes = b""

    @classmethod
    def of(cls, model: CpModel) -> Self:
        """Return the state of a model."""
        proto = model.proto
        if proto.HasField("solution_hint"):
            proto = type(proto)()
            proto.CopyFrom(model.proto)
            proto.ClearField("solution_hint")
        return cls(proto.SerializeToString(), cls.goal_of(model))

    @staticmethod
    def goal_of(model: CpModel) -> bytes:
        """Return the objective of a model."""
        goals = model.proto.objective, model.proto.floating_point_objective
        return b" ".join(goal.SerializeToString() for goal in goals)
