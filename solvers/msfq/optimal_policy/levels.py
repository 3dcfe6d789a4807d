"""The equations of a policy's values, solved level by level.

The levels are the numbers of waiting large jobs. A level is left upwards by any state in which a
large job arrives, but downwards only where a large job is started: so the values on a level are
linear in a few values on the level below, by elimination from the highest level down (the
matrix-analytic method for level-dependent processes, here for values in place of probabilities).
Those few depend on the number of waiting small jobs smoothly: where there are many, they are
interpolated between nodes, and the solution is a close one, to be corrected by its residual.

Source: Bright and Taylor, Calculating the equilibrium distribution in level dependent
quasi-birth-and-death processes, Stochastic Models 11, 1995; for the values: Puterman, Markov
Decision Processes, Wiley 1994, section 8.2.
"""

from collections.abc import Generator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.msfq.optimal_policy import level_kernels as kernels
from schedopt.solvers.msfq.optimal_policy.level_kernels import (
    Decisions,
    Entry,
    Floats,
    Rates,
    Stops,
)

DENSE, STRETCH = 16, 0.3
"""Nodes stand at every i up to the first number; beyond, this part of the excess apart."""
FEW = 16
"""Up to how many values nothing is interpolated."""
PRODUCT = 200_000
"""Multiplications up to which a product of matrices stays on one core (OpenBLAS: 4 * 65,536)."""
NEXT_TO_NOTHING = 1e-60
"""Smaller numbers count as 0: processors are slow with subnormal ones."""


@dataclass
class Solved:
    """The solution of a policy's equations."""

    gains: Floats  # the long-run mean of each kind of source
    values: Floats  # relative values for the first kind, (J + 1, k + 2, I + 1)


@dataclass
class _Level:
    """What later steps need of an eliminated level."""

    stops: Stops
    below: Entry
    nodes: NDArray[np.intp]
    into: Floats  # values at the nodes of the level above, in terms of those at this one's


def solve(
    decisions: Decisions, sources: tuple[Floats, ...], rates: Rates, apart: int
) -> Generator[None, None, Solved]:
    """Solve h(s)·Σ rates = source(s) - gain + Σ rate·h(s'); yields after each level.

    Arrivals that the box has no room for are lost. Decisions, shape (J + 1, k, I + 1), are 0
    nothing, 1 start a small job, 2 start a large one; each kind of source has shape (J + 1, k + 2,
    I + 1). Nodes are at most `apart` apart; with 1 the solution is exact.
    """
    levels: list[_Level] = []  # from the highest down
    width, kinds = decisions.shape[2], len(sources)
    far = far_large = np.zeros((1, kinds + 1))
    own = _entry(width, np.empty(0, np.intp))
    for j in range(len(decisions) - 1, -1, -1):
        top = not levels
        stops = kernels.stops(decisions[j], rates, top)
        settled, where = stops.settled, stops.where
        leads = np.flatnonzero(settled[0] < 0)
        nodes = _nodes(int(leads[-1]) if leads.size else -1, apart)
        below = _entry(width, nodes)
        u, t = own[2], below[2]
        constants = np.full((decisions.shape[1] + 2, width, kinds + 1), -1.0)
        for a, each in enumerate(sources):
            constants[..., a] = each[j]
        right = np.zeros((len(where), u + t + kinds + 1))
        right[:, u + t :] = constants[where[:, 0], where[:, 1]]
        above = settled if top else levels[-1].stops.settled
        kernels.fill(right, stops, above, far, own, below)
        kernels.solve_stops(right, stops)
        right[np.abs(right) < NEXT_TO_NOTHING] = 0.0
        source = np.ascontiguousarray(constants[-1])
        rows = kernels.large_rows(source, right, stops, far_large, u, below)
        into = known = rows[np.empty(0, np.intp) if top else levels[-1].nodes]
        if j:
            into = np.asarray(np.linalg.solve(np.eye(u) - known[:, :u], known[:, u:]), np.float64)
            into[np.abs(into) < NEXT_TO_NOTHING] = 0.0
            far = _product(right[:, :u], into) + right[:, u:]
            far_large = _product(rows[:, :u], into) + rows[:, u:]
        levels.append(_Level(stops, below, nodes, into))
        own = below
        yield
    gains, entered = _entered(levels, kinds)
    return (yield from _values(levels, sources[0], gains, entered))


def _product(tall: Floats, small: Floats) -> Floats:
    """Multiply matrices slice by slice, each so small that it stays on one core.

    What linear algebra spreads over cores here takes longer, and several times the processor time.
    """
    step = max(PRODUCT // max(small.size, 1), 1)
    slices = [tall[at : at + step] @ small for at in range(0, len(tall), step)]
    return np.concatenate(slices)


def _nodes(last: int, apart: int) -> NDArray[np.intp]:
    """Return for which i values are kept where a large job may be started for all i up to last."""
    if last < FEW or apart <= 1:
        return np.arange(last + 1)
    nodes, i = [], 0
    while i < last:
        nodes.append(i)
        i += min(max(1, int(STRETCH * (i - DENSE))), apart)
    nodes.append(last)
    return np.array(nodes, np.intp)


def _entry(width: int, nodes: NDArray[np.intp]) -> Entry:
    """Interpolate between nodes by cubic polynomials (Lagrange)."""
    count = len(nodes)
    points = min(4, count)
    if not count:
        return np.zeros((width, 1), np.int32), np.zeros((width, 1)), 0
    i = np.arange(width)
    first = np.clip(np.searchsorted(nodes, i, side="right") - 2, 0, count - points)
    near = first[:, None] + np.arange(points)
    weights = np.ones((width, points))
    for a in range(points):
        for b in range(points):
            if a != b:
                away = nodes[near[:, a]] - nodes[near[:, b]]
                weights[:, a] *= (i - nodes[near[:, b]]) / away
    return near.astype(np.int32), weights, count


def _entered(levels: list[_Level], kinds: int) -> tuple[Floats, list[Floats]]:
    """Return the gains, and for each level from 0 up the values that the level above leads to."""
    rows = levels[-1].into  # of level 0, still in terms of themselves
    u = len(rows)
    matrix = np.eye(u) - rows[:, :u]
    matrix[:, 0] = -rows[:, -1]  # the first value is 0, and its place is the gain's
    found = np.linalg.solve(matrix, rows[:, u:-1])
    gains = found[0].copy()
    entered = [np.concatenate([[0.0], found[1:, 0]])]
    constants = np.zeros(kinds + 1)
    constants[0], constants[-1] = 1.0, gains[0]
    for level in reversed(levels[1:-1]):
        entered.append(level.into @ np.concatenate([entered[-1], constants]))
    return gains, entered


def _values(
    levels: list[_Level], source: Floats, gains: Floats, entered: list[Floats]
) -> Generator[None, None, Solved]:
    """Put known values in from the highest level down."""
    values = np.empty_like(source)
    layers, width = levels[0].stops.settled.shape
    above, large_above = np.empty((layers, width)), np.empty(width)
    for level, j in zip(levels, range(len(levels) - 1, -1, -1), strict=True):
        large_below = np.zeros(width)
        if j and level.below[2]:
            near, weights, _ = level.below
            large_below = (weights * entered[j - 1][near]).sum(axis=1)
        at_event = np.empty_like(above)
        kernels.put_in(
            source[j] - gains[0],
            level.stops,
            above,
            large_above,
            large_below,
            at_event,
            values[j],
        )
        above, large_above = at_event, values[j, -1]
        yield
    return Solved(gains, values)
