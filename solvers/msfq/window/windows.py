"""Windows of logs, exactly: prices rule out most starts, and what they leave is searched."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from schedopt.formulations.cp_sat import set_domain
from schedopt.formulations.msfq import Window
from schedopt.formulations.msfq.log_bound import Ticks, Ticks64
from schedopt.instances.arithmetic import summed
from schedopt.instances.msfq import Windowed
from schedopt.solvers import cpsat
from schedopt.solvers.clock import now
from schedopt.solvers.driving import version
from schedopt.solvers.engine import HandOn
from schedopt.solvers.msfq.log_bound.prices import PriceSearch, grid_of
from schedopt.solvers.msfq.log_bound.relaxations import relaxed, rounded_down
from schedopt.solvers.msfq.window.annealing import improved
from schedopt.solvers.msfq.window.packing import Packing
from schedopt.solvers.msfq.window.partial import PartialSearch
from schedopt.solvers.result import NOISE, Limits, Result, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel

    from schedopt.solvers.engine import Given

SETTLED = "proven without CP-SAT: by prices of servers, and a search of the starts that they leave"
ROUNDS = 600
SHARE = 0.3
"""Of the time limit that prices may take before CP-SAT."""
MANY = 250
"""Jobs beyond which prices by need take too long."""
MOST_UNIT = 2**20
STEP = 0.1
"""Seconds of searching between two looks at the clock."""
BEFORE, UNLIMITED = 0.8, 60.0
"""Of the time limit, what is spent before CP-SAT; and seconds where there is none."""


def by_annealing(model: Window, given: Given) -> Result | HandOn:
    """Anneal orders until one meets the bound of a relaxation; what is left is for the next."""
    run, known, bound = _known(model, given)
    stopped: Termination = "completed"
    if model.instance.objective_of(known) > bound:
        ticks = model.ticks
        orders = [np.argsort(_starts(model, known), kind="stable")]
        orders.append(np.argsort(ticks.run, kind="stable"))
        least = ceil(exactly(ticks, bound)) - sum_of(ticks, ticks.run - ticks.submit)
        limit, seed = run.limits.time_limit, run.limits.seed
        until = inf if limit is None else run.began + limit
        try:
            found = improved(ticks, orders, least, seed=seed, until=until)
            known = _better(model, known, found[1])
        except KeyboardInterrupt:
            stopped = "interrupted"
    return _handed(model, run, known, bound, stopped)


def by_prices(model: Window, given: Given) -> Result | HandOn:
    """Rule out starts by prices of servers by need, and search those that are left."""
    run, known, bound = _known(model, given)
    limit = run.limits.time_limit
    spare = inf if limit is None else limit
    if not given.alone:
        spare = UNLIMITED if limit is None else BEFORE * limit
    stopped: Termination = "completed"
    left = None
    try:
        until = run.began + spare
        packing, least, starts = _packed(model, known, until)
        bound = max(bound, least)
        if packing is not None:
            left = packing.first, packing.last
            search = PartialSearch(packing)
            while not packing.closed and not search.advance(STEP) and now() < until:
                pass
            found = search.starts()
            known = _better(model, known, starts if found is None else found)
            if search.proven:
                bound = max(bound, _responding(model.ticks, search.known))
        if now() - run.began >= spare:
            stopped = "time-limit"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return _handed(model, run, known, bound, stopped, left=left)


def by_cpsat(model: Window, given: Given) -> Result:
    """Let CP-SAT search the starts that prices of servers do not rule out."""
    run, known, bound = _known(model, given)
    narrowed = cpsat.copied(model)  # of which some starts are taken out
    try:
        if given.more is not None:
            keep(model, narrowed, given.more)
        elif model.instance.objective_of(known) > bound * (1 + NOISE):
            bound = max(bound, tightened(model, known, run.limits, narrowed))
    except KeyboardInterrupt:
        result = cpsat.solve(model, run.limits, hint=known, bound=bound, search=False)
        return msgspec.structs.replace(result, termination="interrupted")
    left = run.limits.time_limit
    if left is not None:
        left = max(left - (now() - run.began), 0.0)
    rest = replace(run.limits, time_limit=left)
    result = cpsat.solve(model, rest, hint=known, bound=bound, copy=narrowed)
    if result.termination == "infeasible":  # among the starts that better schedules have
        least = model.instance.objective_of(known)
        result = cpsat.solve(model, run.limits, hint=known, bound=least, search=False)
    options = {**result.options, "time_limit": run.limits.time_limit}
    seconds = msgspec.structs.replace(result.seconds, solve=now() - run.began)
    return msgspec.structs.replace(result, options=options, seconds=seconds)


def _known(model: Window, given: Given) -> tuple[Run, Windowed, float]:
    """Return a run, the best schedule so far, and the best bound, a relaxation's at first."""
    run = Run(given.limits)
    known = given.solution or given.start() or model.scheduled(list(range(model.count)))
    if given.bound is not None:
        return run, known, float(given.bound)
    weighted = model.instance.objective == "weighted"
    return run, known, max(relaxed(model.ticks, weighted=weighted).values())


