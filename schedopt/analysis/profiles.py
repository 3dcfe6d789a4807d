"""Performance profiles: the share of instances within a factor of the best."""

from collections.abc import Iterable
from math import inf

import msgspec

from schedopt.analysis.contenders import better, scores_by_problem
from schedopt.sweep.rows import Row


class Profile(msgspec.Struct, frozen=True, kw_only=True):
    """A performance profile after Dolan and Moré (Mathematical Programming 91, 2002).

    The profile of a contender s is the function ρ_s(τ) = |{p : r_ps ≤ τ}| / |P| over the instances
    P, where the ratio r_ps says how many times worse than the best score on p that of s is: 1 for
    the best itself, and infinite where s has no score.
    """

    problem: str
    contender: str
    instances: int  # |P|: instances on which any contender has a score
    ratios: tuple[float, ...]  # r_ps for each instance on which this one has a score, ascending


def profiles(rows: Iterable[Row]) -> list[Profile]:
    """Return the performance profile of each contender, by problem."""
    return [
        Profile(
            problem=scores.problem,
            contender=name,
            instances=len(scores.best),
            ratios=tuple(
                sorted(ratio(value, scores.best[file], scores.sign) for file, value in of.items())
            ),
        )
        for scores in scores_by_problem(rows)
        if scores.best
        for name, of in scores.of.items()
    ]


def ratio(value: float, best: float, sign: float) -> float:
    """Return the ratio of a score to the best; 1 for the best itself."""
    if not better(best, value, sign):
        return 1.0
    small, large = (value, best) if sign > 0 else (best, value)
    return large / small if small > 0 else inf
