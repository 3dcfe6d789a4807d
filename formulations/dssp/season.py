"""Season: which jobs to run on which of several nights, knowing all of them from the start."""

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.declared import Declared
from schedopt.formulations.dssp.nights import Calendar, season_rows
from schedopt.formulations.dssp.rows import Row, selectable, window_rows
from schedopt.formulations.protocol import Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import SelectedNights, selected_nights
from schedopt.instances.dssp.machine_checks import refuse_features
from schedopt.instances.naming import split


class Season(Declared):
    """Choose jobs, and a night for each, with the largest total reward; one program for all nights.

    It is the clairvoyant optimum: what could be had by whoever knows tomorrow's jobs tonight.

    Parameters
    ----------
    instance : Instance
        Jobs, and ``nights`` nights with all processors until the deadline each; its side
        constraints are taken over.
    fill : float
        How much of a night's P·D to fill.

    Attributes
    ----------
    calendar : Calendar
        The columns x_{j,n}: job j is run on night n.
    stated : list of (str, Row)
        The rows of the side constraints over these, under their names.
    open : ndarray of bool, shape (columns,)
        The columns of jobs that can be selected at all.

    Raises
    ------
    InputError
        If ``fill`` is not right, or a side constraint is of a kind that says nothing of seasons.

    Notes
    -----
    Each night is a `Selection` (Anderson et al., SPAA 2005, section 3.1); a job is run on at most
    one of its nights. Requirements, exclusions and counts speak of all nights together, a resource
    and seats of each, a fair share of what it says itself.
    """

    name: ClassVar[str] = "season"
    calendar: Calendar

    def _set_columns(self) -> None:
        refuse_features(self.instance, "season", self.instance.features.keys() - {"after"})
        self.calendar = Calendar.of(self.instance, self.fill)
        self._able = selectable(self.instance, self.fill)
        jobs, of = self.calendar.jobs, self.calendar.nights
        self.open = self._able[jobs]
        self._apart = {
            n: selectable(night, self.fill) for n, (night, _) in self.calendar.own.items()
        }
        for n, own in self._apart.items():
            self.open[of == n] = own[jobs[of == n]]
            self._able = self._able | own  # which can be on some night

    @cached_property
    def nightly(self) -> list[Row]:
        """Equation 2 on each night."""
        stated = window_rows(self.instance, self._able, self.fill)
        by_night = zip(*map(self.calendar.nightly, stated), strict=True)
        nightly: list[Row] = []
        for n, tonight in enumerate(by_night, start=1):
            if n in self._apart:
                own = window_rows(self.calendar.own[n][0], self._apart[n], self.fill)
                nightly += [self.calendar.on_night(row, n) for row in own]
            else:
                nightly += tonight
        return nightly

    @cached_property
    def capacity(self) -> list[Row]:
        """Equation 2 on each night, and that each job is run once at most."""
        declared = list(self.nightly)
        for j, nights in enumerate(self.calendar.of_job):
            if self._able[j] and len(nights) > 1:
                columns = list(nights.values())
                what = f"once: {self.instance.jobs[j].name}"
                declared.append(Row(what, columns, [1.0] * len(columns), upper=1.0))
        return declared

    def _rows(self, constraint: Constraint) -> Iterable[Row]:
        return season_rows(constraint, self.calendar)

    def decode(self, value: Value) -> SelectedNights:
        """Turn values of the variables into a selection for each night."""
        return self.selected(self._chosen_columns(value))

    def selected(
        self, chosen: Sequence[int] | NDArray[np.intp] | NDArray[np.bool_]
    ) -> SelectedNights:
        """Return the solution record in which these columns are 1, positions or a mask."""
        at = np.asarray(chosen)
        at = np.flatnonzero(at) if at.dtype == np.bool_ else at.astype(np.intp)
        jobs, nights = self.calendar.jobs[at], self.calendar.nights[at]
        tonight = [jobs[here] for here in split(nights - 1, self.instance.nights)]
        return selected_nights(self.instance, tonight, self.fill)
