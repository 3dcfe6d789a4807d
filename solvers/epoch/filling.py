"""Rectangles, filled in time order: at the earliest idle instant some job starts, or none does.

All nodes run a job at every instant. So a schedule is told by what starts where nodes are idle
first, then where they are next, and so on; trying all of it, with what failed remembered, finds the
least overhead in whole numbers, on as fine a grid as the widths ask for.
"""

from collections.abc import Iterator
from itertools import islice
from math import inf

from schedopt.formulations.epoch.rectangles import Rectangles
from schedopt.instances.epoch import Rectangle, Scheduled
from schedopt.instances.epoch.widths import grid
from schedopt.solvers.clock import now as clock
from schedopt.solvers.epoch.items import Items

MOST_REMEMBERED = 1_000_000
"""Failed states that are remembered."""

MOST_UNITS = 1 << 22
"""Largest total height, in quanta, for which all subset sums are kept."""

MOST_ITEMS = 100
"""Most pieces in a schedule, each a level of the search."""

Running = tuple[tuple[int, int, int], ...]
"""Running pieces by end: end, nodes, and kind (-1 where no side constraint needs it)."""

State = tuple[int, Running, tuple[int, ...], int]
"""An instant, what runs, the remaining items of each kind, and the next choices."""


class RectangleSearch:
    """A search forward in time for rectangles of least overhead.

    It takes any widths of the model, however fine a grid they ask for. Jobs of a bundle start and
    end together. ``solution`` is the best schedule known, at first one that keeps the side
    constraints. The quantum is cut into `units`, an exact grid for all widths.
    """

    def __init__(self, model: Rectangles, items: Items, solution: Scheduled | None = None) -> None:
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
        left = tuple(kind.count for kind in kinds)
        rest = sum(n * width for n, width in zip(left, self._narrow, strict=True))
        self._least = max(nodes, rest)
        self._best = inf if solution is None else float(solution.overhead)
        self._done = len(narrow) < len(kinds) or bool(items.clash.diagonal().any())
        self._failed: dict[State, float] = {}
        self._started: list[tuple[int, int, int, int]] = []  # kind, width, start, end
        self._work = self._branch_on_starts((0, (), left, 0), 0, rest)

    @staticmethod
    def fits(items: Items) -> bool:
        """Tell whether there are few enough items."""
        return sum(kind.count for kind in items.kinds) <= MOST_ITEMS

    @property
    def value(self) -> float | None:
        """The overhead of the best schedule so far."""
        return None if self.solution is None else float(self._best)

    @property
    def bound(self) -> float | None:
        """A lower bound on the overhead; None where no schedule exists."""
        return self.value if self._done else float(self._least)

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether everything has been tried."""
        until = clock() + seconds
        while not self._done:
            self._done = next(self._work, "ended") is not None
            if clock() >= until:
                break
        return self._done

    def _reachable(self) -> int:
        """Return, as bits, the instants from which rectangles can fill a node to the end."""
        if self.units > MOST_UNITS:
            return 0
        sums, full = 1, (1 << (self.units + 1)) - 1
        for height in {height for *_, height in self._choices}:
            step = height
            while step <= self.units:
                sums |= sums << step & full
                step *= 2
        return int(format(sums, f"0{self.units + 1}b")[::-1], 2)

    def _branch_on_starts(self, state: State, cost: int, rest: int) -> Iterator[None]:
        """Branch on what starts at the first instant with idle nodes.

        The items that are left take `rest` nodes at least.
        """
        now, running, left, first = state
        yield
        free = self._items.nodes - sum(nodes for _, nodes, _ in running)
        if free == 0:
            now, first = running[0][0], 0
            if now == self.units:
                self._keep_schedule(cost)
                return
            running = tuple(piece for piece in running if piece[0] > now)
            free = self._items.nodes - sum(nodes for _, nodes, _ in running)
            state = now, running, left, first
        if cost + max(rest, self._failed.get(state, 0)) >= self._best:
            return
        barred = frozenset[int]().union(*(self._clashes[t] for *_, t in running if t >= 0))
        for choice in range(first, len(self._choices)):
            kind, width, nodes, height = self._choices[choice]
            if not left[kind] or nodes > free or kind in barred:
                continue
            spent, to_come, end = cost + nodes, rest - self._narrow[kind], now + height
            if spent + to_come >= self._best or end > self.units:
                continue
            if self._ends and not self._ends >> end & 1:  # a node free then is filled by nothing
                continue
            after = (*left[:kind], left[kind] - 1, *left[kind + 1 :])
            self._started.append((kind, width, now, end))
            added = _with_piece(running, (end, nodes, kind if self._clashes[kind] else -1))
            yield from self._branch_on_starts((now, added, after, choice), spent, to_come)
            self._started.pop()
        if len(self._failed) < MOST_REMEMBERED:
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
    """Return what runs with one more piece; equal pieces with one end are merged."""
    end, nodes, kind = piece
    for at, (until, some, which) in enumerate(running):
        if until == end and which == kind == -1:
            return (*running[:at], (end, some + nodes, -1), *running[at + 1 :])
    return tuple(sorted((*running, piece)))
