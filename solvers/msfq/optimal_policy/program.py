"""The decision process of an optimal policy as a linear program over long-run flows, in HiGHS.

Columns are the time in each state and the rate of each decision. Rows balance the flows into and
out of each state, before decisions and after them. Arrivals without room are lost, and the room
grows until next to none are.

Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.8.
"""

from __future__ import annotations

from math import ceil, log
from typing import TYPE_CHECKING

import numpy as np

from schedopt.formulations.msfq import OptimalPolicy
from schedopt.formulations.msfq.process import Floats, SystemState
from schedopt.instances.msfq import OptimalTable
from schedopt.solvers.msfq.optimal_policy.policy_iteration import as_table
from schedopt.solvers.msfq.searching import changes_in, solve_program
from schedopt.solvers.result import Result, Termination
from schedopt.solvers.running import Run, make_result, plain_version

if TYPE_CHECKING:
    from schedopt.solvers.engine import EngineTask

LOST = 1e-9
"""The largest fraction of time in which a class may have no room."""
FIRST_STATES, MOST_STATES = 3_000, 9_000
"""The most states of the first program, and of any."""
Room = tuple[int, int]
"""The most small and large jobs that wait."""


def room_of(model: OptimalPolicy) -> Room | None:
    """Return the room that queues of this load hardly ever fill; None if it has too many states."""
    length = max(4, ceil(log(LOST) / log(model.instance.load)))
    room = (length + 2 * model.system.k, length)
    return room if _count(model, room) <= FIRST_STATES else None


def _count(model: OptimalPolicy, room: Room) -> int:
    """Return the number of states."""
    return (model.system.k + 2) * (room[0] + 1) * (room[1] + 1)


def solve(model: OptimalPolicy, task: EngineTask) -> Result:
    """Solve the linear program with enough room."""
    run, room = Run(task.limits), room_of(model) or (0, 0)
    began = run.began
    while True:
        flows = Flows(model, room)
        stopped, found = solve_program(run, began, **flows.program)
        if stopped != "optimal":
            return _result(model, run, stopped, changes_in(model, None))
        times = found.x[: len(flows.states)]
        full = [float(times @ (flows.waiting[:, i] == room[i])) > LOST * SCALE for i in (0, 1)]
        if not any(full):
            break
        if _count(model, room) > MOST_STATES:
            return _result(model, run, "completed", "there is not enough room for jobs that wait")
        small, large = (ceil(1.3 * m) if f else m for m, f in zip(room, full, strict=True))
        room = small, large
    cost = flows.unit * found.fun / SCALE
    table = flows.table(found.x)
    return _result(model, run, "optimal", changes_in(model, cost), table=table, cost=cost)


def _result(
    model: OptimalPolicy,
    run: Run,
    stopped: Termination,
    message: str,
    *,
    table: OptimalTable | None = None,
    cost: float | None = None,
) -> Result:
    return make_result(
        model,
        run,
        solver="model",
        version=plain_version(),
        stopped=stopped,
        solution=table,
        bound=cost,
        message=message,
    )


SCALE = 1e6
"""The total time in all states: relevant flows are then far above the tolerance of HiGHS."""


class Flows:
    """The linear program of a decision process with limited room.

    Attributes
    ----------
    states : list of SystemState
        The first columns are the times in these, which sum to `SCALE`.
    waiting : ndarray, shape (states, 2)
        Waiting small and large jobs.
    unit : float
        The cost of 1 in the objective: in any unit of time the program has numbers near 1.
    program : dict
        The arguments of `searching.solve_program`.
    """

    def __init__(self, model: OptimalPolicy, room: Room) -> None:
        from scipy.sparse import csc_array

        process, self.model, self.room = model.model, model, room
        self.states = list(process.states(room))
        self.waiting = np.array([state[1:] for state in self.states])
        count = len(self.states)
        before = {state: row for row, state in enumerate(self.states)}
        after = {state: row + count for state, row in before.items()}
        every = 2 * count
        costs = [process.cost(state) for state in self.states]
        self.unit = min(filter(None, costs), default=1.0)
        entries: list[tuple[int, int, float]] = []
        events = [list(process.events(state)) for state in self.states]
        fastest = max(rate for own in events for rate, _ in own)
        for column, (state, own) in enumerate(zip(self.states, events, strict=True)):
            entries.append((every, column, 1.0))
            for rate, led in own:
                if led in before:
                    entries.append((before[led], column, rate / fastest))
                    entries.append((after[state], column, -rate / fastest))
        self._decisions: list[tuple[SystemState, SystemState]] = []
        for state in self.states:
            for led in process.decisions(state):
                to = after[state] if led == state else before[led]
                if sum(state[1:]) - sum(led[1:]) <= 1:  # one job at a time
                    column = count + len(self._decisions)
                    entries += [(before[state], column, -1.0), (to, column, 1.0)]
                    self._decisions.append((state, led))
        rows, columns, values = np.array(entries).T
        right = np.append(np.zeros(every), SCALE)
        self.program = {
            "c": np.append(np.array(costs) / self.unit, np.zeros(len(self._decisions))),
            "A_eq": csc_array((values, (rows.astype(int), columns.astype(int)))),
            "b_eq": right,
        }

    def table(self, columns: Floats) -> OptimalTable:
        """Return the policy; in states that are hardly ever visited it starts every job it can."""
        system, (small, large), count = self.model.system, self.room, len(self.states)
        starts = np.ones((large + 1, system.k, small + 1), np.int8)
        starts[:, :, 0] = 0
        starts[1:, 0] = 2
        most: dict[SystemState, float] = {}
        for (state, led), flow in zip(self._decisions, columns[count:].tolist(), strict=True):
            if state.running < system.k and flow > max(most.get(state, 0.0), LOST * SCALE):
                most[state] = flow
                started = 0 if led == state else (2 if led.running == system.k + 1 else 1)
                starts[state.large, state.running, state.small] = started
        jobs = [(i + c * (c <= system.k), j + (c > system.k)) for c, i, j in self.states]
        numbers = columns[:count] @ np.array(jobs, np.float64) / SCALE
        return as_table(self.model, starts, *(numbers / [system.l1, system.lk]).tolist())
