"""The policies of a box of waiting jobs, and the sparse equations of their relative values.

A box holds the states with at most I small and J large jobs waiting. Source: Puterman, Markov
Decision Processes, Wiley 1994, section 8.2.
"""

from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq import OptimalPolicy
from schedopt.formulations.msfq.process import System
from schedopt.instances.msfq import ClassTime, OptimalTable

Decisions = NDArray[np.int8]
"""The decision while j large jobs wait, c small jobs run and i small jobs wait, shape (J + 1, k,
I + 1): 0 start nothing, 1 start a small job and decide again, 2 start a large job. Beyond the box
the decision is that at its edge."""


def as_table(
    model: OptimalPolicy,
    decisions: Decisions,
    small: float,
    large: float,
    *,
    span: float = 0.0,
    truncation: float = 0.0,
) -> OptimalTable:
    """Return a policy, shape (J + 1, k, I + 1), and its mean response times as a solution record.

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
    """Return a policy without last rows and columns that repeat the ones before them."""
    while len(decisions) > 2 and (decisions[-1] == decisions[-2]).all():
        decisions = decisions[:-1]
    while decisions.shape[2] > 2 and (decisions[:, :, -1] == decisions[:, :, -2]).all():
        decisions = decisions[:, :, :-1]
    return decisions


def _decision_letters(rows: Decisions, alphabet: str) -> tuple[str, ...]:
    """Return decisions, shape (J + 1, I + 1), as a string of letters for each j."""
    letters = np.array(list(alphabet))
    return tuple("".join(letters[row].tolist()) for row in rows)


Floats = NDArray[np.float64]
T = TypeVar("T", bound=np.generic)


def pad_edge(box: NDArray[T]) -> NDArray[T]:
    """Return a box with one more level and one more column that repeat its edge."""
    return np.pad(box, ((0, 1), (0, 0), (0, 1)), mode="edge")


class Equations:
    """The equations of the relative values of a policy on a box.

    Solves h(s)·Σ rates + gain·``gains``(s) = source(s) + Σ rate·h(s'). Beyond the box, values are
    those at its edge.

    Parameters
    ----------
    rule : ndarray
        Decisions on the box, padded by `pad_edge`.
    system : System
        The one-or-all system.
    endless : bool
        Whether the box is one level among infinitely many: a large job that starts leads back to
        the level, and a large job that arrives does not change the state.
    """

    def __init__(self, rule: Decisions, system: System, *, endless: bool = False) -> None:
        levels, k, width = rule.shape[0] - 1, rule.shape[1], rule.shape[2] - 1
        self.shape = (levels, k + 2, width)
        here = np.arange(levels * (k + 2) * width).reshape(self.shape)
        settled = pad_edge(here)  # states after decisions; beyond the box its edge
        below = settled[:, k + 1] if endless else np.roll(settled[:, k + 1], 1, axis=0)
        for c in range(k - 1, -1, -1):
            starts = rule[:, c, 1:] == 1
            settled[:, c, 1:] = np.where(starts, settled[:, c + 1, :-1], settled[:, c, 1:])
        settled[:, 0] = np.where(rule[:, 0] == 2, below, settled[:, 0])
        l1, lk, m1, mk = system.rates
        wider, higher = settled[:-1, :, 1:], settled[1:, :, :-1]
        after = settled[:-1, [0, *range(k), 0], :-1]
        served = np.append(np.arange(k + 1.0) * m1, mk)[:, None]
        begun, ended = (at // width % (k + 2) == k + 1 for at in (wider, after))
        begun[:, -1] = False  # the large job was in service before
        self.leads = l1 * begun + served * ended
        """The rate of events after which a large job starts, of the shape of values."""
        self.gains = np.ones(self.shape)
        self._rates = np.broadcast_to(l1 + lk + served, self.shape).ravel()
        self._flows = [
            (np.broadcast_to(rate, self.shape).ravel(), target.ravel())
            for rate, target in ((l1, wider), (lk, higher), (served, after))
        ]
        self._stops = np.unique(settled)  # the states that decisions lead to
        self._zero = int(np.searchsorted(self._stops, here[0, -1, 0]))

    @cached_property
    def _factors(self) -> Any:
        """The sparse LU factorization, with the gain in place of the value that is 0."""
        from scipy.sparse import csc_array, hstack
        from scipy.sparse.linalg import splu

        stops, count = self._stops, len(self._stops)
        numbered = np.full(self._rates.size, -1)
        numbered[stops] = np.arange(count)
        flows = [rate[stops] for rate, _ in self._flows]
        columns = [numbered[target[stops]] for _, target in self._flows]
        rows, each = np.tile(np.arange(count), 4), np.concatenate([self._rates[stops], *flows])
        each[count:] *= -1.0
        whole = csc_array((each, (rows, np.concatenate([np.arange(count), *columns]))))
        gain = csc_array(self.gains.ravel()[stops, None])
        parts = [whole[:, : self._zero], gain, whole[:, self._zero + 1 :]]
        return splu(hstack(parts, format="csc"))

    def solve(self, source: Floats) -> tuple[float, Floats]:
        """Return the gain and the relative values, of the shape of the source.

        They are not finite if there is no solution. The value is 0 in the state in which a large
        job is in service and no large job waits, at the last column.
        """
        right = source.ravel()
        try:
            found = self._factors.solve(right[self._stops])
        except RuntimeError:  # singular
            return np.nan, np.full(self.shape, np.nan)
        gain = float(found[self._zero])
        found[self._zero] = 0.0
        values = np.zeros(right.size)
        values[self._stops] = found
        out = right - gain * self.gains.ravel()
        for rate, target in self._flows:
            out = out + rate * values[target]
        return gain, (out / self._rates).reshape(self.shape)
