"""What fits between a release and a deadline, as rows of a selection."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from schedopt.formulations.dssp.rows import Row
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance, windows


def able(night: Instance, fill: float) -> NDArray[np.bool_]:
    """Tell which jobs can be selected at all, shape (J,).

    From its release to its deadline T_∞(j) fits, and T_1(j) into r·P times that.
    """
    demands = night.planned.demands
    fits = (demands.numbers <= demands.down(night.room(fill))).astype(np.bool_)
    if not night.windowed:
        return night.in_time & fits
    rate = as_written(fill) * night.processors
    for j in np.flatnonzero((night.releases > 0) | (night.deadlines != night.deadline)):
        length = as_written(night.deadlines[j]) - as_written(night.releases[j])
        fits[j] = Fraction(int(demands.numbers[j]), demands.scale) <= rate * length
    return night.in_time & fits


def window_rows(night: Instance, open_: NDArray[np.bool_], fill: float) -> list[Row]:
    """Return a row for each release a and deadline b: the jobs between fit into r·P·(b - a).

    The first is equation 2, over the jobs that are due by the file's deadline; of the others only
    those that could be broken are there.
    """
    demands, rate = night.planned.demands, as_written(fill) * night.processors
    due = np.flatnonzero(night.due)
    rows = [_row(night, "capacity", due, night.exact_capacity(fill))]
    if night.windowed:
        for window in windows(night, open_, demands.floats, float(rate)):
            if (window.release, window.deadline) == (0.0, night.deadline):
                continue
            what = f"capacity from {window.release:.15g} to {window.deadline:.15g}"
            rows.append(_row(night, what, window.jobs, rate * window.length))
    return rows


def _row(night: Instance, what: str, jobs: NDArray[np.intp], room: Fraction) -> Row:
    demand = night.planned.demands.take(jobs).fractions
    return Row(what, jobs.tolist(), demand, upper=room)
