"""OptimalPolicy: no nonpreemptive policy of a one-or-all system does better than this one."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np

from formulations.msfq.chain import Box, iterate
from formulations.msfq.system import one_or_all
from instances.constraints import Constraint
from instances.errors import InputError, shown
from instances.msfq import ClassTime, Instance, OptimalTable
from instances.options import Option, checked, is_count, is_number

GROWTH = 1.5
"""How much longer each box is than the one before."""
SPAN, ROUGH = 1e-7, 2e-6
"""Relative: where value iteration ends, and where on a box that is plainly too small."""
LETTERS = np.array([".", "S", "L"])


class OptimalPolicy:
    """Find the optimal nonpreemptive policy as an average-cost Markov decision process.

    Parameters
    ----------
    queue : Instance
        A one-or-all system with exponential sizes and a load below 1; a few servers, since the
        work grows with their number.
    tolerance : float
        Relative: the box of waiting jobs grows until the optimum changes by less.
    most : int
        States at most.

    Attributes
    ----------
    model : list of float
        The costs of a small and of a large job per unit of time; their long-run average is the
        objective. Users may change them.

    Raises
    ------
    InputError
        If the system is of another sort.

    Notes
    -----
    Relative value iteration with a boundary that is continued by parabolas, since a blocked one
    needs a box several times as long; see `chain`. The bound takes off what value iteration left
    open (the span) and what the last growth of the box changed: an estimate, not a proof.
    Source: Puterman, Markov Decision Processes, Wiley 1994, section 8.5.
    """

    problem: ClassVar[str] = "msfq"
    name: ClassVar[str] = "optimal-policy"
    engine: ClassVar[str] = "numeric"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    known_options: ClassVar[dict[str, Option]] = {
        "tolerance": Option(2e-5, "a number above 0", lambda v: is_number(v) and v > 0),
        "most": Option(2_000_000, "a whole number of states", is_count),
    }

    def __init__(self, queue: Instance, *, tolerance: float = 2e-5, most: int = 2_000_000) -> None:
        given = {"tolerance": tolerance, "most": most}
        self.options: dict[str, Any] = checked(given, self.known_options, "optimal-policy")
        began = time.perf_counter()
        self.instance = queue
        self.system = one_or_all(queue, "an optimal policy")
        if first_box(self.system.k).states(self.system.k) > most:
            raise InputError(
                "formulation threshold for so many servers, or a larger option most",
                found=f"{self.system.k} servers",
                place="servers",
            )
        if queue.constraints:
            raise _refused(queue.constraints[0])
        weights = dict(zip((job.need for job in queue.classes), queue.weights(), strict=True))
        self.model = [weights[1] / self.system.l1, weights[self.system.k] / self.system.lk]
        self.added: list[Constraint] = []
        self.seconds = time.perf_counter() - began

    def add(self, *constraints: Constraint) -> Self:
        """Refuse side constraints: the optimal policy takes none.

        Raises
        ------
        InputError
            If there is one.
        """
        for constraint in constraints:
            raise _refused(constraint)
        return self

    def side(self) -> dict[str, list[Any]]:
        """Return nothing: there are no side constraints."""
        return {}

    def hint(self, solution: OptimalTable) -> Iterable[tuple[Any, float]]:
        """Yield nothing: value iteration starts from boxes of its own."""
        yield from ()

    def decode(self, value: Callable[[Any], float]) -> OptimalTable:
        """Return the policy that ``value`` holds."""
        return value("solution")  # type: ignore[return-value]

    def search(self) -> ValueIteration:
        """Return the search that a numeric solver drives."""
        return ValueIteration(self)


def first_box(k: int) -> Box:
    """Return the box to start from: large jobs let small ones gather by the number of servers."""
    return Box(24 + 2 * k, 24)


def _refused(constraint: Constraint) -> InputError:
    return InputError(
        "no side constraints for an optimal policy (formulation threshold takes response-time)",
        found=shown(constraint.kind()),
        place="constraints",
    )


class ValueIteration:
    """Value iteration on ever larger boxes; can be stopped at any time."""

    infeasible = False

    def __init__(self, formulation: OptimalPolicy) -> None:
        self._formulation = formulation
        self._gain: tuple[float, float] | None = None  # span bounds on the last finished box
        self._truncation = np.inf
        self._values: Any = None
        self._box = first_box(formulation.system.k)
        self._done = False
        self._small: float | None = None
        self._steps = self._work()

    @property
    def value(self) -> float | None:
        """The optimum on the largest box so far."""
        return None if self._gain is None else self._gain[1]

    @property
    def bound(self) -> float | None:
        """What is left when span and truncation are taken off."""
        if self._gain is None or not np.isfinite(self._truncation):
            return None
        return self._gain[0] - self._truncation

    def advance(self, seconds: float) -> bool:
        """Work for about that long; tell whether the box is large enough."""
        began = time.perf_counter()
        while not self._done and time.perf_counter() - began <= seconds:
            if next(self._steps, None) is None:
                self._done = True
        return self._done

    def _work(self) -> Any:
        model, k = self._formulation, self._formulation.system.k
        costs = (float(model.model[0]), float(model.model[1]))
        options = model.options
        box = self._box
        while True:
            start = None if self._values is None else self._box.grown(self._values, box)
            low = high = 0.0
            for values, low, high in iterate(model.system, costs, box, start=start):
                latest = values
                yield True
                if high - low <= SPAN * abs(high):
                    break
                if high - low <= ROUGH * abs(high) and self._too_small(high):
                    break
            if self._gain is not None:
                self._truncation = abs(high - self._gain[1])
            self._gain, self._values, self._box = (low, high), latest, box
            if self._truncation <= options["tolerance"] * abs(high):
                return
            box = Box(int(GROWTH * box.small), int(GROWTH * box.large))
            if box.states(k) > options["most"]:
                return

    def _too_small(self, value: float) -> bool:
        """Tell whether the optimum changed too much since the last box for this to be the last."""
        if self._gain is None:
            return True
        enough = float(self._formulation.options["tolerance"]) * abs(value)
        return abs(value - self._gain[1]) > 2.0 * enough

    def solution(self) -> OptimalTable | None:
        """Return the best policy so far, with the response time of each class under it."""
        if self._gain is None:
            return None
        from formulations.msfq.optimal_kernels import decisions

        model = self._formulation
        system, table = model.system, decisions(self._values)
        if self._small is None:
            self._small = self._box.evaluate(system, (1.0 / system.l1, 0.0), table, span=1e-5)
        large = (self._gain[1] - model.model[0] * system.l1 * self._small) / (
            model.model[1] * system.lk
        )
        times = {1: self._small, system.k: float(large)}
        pair = np.array([times[1]]), np.array([times[system.k]])
        return OptimalTable(
            mean_response_time=float(system.mean(*pair)[0]),
            weighted_response_time=float(system.weighted(*pair)[0]),
            classes=tuple(
                ClassTime(need=job.need, mean_response_time=times[job.need])
                for job in model.instance.classes
            ),
            small_most=self._box.small,
            large_most=self._box.large,
            at_empty=_letters(table[0]),
            admit=tuple(_letters(np.minimum(table[c], 1), "-") for c in range(1, system.k)),
            span=self._gain[1] - self._gain[0],
            truncation=float(self._truncation) if np.isfinite(self._truncation) else -1.0,
        )

    def holds(self, names: frozenset[str]) -> bool:
        """Tell that nothing can be in conflict where nothing is asked for."""
        return True


def _letters(decisions: Any, nothing: str = ".") -> tuple[str, ...]:
    """Return decisions, shape (I + 1, J + 1), as a row of letters for each j."""
    letters = np.where(decisions == 0, nothing, LETTERS[decisions])
    return tuple("".join(column) for column in letters.T.tolist())
