"""Windows of a log, exactly: prices rule out most starts, and what they leave is searched."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.formulations.msfq import Window
from schedopt.formulations.msfq.log_bound import Prices
from schedopt.formulations.msfq.ticks import Ticks, Ticks64
from schedopt.instances.msfq import Windowed
from schedopt.solvers import cpsat
from schedopt.solvers.clock import now
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of, summed
from schedopt.solvers.msfq.log_bound.relaxations import relaxed, rounded_down
from schedopt.solvers.msfq.window.annealing import improved
from schedopt.solvers.msfq.window.packing import Packing
from schedopt.solvers.msfq.window.partial import MOST_JOBS
from schedopt.solvers.msfq.window.splitting import Splitting
from schedopt.solvers.result import NOISE, Limits, Result

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

SETTLED = "proven without CP-SAT: by prices of servers, and a search of the starts that they leave"
ROUNDS = 600
SHARE = 0.3
"""Of the time limit that prices may take."""
MOST_UNIT = 2**20
BEFORE, UNLIMITED = 0.8, 60.0
"""Of the time limit, what is spent before CP-SAT; and seconds where there is none."""


def solve(model: Window, limits: Limits | None = None, hint: Windowed | None = None) -> Result:
    """Schedule a window with the least response time.

    Orders are annealed; prices by need then rule out starts, and a search over partial schedules
    settles the rest. What that does not settle is left to CP-SAT.

    Parameters
    ----------
    model : Window
    limits : Limits, optional
        When to stop; by default with a proof.
    hint : Windowed, optional
        A schedule to start from; that of the file's order where none is given.

    Returns
    -------
    Result
        Not yet checked. An interruption (Ctrl-C) ends the run and keeps what is known.
    """
    limits = limits or Limits()
    began = now()
    known = hint or model.scheduled(list(range(model.count)))
    narrowed = cpsat.copied(model)
    try:
        known, bound = settled(model, known, limits, narrowed)
    except KeyboardInterrupt:  # what was known stays
        least = max(relaxed(model.ticks, weighted=model.instance.objective == "weighted").values())
        result = cpsat.solve(model, limits, hint=known, bound=least, search=False)
        return msgspec.structs.replace(result, termination="interrupted")
    if model.instance.objective_of(known) > bound * (1 + NOISE):
        bound = max(bound, tightened(model, known, limits, narrowed))
    spent = now() - began
    left = limits.time_limit
    rest = replace(limits, time_limit=None if left is None else max(left - spent, 0.0))
    result = cpsat.solve(model, rest, hint=known, bound=bound, copy=narrowed)
    if result.proven and model.instance.objective_of(known) <= bound * (1 + NOISE):
        result = msgspec.structs.replace(result, message=SETTLED)
    options = {**result.options, "time_limit": limits.time_limit}
    seconds = msgspec.structs.replace(result.seconds, solve=now() - began)
    return msgspec.structs.replace(result, options=options, seconds=seconds)


def settled(
    model: Window, known: Windowed, limits: Limits, narrowed: CpModel
) -> tuple[Windowed, float]:
    """Return the best schedule that is found, and a bound: without CP-SAT.

    Parameters
    ----------
    model : Window
    known : Windowed
    limits : Limits
        Of the time limit a part is left to CP-SAT.
    narrowed : cp_model.CpModel
        A copy of the model, whose starts are left those that better schedules may have.
    """
    ticks = model.ticks
    bound = max(relaxed(ticks, weighted=model.instance.objective == "weighted").values())
    if model.changed or not model.exact or model.instance.objective_of(known) <= bound:
        return known, bound
    until = now() + (UNLIMITED if limits.time_limit is None else BEFORE * limits.time_limit)
    given = sum_of(ticks, ticks.run - ticks.submit)
    at = np.array([one.start for one in known.starts]) - model.jobs.submit[0]
    orders = [np.argsort(at, kind="stable"), np.argsort(ticks.run, kind="stable")]
    least = ceil(exactly(ticks, bound)) - given
    value, starts = improved(ticks, orders, least, seed=limits.seed)
    if value > least and len(ticks.run) <= MOST_JOBS:
        value, starts, proven = _searched(model, value, starts, until, narrowed)
        least = max(least, proven)
    found = model.scheduled(np.argsort(starts, kind="stable").tolist())
    if model.instance.objective_of(found) < model.instance.objective_of(known):
        known = found
    return known, max(bound, rounded_down(ticks.respond(least + given)))


def _searched(
    model: Window, value: int, starts: Ticks64, until: float, narrowed: CpModel
) -> tuple[int, Ticks64, int]:
    """Return the best sum of weighted starts, the starts, and what no schedule is below."""
    ticks = model.ticks
    at = starts.astype(np.float64)
    grid = grid_of(ticks, at, 10 * len(at))
    target = float((at + ticks.run - ticks.submit) @ ticks.weight)
    alike = PriceSearch(ticks, target, grid, rounds=ROUNDS, most_unit=MOST_UNIT)
    alike.advance(max(until - now(), 0.0))
    packing = Packing(ticks, grid, value)
    packing.open(alike.best.prices / alike.best.unit, until)
    if not packing.usable:
        return value, starts, 0
    if packing.closed:
        return value, starts, value
    _keep(model, packing, narrowed)
    search = Splitting(packing)
    search.run(until)
    if search.starts is not None:
        starts = search.starts
    return search.known, starts, search.bound


def _keep(model: Window, packing: Packing, narrowed: CpModel) -> None:
    """Leave the copy the starts that prices leave."""
    from ortools.sat.python import cp_model

    pairs = zip(packing.first.tolist(), packing.last.tolist(), strict=True)
    for variable, (first, last) in zip(model.starts, pairs, strict=True):
        proto = narrowed.proto.variables[variable.index]
        old = cp_model.Domain.from_flat_intervals(list(proto.domain))
        new = old.intersection_with(cp_model.Domain(first, last))
        proto.domain[:] = new.flattened_intervals()


def sum_of(ticks: Ticks, times: Ticks64) -> int:
    """Return the weighted sum of times."""
    return summed(times * ticks.weight)


def exactly(ticks: Ticks, mean: float) -> Fraction:
    """Return the sum in ticks that a mean response time stands for."""
    return Fraction(mean) * ticks.total * ticks.scale


def tightened(model: Window, known: Windowed, limits: Limits, narrowed: CpModel) -> float:
    """Return a bound, and take from a copy of the model starts that no better schedule has.

    What prices prove rests on each job's cheapest start. A schedule in which one job starts at
    another time costs at least as much more as that costs the job: where that is more than what is
    known, the start is ruled out.
    """
    ticks = model.ticks
    found = max(relaxed(ticks, weighted=model.instance.objective == "weighted").values())
    starts = np.array([one.start for one in known.starts]) - model.jobs.submit[0]
    at = starts * float(ticks.scale)
    response = np.maximum(at - ticks.submit, 0.0) + ticks.run + 1.0
    grid = grid_of(ticks, at, 10 * len(at))
    grid = np.unique(np.concatenate([grid, (grid[1:] + grid[:-1]) // 2]))
    target = float(response @ ticks.weight)
    search = PriceSearch(ticks, target, grid, rounds=ROUNDS, most_unit=MOST_UNIT)
    search.advance(60.0 if limits.time_limit is None else SHARE * limits.time_limit)
    if search.bound is None:
        return found
    if not model.exact:
        return max(found, search.bound)
    # Sums are whole numbers of ticks here: what is above one is at the next.
    step = int(np.gcd.reduce(ticks.weight))
    least = -(-search.total // (search.best.unit * step)) * step
    whole = np.rint(at).astype(np.int64)
    exactly = summed((whole + ticks.run - ticks.submit) * ticks.weight)
    if not model.changed and least < exactly:
        _rule_out(model, search.best, search.total, exactly, narrowed)
    return max(found, rounded_down(ticks.respond(least)))


def _rule_out(model: Window, prices: Prices, total: int, known: int, narrowed: CpModel) -> None:
    """Leave each job of the copy the starts at which the bound is not above what is known."""
    from ortools.sat.python import cp_model

    from schedopt.solvers.msfq.log_bound.price_kernels import respond

    ticks, grid = model.ticks, prices.grid
    paid = np.concatenate([[0], np.cumsum(prices.prices * np.diff(grid))])
    costs, starts = np.empty_like(ticks.run), np.empty_like(ticks.run)
    padded = np.append(prices.prices, 0)
    respond(ticks.submit, ticks.need, ticks.run, ticks.weight, prices.unit, grid, padded, paid,
            costs, starts)  # fmt: skip
    slack = known * prices.unit - total
    for job, variable in enumerate(model.starts):
        kept = kept_starts(ticks, job, prices, int(costs[job]) + slack)
        domain = cp_model.Domain.from_intervals([list(piece) for piece in kept])
        proto = narrowed.proto.variables[variable.index]
        old = cp_model.Domain.from_flat_intervals(list(proto.domain))
        proto.domain[:] = old.intersection_with(domain).flattened_intervals()


def kept_starts(ticks: Ticks, job: int, prices: Prices, most: int) -> list[tuple[int, int]]:
    """Return the starts at which a job's response and rent cost no more than ``most``, as ranges.

    Between the times at which start or end meets the grid costs are linear.
    """
    grid, unit = prices.grid, prices.unit
    submit, run = int(ticks.submit[job]), int(ticks.run[job])
    need, rate = int(ticks.need[job]), unit * int(ticks.weight[job])
    paid = [0, *np.cumsum(prices.prices * np.diff(grid)).tolist()]
    times, levels = grid.tolist(), [*prices.prices.tolist(), 0]

    def rent(time: int) -> int:
        i = int(np.searchsorted(grid, time, "right")) - 1
        paid_so_far: int = paid[i] + levels[i] * (time - times[i])
        return paid_so_far

    def cost(start: int) -> int:
        return rate * (start + run - submit) + need * (rent(start + run) - rent(start))

    last = max(submit, most // rate - run + submit)  # later, waiting alone costs more
    marks = {submit, last}
    marks |= {time for time in times if submit < time < last}
    marks |= {time - run for time in times if submit < time - run < last}
    corners = sorted(marks)
    kept: list[tuple[int, int]] = []
    for a, b in zip(corners, corners[1:] or corners, strict=False):
        low, high = cost(a), cost(b)
        first, stop = a, b
        if low > most and high > most:
            continue
        if low > most:  # falls: the first from which on it is cheap enough
            first = a + -(-(low - most) * (b - a) // (low - high))
        elif high > most:
            stop = a + (most - low) * (b - a) // (high - low)
        if kept and kept[-1][1] >= first - 1:
            kept[-1] = (kept[-1][0], max(kept[-1][1], stop))
        else:
            kept.append((first, stop))
    return kept
