"""What is in hand before any search."""

from schedopt.formulations.protocol import Formulation
from schedopt.instances.dssp import Selected, SelectedNights
from schedopt.solvers.engine import Partial
from schedopt.solvers.result import Limits


def first(model: Formulation, limits: Limits) -> tuple[Partial, bool] | None:
    """Return the best of what dispatchers get done in time, bounded, and whether that is all."""
    from schedopt.formulations.dssp import Schedule

    if not isinstance(model, Schedule):
        return None
    from schedopt.problems.dssp import incumbents

    return incumbents.first(model, limits)


def trivial(model: Formulation) -> tuple[Selected | SelectedNights | None, float | None]:
    """Return jobs by reward for their demand, as far as the rules allow, and a weak bound."""
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.solvers.dssp import trivial

    if not isinstance(model, Selection | Season) or model.sample:
        return None, None
    return trivial.trivial(model)
