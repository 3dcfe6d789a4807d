"""A policy of a one-or-all system as letters, with its response times."""

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq import OptimalPolicy
from schedopt.instances.msfq import ClassTime, OptimalTable

Decisions = NDArray[np.int8]
"""What to do while j large jobs wait, c small ones run and i wait, shape (J + 1, k, I + 1): 0
nothing, 1 start a small job and decide again, 2 start a large one; beyond, what is done at the
edge."""


def as_table(
    model: OptimalPolicy,
    decisions: Decisions,
    small: float,
    large: float,
    *,
    span: float = 0.0,
    truncation: float = 0.0,
) -> OptimalTable:
    """Return a policy, shape (J + 1, k, I + 1), as letters, with its mean response times.

    `span` and `truncation` are the parts of the gap.
    """
    system = model.system
    times = {1: small, system.k: large}
    table = _trim_repeats(decisions)
    return OptimalTable(
        mean_response_time=float(system.mean(small, large)),
        weighted_response_time=float(system.weighted(small, large)),
        classes=tuple(
            ClassTime(need=job.need, mean_response_time=times[job.need])
            for job in model.instance.classes
        ),
        small_most=table.shape[2] - 1,
        large_most=len(table) - 1,
        at_empty=_decision_letters(table[:, 0], ".SL"),
        admit=tuple(_decision_letters(table[:, c], "-S") for c in range(1, system.k)),
        span=span,
        truncation=truncation,
    )


def _trim_repeats(decisions: Decisions) -> Decisions:
    """Leave out what goes on as the last row or column does."""
    while len(decisions) > 2 and (decisions[-1] == decisions[-2]).all():
        decisions = decisions[:-1]
    while decisions.shape[2] > 2 and (decisions[:, :, -1] == decisions[:, :, -2]).all():
        decisions = decisions[:, :, :-1]
    return decisions


def _decision_letters(rows: Decisions, alphabet: str) -> tuple[str, ...]:
    """Return decisions, shape (J + 1, I + 1), as a row of letters for each j."""
    letters = np.array(list(alphabet))
    return tuple("".join(letters[row].tolist()) for row in rows)
