"""Windows: jobs live from their release to their deadline, and what fits between the two.

A job's own deadline may be later than the file's, which is what holds where a job says nothing;
shares are of r·P·D with the file's D all the same.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written
from schedopt.instances.errors import InputError, shown

if TYPE_CHECKING:
    from schedopt.instances.dssp.records import Instance

MOST = 20_000_000
"""What the windows of an instance may list of jobs, all together."""


class Window(NamedTuple):
    """A release, a deadline, and the jobs that live between the two.

    Attributes
    ----------
    release, deadline : float
        The decimals that are written, not the doubles.
    jobs : ndarray of int
        Positions of jobs, ascending.
    """

    release: float
    deadline: float
    jobs: NDArray[np.intp]

    @property
    def length(self) -> Fraction:
        """From the release to the deadline, exactly."""
        return as_written(self.deadline) - as_written(self.release)


def windows(
    night: Instance, among: NDArray[np.bool_], work: NDArray[np.float64], rate: float
) -> list[Window]:
    """Return the windows that could be too small for the jobs that live in them.

    Of windows with the same jobs the shortest stands for all.

    Parameters
    ----------
    night : Instance
    among : ndarray of bool, shape (J,)
        The jobs that count.
    work : ndarray of float, shape (J,)
        What each asks for in all.
    rate : float
        What there is in a unit of time.

    Raises
    ------
    InputError
        If there are too many windows to write them all down.
    """
    at = np.flatnonzero(among & (work > 0))
    if not at.size:
        return []
    releases, first = np.unique(night.releases[at], return_inverse=True)
    deadlines, last = np.unique(night.deadlines[at], return_inverse=True)
    shape = (len(releases), len(deadlines))
    if shape[0] * shape[1] > MOST:
        raise _too_many(shape)
    ends, starts = _within(first, last, np.ones(at.size), shape)
    asked = np.cumsum(np.cumsum(_table(first, last, work[at], shape)[::-1], axis=0), axis=1)[::-1]
    room = rate * (deadlines[None, :] - releases[:, None])
    tight = ends & starts & (asked > room * (1 - 1e-9))  # rounding never hides one that matters
    found: list[Window] = []
    listed = 0
    for a, b in np.argwhere(tight):
        inside = at[(first >= a) & (last <= b)]
        listed += inside.size
        if listed > MOST:
            raise _too_many(shape)
        found.append(Window(float(releases[a]), float(deadlines[b]), inside))
    return found


def _table(
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    amounts: NDArray[np.float64],
    shape: tuple[int, int],
) -> NDArray[np.float64]:
    table = np.zeros(shape)
    np.add.at(table, (first, last), amounts)
    return table


def _within(
    first: NDArray[np.intp],
    last: NDArray[np.intp],
    ones: NDArray[np.float64],
    shape: tuple[int, int],
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Tell of each window whether some job in it ends when it does, and starts when it does."""
    table = _table(first, last, ones, shape)
    ends = np.cumsum(table[::-1], axis=0)[::-1] > 0
    starts = np.cumsum(table, axis=1) > 0
    return ends, starts


def _too_many(shape: tuple[int, int]) -> InputError:
    return InputError(
        "fewer releases and deadlines that differ: round them",
        found=f"{shape[0]} releases and {shape[1]} deadlines",
        place="jobs",
    )


def refuse_nights(night: Instance, who: str) -> None:
    """Raise `InputError` if an instance has several nights.

    Parameters
    ----------
    night : Instance
    who : str
        What is for a single one.
    """
    if night.nights > 1:
        words = f"1: {who} is for a single night, formulation season for several"
        raise InputError(words, found=shown(night.nights), place="nights")
