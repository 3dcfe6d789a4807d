"""The best schedule of few jobs: a search of the starts that prices leave, or of their two halves.

Where the search has no room, starts are split: in one half a job starts by a time, in the other
later. Prices find more in each than in both.
"""

from schedopt.formulations.msfq.log_bound import Ticks64
from schedopt.solvers.clock import now
from schedopt.solvers.msfq.window import MOST_JOBS
from schedopt.solvers.msfq.window.packing import Packing
from schedopt.solvers.msfq.window.partial import PartialSearch

STEP = 0.1
FIRST, LATER = 300_000, 20_000
"""Partial schedules that a search may keep, of the whole and of its parts."""
ALONE = MOST_JOBS + 2
"""There are no more where each job has one start."""


class Splitting:
    """The search for a schedule that is better than one known.

    Parts are taken depth first. Nothing is dropped in one part in favour of a schedule of another
    that is no better: see `partial_kernels.dominated`. `known` is the sum of weighted starts of the
    best schedule so far, `starts` are its own, None if it is the first; `parts` counts the parts
    searched.
    """

    def __init__(self, packing: Packing) -> None:
        self.known, self.parts = packing.known, 0
        self.starts: Ticks64 | None = None
        self._step, self._unit = packing.step, packing.unit
        self._open: list[Packing] = [] if packing.closed else [packing]

    @property
    def bound(self) -> int:
        """What no schedule has less than, as a sum of weighted starts."""
        totals = [-(-part.total // self._unit) for part in self._open]
        return min([self.known, *totals])

    def run(self, until: float) -> None:
        """Search until there is nothing left to do, or the time is over."""
        while self._open and now() < until:
            part = self._open[-1]
            part.known = self.known
            if not (part.closed or self._searched(part, until)):
                if now() >= until:
                    return
                halves = sorted(part.split(until), key=lambda half: -half.total)
                self._open[-1:] = [half for half in halves if not half.closed]
            else:
                self._open.pop()

    def _searched(self, part: Packing, until: float) -> bool:
        """Search a part; tell whether it is done with."""
        self.parts += 1
        most = FIRST if self.parts == 1 else LATER
        search = PartialSearch(part, most=ALONE if part.fixed else most)
        while not search.advance(STEP) and now() < until:
            pass
        starts = search.starts()
        if starts is not None:
            self.known, self.starts = search.known, starts
            part.known = self.known
        return search.proven
