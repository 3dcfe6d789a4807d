"""What is in hand before any search."""

from schedopt.formulations.protocol import Formulation
from schedopt.instances.dssp import Selected, SelectedNights


def trivial(model: Formulation) -> tuple[Selected | SelectedNights | None, float | None]:
    """Return jobs by reward for their demand, as far as the rules allow, and a weak bound."""
    from schedopt.formulations.dssp import Season, Selection
    from schedopt.solvers.dssp import trivial

    if not isinstance(model, Selection | Season) or model.sample:
        return None, None
    return trivial.trivial(model)
