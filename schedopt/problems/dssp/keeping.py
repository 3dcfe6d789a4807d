"""Whether jobs that a policy selects keep what a formulation asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedopt.instances.constraints import Seats

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation


def sound(model: Formulation, selected: Sequence[str], fill: float = 1.0) -> bool:
    """Tell whether a selection fits, and keeps all side constraints."""
    from schedopt.validation.dssp.constraints import broken, unseated
    from schedopt.validation.dssp.facts import Facts

    facts, names = Facts(model.instance, fill), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    full = any(facts.overfull({name: facts.demand[name] for name in names}, facts.rate))
    seats = any(unseated(rule, facts, names) for rule in rules if isinstance(rule, Seats))
    planned = Facts(model.instance, 1.0)
    return not (full or seats or any(broken(rule, planned, names) for rule in rules))
