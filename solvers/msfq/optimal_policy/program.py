"""The decision process of an optimal policy as a linear program over long-run flows, in HiGHS.

Columns are the time in each state and the rate of each decision. Rows balance the flows into and
out of each state, before decisions and after them. Arrivals without room are lost, and the room
grows until next to none are.

Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.8.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log, prod
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.msfq import OptimalPolicy
from schedopt.formulations.msfq.process import Process, SystemState
from schedopt.instances.msfq import OptimalTable
from schedopt.solvers.mip.highs import version
from schedopt.solvers.msfq.linear import LinearProgram, Solved
from schedopt.solvers.msfq.optimal_policy.equations import as_table
from schedopt.solvers.msfq.searching import changes_in
from schedopt.solvers.result import Result
from schedopt.solvers.running import Run, make_result

if TYPE_CHECKING:
    from schedopt.solvers.engine import EngineTask

LOST = 1e-9
"""The largest fraction of time in which a class may have no room."""
SCALE = 1e6
"""The total time in all states: relevant flows are then far above the tolerance of HiGHS."""


@dataclass(frozen=True)
class ProgramParams:
    """Parameters of the linear program of a decision process.

    Attributes
    ----------
    first_states : int
        The most states of the first program.
    most_growth : int
        The most states of later programs, as a multiple of those.
    growth : float
        The growth of the room for a class in which arrivals are lost.
    """

    first_states: int = 3_000
    most_growth: int = 3
    growth: float = 1.3


DEFAULTS = ProgramParams()
Room = tuple[int, ...]
"""The most jobs of each class: small and large ones that wait."""
Floats = NDArray[np.float64]


def box_of(model: OptimalPolicy) -> Room | None:
    """Return the room that queues of this load hardly ever fill; None if it has too many states."""
    length = max(4, ceil(log(LOST) / log(model.instance.load)))
    room = (length + 2 * model.system.k, length)
    return room if _count(model, room) <= DEFAULTS.first_states else None


def _count(model: OptimalPolicy, room: Room) -> int:
    """Return the number of states."""
    return (model.system.k + 2) * prod(most + 1 for most in room)


def solve(model: OptimalPolicy, task: EngineTask) -> Result:
    """Solve the linear program with enough room."""
    run, room = Run(task.limits), box_of(model) or ()
    while True:
        flows = Flows(model.model, room)
        solved = flows.program.solve(task.limits, run.began)
        is_optimal = solved.stopped == "optimal"
        full = [part > LOST for part in flows.without_room(solved)] if is_optimal else []
        if not any(full) or _count(model, room) > DEFAULTS.most_growth * DEFAULTS.first_states:
            break
        room = tuple(
            ceil(DEFAULTS.growth * most) if more else most
            for most, more in zip(room, full, strict=True)
        )
    enough = is_optimal and not any(full)
    solution = flows.table(model, solved) if enough else None
    message = changes_in(model, flows.cost(solved) if is_optimal else None)
    if is_optimal and not enough:
        message = "there is not enough room for jobs that wait"
    return make_result(
        model,
        run,
        solver="model",
        version=version(),
        stopped="completed" if is_optimal and not enough else solved.stopped,
        solution=solution,
        bound=flows.cost(solved) if enough else None,
        message=message,
    )


class Flows:
    """The linear program of a decision process with limited room.

    The first columns are the time in each state, in units of 1/`SCALE` of all time.
    """

    def __init__(self, process: Process, room: Room) -> None:
        self.room, self.program = room, LinearProgram()
        self.states = list(process.states(room))
        before = {state: self.program.row(0.0, 0.0) for state in self.states}
        after = {state: self.program.row(0.0, 0.0) for state in self.states}
        every = self.program.row(SCALE, SCALE)
        events = [list(process.events(state)) for state in self.states]
        # In any unit of time the program has numbers near 1.
        fastest = max(rate for own in events for rate, _ in own)
        self.unit = min(filter(None, map(process.cost, self.states)), default=1.0)
        for state, own in zip(self.states, events, strict=True):
            entries = [(every, 1.0)]
            for rate, led in own:
                if led in before:
                    entries += [(before[led], rate / fastest), (after[state], -rate / fastest)]
            self.program.column(process.cost(state) / self.unit, entries)
        self._taken: dict[tuple[SystemState, SystemState], int] = {}
        for state in self.states:
            for led in process.decisions(state):
                to = after[state] if led == state else before[led]
                if sum(state[1:]) - sum(led[1:]) <= 1:  # one job at a time
                    entries = [(before[state], -1.0), (to, 1.0)]
                    self._taken[state, led] = self.program.column(0.0, entries)

    def time(self, solved: Solved) -> Floats:
        """Return the fraction of time in each state."""
        return solved.columns[: len(self.states)] / SCALE

    def cost(self, solved: Solved) -> float:
        """Return the long-run cost per unit of time."""
        return self.unit * float(self.time(solved) @ self.program.costs[: len(self.states)])

    def without_room(self, solved: Solved) -> list[float]:
        """Return the fraction of time without room for one more job, by class."""
        counts = np.array([state[1:] for state in self.states])
        return [float(x) for x in self.time(solved) @ (counts == self.room)]

    def table(self, model: OptimalPolicy, solved: Solved) -> OptimalTable:
        """Return the policy; in states that are hardly ever visited it starts every job it can."""
        k, (small, large) = model.system.k, self.room
        starts = np.ones((large + 1, k, small + 1), np.int8)
        starts[:, :, 0] = 0
        starts[1:, 0] = 2
        most: dict[SystemState, float] = {}
        for (state, led), column in self._taken.items():
            flow = float(solved.columns[column])
            if state.running < k and flow > max(most.get(state, 0.0), LOST * SCALE):
                most[state] = flow
                started = 0 if led == state else (2 if led.running == k + 1 else 1)
                starts[state.large, state.running, state.small] = started
        jobs = np.array(
            [(i + c * (c <= k), j + (c > k)) for c, i, j in self.states], dtype=np.float64
        )
        numbers = self.time(solved) @ jobs
        return as_table(model, starts, *(numbers / [model.system.l1, model.system.lk]).tolist())
