"""Whether jobs that a policy selects keep what a formulation asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from schedopt.instances.constraints import Seats

if TYPE_CHECKING:
    from schedopt.formulations.protocol import Formulation


def keeps(model: Formulation, selected: Sequence[str]) -> bool:
    """Tell whether jobs that are run keep all side constraints; of seats a schedule tells."""
    from schedopt.validation.dssp.constraints import broken
    from schedopt.validation.dssp.facts import Facts

    facts, names = Facts(model.instance, 1.0), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    return not any(broken(rule, facts, names) for rule in rules)


def sound(model: Formulation, selected: Sequence[str], fill: float = 1.0) -> bool:
    """Tell whether a selection fits, and keeps all side constraints."""
    from schedopt.validation.dssp.constraints import unseated
    from schedopt.validation.dssp.facts import Facts

    facts, names = Facts(model.instance, fill), frozenset(selected)
    rules = [*model.instance.constraints, *model.added]
    full = any(facts.overfull({name: facts.demand[name] for name in names}, facts.rate))
    seats = any(unseated(rule, facts, names) for rule in rules if isinstance(rule, Seats))
    return not full and not seats and keeps(model, selected)
