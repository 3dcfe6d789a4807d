"""One level of the decision process: where a policy stops, and its equations solved.

A level is a number j of waiting large jobs. On it a state is c small jobs in service (0..k) and i
small ones waiting (0..I). At an event a policy says for each state whether to leave it at that (0),
to start a small job and decide again (1), or to start a large one on empty servers (2), which leads
to the level below. It *stops* in the states where it leaves it at that.

Arrays over states have shape (k + 2, I + 1), where c = k + 1 is a large job in service; decisions
have shape (k, I + 1). An arrival that would be one waiting job too many is lost, for a price that
is part of the source terms.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.solvers.compiling import njit

Floats = NDArray[np.float64]
Numbers = NDArray[np.int32]
Decisions = NDArray[np.int8]
Rates = tuple[float, float, float, float]
"""λ_1, λ_k, μ_1, μ_k."""
Entry = tuple[Numbers, Floats, int]
"""Values at all i in terms of those at a few: which, by which weights, both of shape (I + 1, 4),
and how many there are."""


class Stops(NamedTuple):
    """A level, and its states in which a policy stops, numbered by c + i and then by c."""

    settled: Numbers
    """Where decisions lead from each state: the number of a stop, or -1 - i for a large job started
    while i small ones wait; shape (k + 1, I + 1)."""
    where: Numbers  # c and i of each stop, (stops, 2)
    starts: Numbers  # the first stop with each c + i, and the number of stops, (k + I + 2,)
    rates: Rates
    top: bool  # whether it is the highest level


@njit(cache=True)
def stops(decisions: Decisions, rates: Rates, top: bool) -> Stops:
    """Return the states in which a policy stops."""
    k, width = decisions.shape
    settled = np.empty((k + 1, width), np.int32)
    where = np.empty(((k + 1) * width, 2), np.int32)
    starts = np.zeros(k + width + 1, np.int32)
    count = 0
    for n in range(k + width):
        starts[n] = count
        for c in range(min(k, n) + 1):
            i = n - c
            if i < width and (c == k or decisions[c, i] == 0):
                settled[c, i] = count
                where[count, 0] = c
                where[count, 1] = i
                count += 1
    starts[k + width] = count
    for c in range(k - 1, -1, -1):
        for i in range(width):
            if decisions[c, i] == 1:
                settled[c, i] = settled[c + 1, i - 1]
            elif decisions[c, i] == 2:
                settled[c, i] = -1 - i
    return Stops(settled, where[:count].copy(), starts, rates, top)


@njit(cache=True)
def fill(
    right: Floats, stops: Stops, above: Numbers, far: Floats, own: Entry, below: Entry
) -> None:
    """Add to each stop's right side the effect of events that leave the level.

    The columns of `right`, shape (stops, u + t + q), are u values with a large job in service on
    this level (to which the level above leads), t such values on the level below, and q constants.
    `above` and `far` are ``settled`` of the level above, and values there, shape (stops there, u +
    q). `own` and `below` express the value while i small jobs wait by the u (t): see `Entry`.
    """
    settled, where, _, (l1, lk, m1, _), top = stops
    width = settled.shape[1]
    u, t = own[2], below[2]
    for s in range(where.shape[0]):
        c, i = where[s]
        if not top:
            target = above[c, i]
            if target < 0:
                _enter(right[s], lk, own, -1 - target, 0)
            else:
                for a in range(u):
                    right[s, a] += lk * far[target, a]
                for a in range(u, far.shape[1]):
                    right[s, t + a] += lk * far[target, a]
        if i + 1 < width and settled[c, i + 1] < 0:
            _enter(right[s], l1, below, -1 - settled[c, i + 1], u)
        if c and settled[c - 1, i] < 0:
            _enter(right[s], c * m1, below, -1 - settled[c - 1, i], u)


@njit(cache=True)
def _enter(row: Floats, rate: float, entry: Entry, i: int, shift: int) -> None:
    """Add a rate times the value with a large job in service while i small ones wait."""
    nodes, weights, _ = entry
    for a in range(nodes.shape[1]):
        row[shift + nodes[i, a]] += rate * weights[i, a]


@njit(cache=True, error_model="numpy")
def solve_stops(right: Floats, stops: Stops) -> None:
    """Solve the stops' equations in place, for many right sides at once.

    Stops with n = c + i have neighbours with n - 1 and n + 1 only: they are eliminated from the
    largest n down, and put in again from the smallest n up.
    """
    settled, where, starts, (l1, lk, m1, _), top = stops
    k, width = settled.shape[0] - 1, settled.shape[1]
    columns = right.shape[1]
    below = np.zeros((where.shape[0], k + 1))  # a stop in terms of those with n - 1
    matrix = np.empty((k + 1, k + 1))
    for n in range(k + width - 1, -1, -1):
        first, last = starts[n], starts[n + 1]
        beneath = starts[n - 1] if n else 0
        size, under = last - first, first - beneath
        matrix[:size, :size] = 0.0
        for a in range(size):
            s = first + a
            c, i = where[s]
            matrix[a, a] += l1 + c * m1 + (0.0 if top else lk)
            if i + 1 == width:
                matrix[a, a] -= l1
            elif settled[c, i + 1] >= 0:
                up = settled[c, i + 1]
                for b in range(size):
                    matrix[a, b] -= l1 * below[up, b]
                for b in range(columns):
                    right[s, b] += l1 * right[up, b]
            if c and settled[c - 1, i] >= 0:
                below[s, settled[c - 1, i] - beneath] += c * m1
        _eliminate(matrix, below, right, first, size, under)
    for n in range(1, k + width):
        beneath, first, last = starts[n - 1], starts[n], starts[n + 1]
        for s in range(first, last):
            for b in range(first - beneath):
                part = below[s, b]
                if abs(part) > 1e-60:
                    for a in range(columns):
                        right[s, a] += part * right[beneath + b, a]


@njit(cache=True, error_model="numpy")
def _eliminate(
    matrix: Floats, below: Floats, right: Floats, first: int, size: int, under: int
) -> None:
    """Solve one block by Gauss-Jordan: it is diagonally dominant, and needs no pivoting."""
    columns = right.shape[1]
    for p in range(size):
        scale = 1.0 / matrix[p, p]
        for b in range(p + 1, size):
            matrix[p, b] *= scale
        for b in range(under):
            below[first + p, b] *= scale
        for b in range(columns):
            right[first + p, b] *= scale
        for a in range(size):
            part = matrix[a, p]
            if a == p or abs(part) < 1e-60:
                continue
            for b in range(p + 1, size):
                matrix[a, b] -= part * matrix[p, b]
            for b in range(under):
                below[first + a, b] -= part * below[first + p, b]
            for b in range(columns):
                right[first + a, b] -= part * right[first + p, b]


@njit(cache=True)
def large_rows(
    source: Floats, right: Floats, stops: Stops, far: Floats, u: int, below: Entry
) -> Floats:
    """Return the values of states with a large job in service, in the terms of `fill`.

    `source`, shape (I + 1, q), has the constants of their equations; `right` is solved; `far`,
    shape (I + 1, u + q), are such values on the level above.
    """
    settled, _, _, (l1, lk, _, mk), top = stops
    width = settled.shape[1]
    columns = right.shape[1]
    first = columns - source.shape[1]
    rows = np.zeros((width, columns))
    for i in range(width - 1, -1, -1):
        out = rows[i]
        out[first:] = source[i]
        if settled[0, i] < 0:
            _enter(out, mk, below, i, u)
        else:
            out += mk * right[settled[0, i]]
        if not top:
            out[:u] += lk * far[i, :u]
            out[first:] += lk * far[i, u:]
        rate = mk if top else mk + lk
        if i + 1 < width:
            out += l1 * rows[i + 1]
            rate += l1
        out /= rate
    return rows


@njit(cache=True)
def put_in(
    source: Floats,
    stops: Stops,
    above: Floats,
    large_above: Floats,
    large_below: Floats,
    at_event: Floats,
    values: Floats,
) -> None:
    """Solve a level where all values off it are known.

    `source` has shape (k + 2, I + 1); `above` the values at events on the level above;
    `large_above` and `large_below`, shape (I + 1,), those with a large job in service on the levels
    above and below. `at_event`, shape (k + 1, I + 1), takes the values before the policy decides;
    `values`, shape (k + 2, I + 1), those after it has decided, also where the policy never stops.
    """
    settled, where, _, (l1, lk, m1, mk), top = stops
    layers, width = settled.shape
    right = np.empty((where.shape[0], 1))
    for s in range(where.shape[0]):
        c, i = where[s]
        out = source[c, i]
        if not top:
            out += lk * above[c, i]
        if i + 1 < width and settled[c, i + 1] < 0:
            out += l1 * large_below[-1 - settled[c, i + 1]]
        if c and settled[c - 1, i] < 0:
            out += c * m1 * large_below[-1 - settled[c - 1, i]]
        right[s, 0] = out
    solve_stops(right, stops)
    for c in range(layers):
        for i in range(width):
            target = settled[c, i]
            at_event[c, i] = large_below[-1 - target] if target < 0 else right[target, 0]
    for c in range(layers):
        for i in range(width):
            out = source[c, i] + l1 * at_event[c, min(i + 1, width - 1)]
            out += lk * (at_event[c, i] if top else above[c, i])
            if c:
                out += c * m1 * at_event[c - 1, i]
            values[c, i] = out / (l1 + lk + c * m1)
    for i in range(width - 1, -1, -1):
        out = source[layers, i] + mk * at_event[0, i]
        rate = mk
        if not top:
            out += lk * large_above[i]
            rate += lk
        if i + 1 < width:
            out += l1 * values[layers, i + 1]
            rate += l1
        values[layers, i] = out / rate
