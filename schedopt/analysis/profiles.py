"""Performance profiles: the share of instances within a factor of the best."""

from collections.abc import Iterable
from math import inf, isfinite

import msgspec

from schedopt.analysis.contenders import SAME, better, scores_by_problem
from schedopt.sweep.rows import Row

TAUS = (1.0, 1.001, 1.01, 1.02, 1.05, 1.1, 1.25, 1.5, 2.0)
"""Where a profile is read off for a table."""


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

    def at(self, tau: float) -> float:
        """Return ρ(τ): the share of instances with a ratio of at most τ."""
        return sum(ratio <= tau * (1 + SAME) for ratio in self.ratios) / self.instances

    def steps(self) -> tuple[list[float], list[float]]:
        """Return the finite ratios at which the profile grows, 1 before them, and ρ at each."""
        steps, shares = [1.0], [0.0]
        for count, ratio in enumerate((r for r in self.ratios if isfinite(r)), start=1):
            if ratio > steps[-1] * (1 + SAME):
                steps.append(ratio)
                shares.append(0.0)
            shares[-1] = count / self.instances
        return steps, shares


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
        for scores, _, _ in scores_by_problem(rows)
        if scores.best
        for name, of in scores.of.items()
    ]


def ratio(value: float, best: float, sign: float) -> float:
    """Return the ratio of a score to the best; 1 for the best itself."""
    if not better(best, value, sign):
        return 1.0
    small, large = (value, best) if sign > 0 else (best, value)
    return large / small if small > 0 else inf
