"""Solve a partition: a bound and a start, our own search, then CP-SAT."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from schedopt.formulations.epoch.partition import Partition
from schedopt.formulations.epoch.writing import Epochs, Form, positions
from schedopt.instances.constraints import label
from schedopt.instances.epoch import Partitioned, partitioned
from schedopt.solvers import cpsat
from schedopt.solvers.conflict import ConflictNotReducedError, smallest_conflict
from schedopt.solvers.driving import drive, version
from schedopt.solvers.epoch.blocks import blocks
from schedopt.solvers.epoch.bounding import least_of, least_overhead
from schedopt.solvers.epoch.clock import Clock
from schedopt.solvers.epoch.forms import question, written
from schedopt.solvers.epoch.items import Items, first_fit, items
from schedopt.solvers.result import Limits, Result, Termination
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.solvers.epoch.packing import Packing

SEARCH, QUESTION = 0.5, 0.5
"""Parts of the time that is left: for our own search, and for CP-SAT's answer whether the bound can
be met, before CP-SAT looks for the fewest epochs."""


def solve(
    model: Partition, clock: Clock, start: Partitioned | None, *, cpsat_alone: bool = False
) -> Result[Partitioned]:
    """Solve a partition.

    Parameters
    ----------
    model : Partition
        The formulation.
    clock : Clock
        The limits.
    start : Partitioned, optional
        A partition that keeps all side constraints.
    cpsat_alone : bool
        Leave our own search out.
    """
    instance = model.instance
    packed = items(instance, model.rules)
    if model.native or packed is None or model.wanted == "direct":
        return cpsat.solve(model, clock.left(), hint=start, bound=least_overhead(instance))
    possible = packed.inequity > 0 and not packed.impossible()
    if packed.inequity and not possible and not cpsat_alone:
        return _infeasible(model, clock)
    minima = instance.minima[instance.descending].tolist()
    state = _State(model, packed, least_of(packed, minima))
    state.offer(None if start is None else positions(instance, start))
    if possible and (model.rules or start is None):
        state.offer(first_fit(packed))
    if cpsat_alone or model.wanted != "auto":
        return _by_cpsat(state, clock)
    if packed.inequity == 0 and not model.rules:
        counts, _ = blocks(minima, instance.nodes)
        state.least = len(counts)
        state.offer(_dealt(instance.descending, counts))
    if state.met:
        return state.result(Run(clock.limits), "optimal", message="nothing had to be searched")
    return _searched(state, clock)


class _State:
    """What is known by now of a partition.

    Attributes
    ----------
    least : int
        Epochs that no partition is below.
    epochs : list of list of int or None
        The best partition so far, as positions of jobs.
    """

    def __init__(self, model: Partition, packed: Items, least: int) -> None:
        self.model, self.packed, self.least = model, packed, least
        self.epochs: Epochs | None = None

    def offer(self, epochs: Epochs | None) -> None:
        """Keep a partition if it is the best so far."""
        if epochs is not None and (self.epochs is None or len(epochs) < len(self.epochs)):
            self.epochs = epochs

    @property
    def met(self) -> bool:
        """Whether nothing can be better."""
        return self.epochs is not None and len(self.epochs) <= self.least

    @property
    def bound(self) -> float:
        """An overhead that no partition is below."""
        return float(self.packed.nodes * self.least)

    @property
    def solution(self) -> Partitioned | None:
        """The best partition so far."""
        return None if self.epochs is None else partitioned(self.model.instance, self.epochs)

    def result(self, run: Run, stopped: Termination, message: str = "") -> Result[Partitioned]:
        """Return what is known as a result of our own."""
        return make_result(
            self.model,
            run,
            solver="epochs",
            version=version(),
            stopped=stopped,
            solution=self.solution,
            bound=None if stopped == "infeasible" else self.bound,
            options={},
            message=message,
        )


def _dealt(order: Sequence[int], counts: Sequence[int]) -> Epochs:
    """Deal jobs out to epochs in order."""
    epochs, done = [], 0
    for count in counts:
        epochs.append(list(order[done : done + count]))
        done += count
    return epochs


def _searched(state: _State, clock: Clock) -> Result[Partitioned]:
    """Search on our own for a part of the time, then with CP-SAT if it can be told in time."""
    from schedopt.solvers.epoch.packing import Packing
    from schedopt.solvers.epoch.search import Completion, compiled

    if state.epochs is None or not Completion.fits(state.packed):
        return _by_cpsat(state, clock)
    clock.build += compiled()
    search = Packing(state.packed, state.least, state.epochs)
    first = _driven(state, search, clock.part(SEARCH))
    left = clock.left()
    if first.termination != "time-limit" or left.time_limit == 0.0:
        return first
    try:
        form = written(state.model, len(search.epochs), seconds=left.time_limit)
    except TimeoutError:
        return _after(first, _driven(state, search, clock.left()))
    return _after(first, _by_cpsat(state, clock, form))


def _driven(state: _State, search: Packing, limits: Limits) -> Result[Partitioned]:
    """Go on with our own search."""
    run = Run(limits)
    stopped, message = drive(search, run)
    state.least, state.epochs = search.least, search.epochs
    return state.result(run, stopped, message)


def _by_cpsat(
    state: _State, clock: Clock, form: Form | Partition | None = None
) -> Result[Partitioned]:
    """Give CP-SAT the rest of the time: first the question whether the bound can be met."""
    model = state.model
    if form is None:
        form = written(model, None if state.epochs is None else len(state.epochs))
    asked = question(model, form, state.least)
    interrupted = False
    if asked is not None and not state.met:
        answer = cpsat.solve(asked, replace(clock.part(QUESTION), gap=0.0), bound=state.bound)
        if answer.proven:
            return answer
        interrupted = answer.termination == "interrupted"
        state.least += answer.termination == "infeasible"
    left = clock.left() if not interrupted else replace(clock.limits, time_limit=0.0)
    result = cpsat.solve(form, left, hint=state.solution, bound=state.bound)
    if interrupted and not result.proven:
        result = msgspec.structs.replace(result, termination="interrupted")
    return result


def _after(before: Result[Partitioned], result: Result[Partitioned]) -> Result[Partitioned]:
    """Put the trace of an engine that had its turn before a result's own."""
    if not before.trace:
        return result
    began = before.trace[-1][0]
    later = tuple((began + seconds, *rest) for seconds, *rest in result.trace)
    return msgspec.structs.replace(result, trace=(*before.trace, *later))


def _infeasible(model: Partition, clock: Clock) -> Result[Partitioned]:
    """Say which side constraints no partition keeps, for k >= 1, where `Items.impossible` knows."""
    rules = {label(rule, position): rule for position, rule in enumerate(model.rules)}

    def holds(wanted: frozenset[str]) -> bool:
        if clock.left().time_limit == 0.0:
            raise TimeoutError
        some = items(model.instance, [rule for name, rule in rules.items() if name in wanted])
        return some is not None and not some.impossible()

    try:
        conflict, message = smallest_conflict(list(rules), holds), ""
    except ConflictNotReducedError as error:
        conflict, message = error.conflict, f"the conflict may not be the smallest: {error.why}"
    result: Result[Partitioned] = make_result(
        model,
        Run(clock.limits),
        solver="epochs",
        version=version(),
        stopped="infeasible",
        solution=None,
        bound=None,
        options={},
        message=message,
    )
    return msgspec.structs.replace(result, conflict=tuple(conflict))