def _handed(
    model: Window,
    run: Run,
    known: Windowed,
    bound: float,
    stopped: Termination,
    *,
    left: tuple[Ticks64, Ticks64] | None = None,
) -> Result | HandOn:
    """Return what is known for the next engine, unless nothing is left to do."""
    result = make_result(
        model,
        run,
        solver="prices",
        version=version(),
        stopped=stopped,
        solution=known,
        bound=bound,
    )
    if not result.proven:
        return HandOn(result, bound, left)
    return msgspec.structs.replace(result, termination="optimal", message=SETTLED)


def _starts(model: Window, known: Windowed) -> Ticks64:
    """Return the starts of a schedule, in ticks from the first submit of the window."""
    at = np.array([one.start for one in known.starts]) - model.jobs.submit[0]
    whole: Ticks64 = np.rint(at * float(model.ticks.scale)).astype(np.int64)
    return whole


def _better(model: Window, known: Windowed, starts: Ticks64) -> Windowed:
    """Return the better of a schedule and the one with its jobs in the order of other starts."""
    other = model.scheduled(np.argsort(starts, kind="stable").tolist())
    return min(known, other, key=model.instance.objective_of)


def _packed(model: Window, known: Windowed, until: float) -> tuple[Packing | None, float, Ticks64]:
    """Return prices by need, a bound, and the starts that are known.

    Where times are rounded, or prices by need take too long, the bound is by prices for all alike.
    """
    ticks, starts = model.ticks, _starts(model, known)
    at = starts.astype(np.float64)
    grid = grid_of(ticks, at, 10 * len(at))
    target = float((at + ticks.run - ticks.submit) @ ticks.weight)
    alike = PriceSearch(ticks, target, grid, rounds=ROUNDS, most_unit=MOST_UNIT)
    alike.advance(max(until - now(), 0.0))
    bound = alike.bound or 0.0
    if not model.exact or model.count > MANY:
        return None, bound, starts
    packing = Packing(ticks, grid, sum_of(ticks, starts))
    packing.open(alike.best.prices / alike.best.unit, until)
    if not packing.usable:
        return None, bound, starts
    return packing, max(bound, _responding(ticks, packing.bound)), starts


def keep(model: Window, narrowed: CpModel, left: tuple[Ticks64, Ticks64]) -> None:
    """Leave a copy of the model the starts that prices leave each job, from first to last."""
    from ortools.sat.python import cp_model

    pairs = zip(*(times.tolist() for times in left), strict=True)
    for variable, (first, last) in zip(model.starts, pairs, strict=True):
        proto = narrowed.proto.variables[variable.index]
        old = cp_model.Domain.from_flat_intervals(list(proto.domain))
        some = old.intersection_with(cp_model.Domain(first, last))
        set_domain(proto, some.flattened_intervals())


def sum_of(ticks: Ticks, times: Ticks64) -> int:
    """Return the weighted sum of times."""
    return summed(times * ticks.weight)


def exactly(ticks: Ticks, mean: float) -> Fraction:
    """Return the sum in ticks that a mean response time stands for."""
    return Fraction(mean) * ticks.total * ticks.scale


def tightened(model: Window, known: Windowed, limits: Limits, narrowed: CpModel) -> float:
    """Return a bound, and leave a copy of the model the starts that better schedules have."""
    limit = UNLIMITED if limits.time_limit is None else SHARE * limits.time_limit
    packing, bound, _ = _packed(model, known, now() + limit)
    if packing is not None:
        keep(model, narrowed, (packing.first, packing.last))
    return bound


def _responding(ticks: Ticks, least: int) -> float:
    """Return the mean response time that a sum of weighted starts stands for, rounded down."""
    return rounded_down(ticks.respond(least + sum_of(ticks, ticks.run - ticks.submit)))
