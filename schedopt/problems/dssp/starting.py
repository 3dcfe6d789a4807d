"""What is in hand before any search."""

from schedopt.formulations.protocol import Formulation
from schedopt.instances.dssp import Selected, SelectedNights
from schedopt.solvers.engine import HandOn
from schedopt.solvers.result import Limits


def first(model: Formulation, limits: Limits) -> tuple[HandOn, bool] | None:
    """Return the best of what dispatchers get done in time, bounded, and whether that is all."""
    from schedopt.formulations.dssp import Schedule

    if not isinstance(model, Schedule):
        return None
    from schedopt.problems.dssp import incumbents

    return incumbents.first(model, limits)


def at_once(model: Formulation) -> tuple[Selected | SelectedNights | None, float | None]:
    """Return jobs by reward for their demand, as far as the rules allow, and a weak bound."""
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.solvers.dssp import at_once

    if not isinstance(model, Selection | Season) or model.sample:
        return None, None
    return at_once.at_once(model)
