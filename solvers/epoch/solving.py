"""Engines for partitions and rectangles: searches of our own, and CP-SAT with a start and a bound.

Rectangles are placed in order of time: at the earliest idle time some job starts, or none does.
All nodes run a job at every time. So a schedule is determined by the jobs that start at the first
idle time, at the next, and so on. Trying all of them, and remembering failed states, finds the
least overhead in integers, on a grid as fine as the widths require.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from typing import Any

from schedopt.formulations.epoch import Partition, Rectangles
from schedopt.instances.epoch import Partitioned, Rectangle, Scheduled, partitioned
from schedopt.instances.epoch.widths import grid
from schedopt.solvers.clock import now as clock
from schedopt.solvers.conflict import with_conflict
from schedopt.solvers.deciding import remaining_limits
from schedopt.solvers.engine import EngineTask, Partial
from schedopt.solvers.epoch import is_small_model
from schedopt.solvers.epoch.bounding import least_overhead, start_and_bound
from schedopt.solvers.epoch.items import Items, items
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import STEP, Run, Search, drive, make_result, version


@dataclass(frozen=True)
class RectangleParams:
    """Parameters of the search for rectangles.

    Attributes
    ----------
    items : int
        Most items, each a level of the search; larger instances are not searched.
    stored_states : int
        Most failed states that are stored.
    units : int
        Largest number of units in the quantum for which all subset sums are kept.
    share, seconds : float
        The fraction of the time limit, and the most seconds, of the search if CP-SAT may follow.
    """

    items: int = 100
    stored_states: int = 1_000_000
    units: int = 1 << 22
    share: float = 0.75
    seconds: float = 30.0


DEFAULTS = RectangleParams()

Running = tuple[tuple[int, int, int], ...]
"""Running pieces by end: end, nodes, and kind (-1 where no side constraint needs it)."""

State = tuple[int, Running, tuple[int, ...], int]
"""A time, the running pieces, the remaining items of each kind, and the next choice."""


class RectangleSearch:
    """Depth-first search in order of time for rectangles of least overhead.

    It supports all widths of the model, however fine their grid is. Jobs of a bundle start and end
    together. ``solution`` is the best schedule so far, at first one that satisfies the side
    constraints. The quantum is divided into ``units``, an exact grid for all widths.
    """

    def __init__(
        self,
        model: Rectangles,
        items: Items,
        solution: Scheduled | None = None,
        params: RectangleParams = DEFAULTS,
    ) -> None:
        self.params = params
        self._jobs, self._items, self.solution = model.instance.jobs, items, solution
        nodes, kinds = items.nodes, items.kinds
        self.units = grid(model.possible, nodes, len(self._jobs))
        self._choices = [  # kind, width, nodes in all, height
            (t, width, width * len(kind.sizes), self.units * nodes // (len(self._jobs) * width))
            for t, kind in enumerate(kinds)
            for width in model.possible
            if kind.top <= width and width * len(kind.sizes) <= nodes
        ]
        narrow = {t: wide for t, _, wide, _ in reversed(self._choices)}
        self._narrow = [narrow.get(t, 0) for t in range(len(kinds))]
        self._clashes = [frozenset(row.nonzero()[0].tolist()) for row in items.clash]
        self._ends = self._reachable()
        remaining = tuple(kind.count for kind in kinds)
        rest = sum(n * width for n, width in zip(remaining, self._narrow, strict=True))
        self._least = max(nodes, rest)
        self._best = inf if solution is None else float(solution.overhead)
        self._done = len(narrow) < len(kinds) or bool(items.clash.diagonal().any())
        self._failed: dict[State, float] = {}
        self._started: list[tuple[int, int, int, int]] = []  # kind, width, start, end
        self._work = self._branch_on_starts((0, (), remaining, 0), 0, rest)

    @staticmethod
    def fits(items: Items, params: RectangleParams = DEFAULTS) -> bool:
        """Return True if there are few enough items."""
        return sum(kind.count for kind in items.kinds) <= params.items

    @property
    def value(self) -> float | None:
        """The overhead of the best schedule so far."""
        return None if self.solution is None else float(self._best)

    @property
    def bound(self) -> float | None:
        """A lower bound on the overhead; None if no schedule exists."""
        return self.value if self._done else float(self._least)

    def advance(self, seconds: float) -> bool:
        """Work for about ``seconds``; return True when the search has ended."""
        until = clock() + seconds
        while not self._done:
            self._done = next(self._work, "ended") is not None
            if clock() >= until:
                break
        return self._done

    def _reachable(self) -> int:
        """Return a bit mask of the times from which rectangles can fill a node to the end."""
        if self.units > self.params.units:
            return 0
        sums, full = 1, (1 << (self.units + 1)) - 1
        for height in {height for *_, height in self._choices}:
            step = height
            while step <= self.units:
                sums |= sums << step & full
                step *= 2
        return int(format(sums, f"0{self.units + 1}b")[::-1], 2)

    def _branch_on_starts(self, state: State, cost: int, rest: int) -> Iterator[None]:
        """Branch on the rectangles that start at the first time with idle nodes.

        The remaining items take at least ``rest`` nodes.
        """
        now, running, remaining, first = state
        yield
        free = self._items.nodes - sum(nodes for _, nodes, _ in running)
        if free == 0:
            now, first = running[0][0], 0
            if now == self.units:
                self._keep_schedule(cost)
                return
            running = tuple(piece for piece in running if piece[0] > now)
            free = self._items.nodes - sum(nodes for _, nodes, _ in running)
            state = now, running, remaining, first
        if cost + max(rest, self._failed.get(state, 0)) >= self._best:
            return
        barred = frozenset[int]().union(*(self._clashes[t] for *_, t in running if t >= 0))
        for choice in range(first, len(self._choices)):
            kind, width, nodes, height = self._choices[choice]
            if not remaining[kind] or nodes > free or kind in barred:
                continue
            spent, to_come, end = cost + nodes, rest - self._narrow[kind], now + height
            if spent + to_come >= self._best or end > self.units:
                continue
            if self._ends and not self._ends >> end & 1:  # no rectangles fill a node from then on
                continue
            after = (*remaining[:kind], remaining[kind] - 1, *remaining[kind + 1 :])
            self._started.append((kind, width, now, end))
            added = _with_piece(running, (end, nodes, kind if self._clashes[kind] else -1))
            yield from self._branch_on_starts((now, added, after, choice), spent, to_come)
            self._started.pop()
        if len(self._failed) < self.params.stored_states:
            self._failed[state] = self._best - cost

    def _keep_schedule(self, cost: int) -> None:
        """Keep a schedule if it is better than any before."""
        if cost >= self._best:
            return
        self._best, kinds = cost, self._items.kinds
        jobs, rectangles = [iter(kind.jobs) for kind in kinds], dict[str, Rectangle]()
        for t, width, start, end in self._started:
            piece = Rectangle(nodes=width, start=start / self.units, end=end / self.units)
            names = (self._jobs[j].name for j in islice(jobs[t], len(kinds[t].sizes)))
            rectangles |= dict.fromkeys(names, piece)
        self.solution = Scheduled(rectangles=rectangles)


def _with_piece(running: Running, piece: tuple[int, int, int]) -> Running:
    """Return the running pieces with one more; equal pieces with the same end are merged."""
    end, nodes, kind = piece
    for at, (until, some, which) in enumerate(running):
        if until == end and which == kind == -1:
            return (*running[:at], (end, some + nodes, -1), *running[at + 1 :])
    return tuple(sorted((*running, piece)))


TRIVIAL = "no search was needed"
TOO_MANY = "too many nodes and jobs to search"


def partition(model: Partition, task: EngineTask) -> Result[Partitioned] | Partial:
    """Search for a partition: a bound and a start, then bin completion."""
    run, instance = _SearchRun(model, task), model.instance
    packed = items(instance, model.rules.values())
    if packed.impossible():
        return run.infeasible()
    known, least = start_and_bound(instance, packed)
    best = None if known is None else partitioned(instance, known)
    start = task.heuristic()
    if start is not None and (best is None or start.overhead < best.overhead):
        best = start
    bound = float(instance.nodes * least)
    if best is not None and best.overhead <= bound:
        return run.as_result("optimal", best, bound, TRIVIAL)
    from schedopt.solvers.epoch.search import Completion

    if not Completion.fits(packed):
        result = run.as_result("completed", best, bound, TOO_MANY)
        return Partial(result, bound) if is_small_model(model) else result
    epochs = () if best is None else best.epochs
    known = [[instance.index[name] for name in epoch.nodes] for epoch in epochs] or None
    search = Completion(packed, least, known)
    stopped, message = drive(search, run.run)
    if search.epochs is None:
        if stopped == "optimal":
            return run.infeasible()
        return run.as_result(stopped, None, search.bound, message)
    return run.as_result(stopped, partitioned(instance, search.epochs), search.bound, message)


def rectangles(model: Rectangles, task: EngineTask) -> Result[Scheduled] | Partial:
    """Search for rectangles: a bound and a start, then filling for three quarters of the time."""
    run, packed = _SearchRun(model, task), items(model.instance, model.rules.values())
    start, bound = task.heuristic(), float(least_overhead(model))
    if start is not None and start.overhead <= bound:
        return run.as_result("optimal", start, bound, TRIVIAL)
    waits = not task.alone and is_small_model(model)  # for CP-SAT
    if not RectangleSearch.fits(packed):
        result = run.as_result("completed", start, bound, TOO_MANY)
        return Partial(result, bound) if waits else result
    search, limit = RectangleSearch(model, packed, start), task.limits.time_limit
    if waits:
        part = search.params.seconds
        if limit is not None:
            part = min(part, search.params.share * limit)
        run.run.limits = replace(task.limits, time_limit=part)
    stopped, message = drive(search, run.run)
    run.run.limits = task.limits
    units = search.units if search.units < 1 << 53 else None
    options: dict[str, Any] = {"units": units, "exact": True}
    if stopped == "optimal" and search.solution is None:
        return run.infeasible(**options)
    result = run.as_result(stopped, search.solution, search.bound, message, **options)
    handing = waits and stopped == "time-limit" and not run.is_late
    return Partial(result, search.bound) if handing else result


def by_cpsat(
    model: Partition | Rectangles, task: EngineTask
) -> Result[Partitioned] | Result[Scheduled]:
    """Let CP-SAT search on the declared model, with interchangeable rectangles in order.

    Warm-started with the incumbent and the bound, except when it verifies another engine's result.
    """
    from schedopt.solvers import cpsat

    start, bound = task.incumbent, task.bound
    if not task.confirming and bound is None:
        start, bound = task.heuristic(), least_overhead(model)
    objective_bound, copy = None if bound is None else float(bound), None
    if isinstance(model, Rectangles) and (start is None or start.overhead != objective_bound):
        copy = cpsat.copy_model(model)
        model.in_order(copy)
    return cpsat.solve(model, task.limits, hint=start, bound=objective_bound, copy=copy)


class _SearchRun:
    """A run of bin completion or of the search for rectangles, from beginning to end."""

    def __init__(self, model: Partition | Rectangles, task: EngineTask) -> None:
        self.model, self.limits, self.run = model, task.limits, Run(task.limits)

    @property
    def is_late(self) -> bool:
        """Whether no time is left."""
        return remaining_limits(self.limits, self.run.began).time_limit == 0.0

    def as_result(
        self,
        stopped: Termination,
        solution: Partitioned | Scheduled | None,
        bound: float | None,
        message: str = "",
        **options: Any,
    ) -> Result[Any]:
        """Return the result, not yet checked."""
        return make_result(
            self.model,
            self.run,
            solver="epochs",
            version=version(),
            stopped=stopped,
            solution=solution,
            bound=bound,
            options=options,
            message=message,
        )

    def infeasible(self, **options: Any) -> Result[Any]:
        """Return an infeasible result with a smallest conflict."""
        rules = self.model.rules

        def holds(wanted: frozenset[str]) -> bool:
            if self.is_late:
                raise TimeoutError
            some = [rule for name, rule in rules.items() if name in wanted]
            return self._is_possible(items(self.model.instance, some))

        result = self.as_result("infeasible", None, None, **options)
        return with_conflict(result, list(rules), holds)

    def _is_possible(self, packed: Items) -> bool:
        """Return True if a solution exists; raise `TimeoutError` if the time limit is reached."""
        if isinstance(self.model, Partition) and (packed.inequity or packed.impossible()):
            return not packed.impossible()
        search = _search_for_any(self.model, packed)
        while search.value is None and not search.advance(STEP):
            if self.is_late:
                raise TimeoutError
        return search.value is not None


def _search_for_any(model: Partition | Rectangles, packed: Items) -> Search:
    """Return a search for any solution; raise `TimeoutError` if the instance is too large."""
    from schedopt.solvers.epoch.search import Completion

    if isinstance(model, Rectangles) and RectangleSearch.fits(packed):
        return RectangleSearch(model, packed)
    if isinstance(model, Partition) and Completion.fits(packed):
        return Completion(packed, 1, None)
    raise TimeoutError(TOO_MANY)
