"""Selection: which jobs to run by the deadline, as a 0-1 knapsack with side constraints."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.declared import Declared
from schedopt.formulations.dssp.rows import Row, rows, selectable, window_rows
from schedopt.formulations.dssp.sample import Sample
from schedopt.formulations.protocol import Knapsack, Value
from schedopt.instances.constraints import Constraint, Seats
from schedopt.instances.dssp import FILL, Instance, Selected, SelectedNights, selected
from schedopt.instances.dssp.scenarios import AT_RISK, at_risk
from schedopt.instances.errors import InputError
from schedopt.instances.options import Option


class Selection(Declared):
    """Choose the jobs with the largest total reward whose demand fits the machine.

    Parameters
    ----------
    instance : Instance
        Jobs, processors and deadline; its side constraints are taken over.
    fill : float or "guaranteed"
        The selection parameter r: how much of P·D to fill. ``guaranteed`` is Theorem 4's, with
        which every non-delay dispatcher completes all that is selected.
    risk : str, optional
        What is maximized where run times are uncertain: ``mean`` (the expected reward), ``cvar:Q``
        (the mean of the worst part 1 - Q) or ``chance:Q`` (the reward of what is selected, each job
        of it in time with at least that probability). Without it the planned times are believed.
    scenarios, seed : int
        How many scenarios stand for the uncertainty, and the seed that they are drawn from.

    Attributes
    ----------
    sample : Sample or None
        The scenarios, and what a selection earns in them; None without ``risk``.
    stated : list of (str, Row)
        The rows of the side constraints, under their names.
    open : ndarray of bool, shape (J,)
        The jobs that can be selected at all: of the others T_∞(j) or T_1(j) does not fit from
        release to deadline.

    Raises
    ------
    InputError
        If ``fill`` is not right.

    Notes
    -----
    Source: Anderson et al., SPAA 2005, section 3.1, equations 1 and 2. With releases and deadlines
    of jobs' own equation 2 stands for each release a and deadline b: the jobs that live between
    them fit into r·P·(b - a). With ``risk`` these rows hold for planned run times, and what is
    earned is said by `Sample`.
    """

    name: ClassVar[str] = "selection"
    known_options: ClassVar[Mapping[str, Option]] = {
        "fill": FILL,
        **AT_RISK,
    }

    def __init__(
        self,
        instance: Instance,
        *,
        fill: float | Literal["guaranteed"] = 1.0,
        risk: str | None = None,
        scenarios: int | None = None,
        seed: int | None = None,
    ) -> None:
        asked = at_risk(self.name, risk=risk, scenarios=scenarios, seed=seed)
        super().__init__(instance, fill=fill)
        self.options |= asked
        self.sample = Sample.of(instance, self.open, self.fill, **asked) if asked else None

    def estimate_risk(self, solution: Selected) -> dict[str, float] | None:
        """Return the value of a selection in and out of sample; None without ``risk``."""
        if self.sample is None:
            return None
        return self.sample.estimate_risk(self._mask(solution), self.instance, self.options["seed"])

    def _mask(self, solution: Selected) -> NDArray[np.bool_]:
        chosen = np.zeros(self.width, dtype=np.bool_)
        chosen[self.instance.positions(solution)] = True
        return chosen

    def value_of(self, solution: Selected) -> float | None:
        """Return the value of a selection; None where it violates a row or a chance under risk."""
        if self.sample is None:
            return self.instance.objective_of(solution)
        program = self.integer_program()
        if not self.changed and len(program.violated_rows(program.point(self.columns(solution)))):
            return None
        return self.sample.value(self._mask(solution))

    def _set_columns(self) -> None:
        self.open = selectable(self.instance, self.fill)

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2, also between the jobs' own releases and deadlines, and precedence."""
        night = self.instance
        return window_rows(night, self.open, self.fill) + _waiting_rows(night)

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        if self.guaranteed and isinstance(constraint, Seats):
            raise InputError(
                "side constraints under which Theorem 4 holds", found="seats", place="option fill"
            )
        return rows(constraint, self.instance, self.instance.exact_capacity(self.fill))

    def columns(self, solution: Selected | SelectedNights) -> Iterable[int]:
        """Yield the columns that are 1 in a solution."""
        columns: list[int] = self.instance.positions(solution).tolist()
        return columns

    @property
    def single_capacity(self) -> bool:
        """Whether equation 2 is the only capacity row: no job has a window of its own."""
        night = self.instance
        if night.features:
            return False
        return not night.windowed or (len(self.capacity) == 1 and bool(night.due[self.open].all()))

    def plain(self) -> Knapsack | None:
        """Return the plain knapsack, as long as only equations 1 and 2 are declared."""
        if self.stated or self.changed or self.sample or not self.single_capacity:
            return None
        night, positions = self.instance, np.flatnonzero(self.open)
        demands = night.planned.demands
        room = demands.down(night.room(self.fill))
        if positions.size == self.width:
            return Knapsack(night.rewards, demands, room, positions)
        return Knapsack(night.rewards[positions], demands.take(positions), room, positions)

    def decode(self, value: Value) -> Selected:
        """Turn values of the variables into a selection."""
        return self.selected(self._chosen_columns(value))

    def selected(self, chosen: Sequence[int] | NDArray[np.intp] | NDArray[np.bool_]) -> Selected:
        """Return the solution record of the jobs at these positions, or under a mask."""
        return selected(self.instance, chosen, self.fill)


def _waiting_rows(night: Instance) -> list[Row]:
    """Return precedence rows: a selected job requires its predecessors."""
    return [
        Row(f"after: {job.name}, {name}", [j, night.index[name]], [1, -1], upper=0)
        for j, job in enumerate(night.jobs)
        for name in job.after
    ]
