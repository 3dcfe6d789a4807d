"""Windows between a release and a deadline, and the capacity in them.

A job's own deadline may be later than the instance's, which is only the default. Shares are of
r·P·D with the instance's deadline D in any case.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.machine import Steps
from schedopt.instances.errors import InputError, expect

if TYPE_CHECKING:
    from schedopt.instances.dssp.records import Instance

MOST = 20_000_000  # most jobs that the windows of an instance may list in all


class Window(NamedTuple):
    """A release, a deadline, and the jobs that must run between them."""

    release: float
    deadline: float
    jobs: NDArray[np.intp]  # positions, ascending

    def room(self, there: Steps) -> Fraction:
        """Return the exact capacity from the release to the deadline."""
        return there.until(as_written(self.deadline)) - there.until(as_written(self.release))


def windows(
    night: Instance, among: NDArray[np.bool_], work: NDArray[np.float64], rate: Steps
) -> list[Window]:
    """Return the windows whose jobs could exceed the capacity in them."""
    at = np.flatnonzero(among & (work > 0))
    if not at.size:
        return []
    releases, first = np.unique(night.releases[at], return_inverse=True)
    deadlines, last = np.unique(night.deadlines[at], return_inverse=True)
    shape = (len(releases), len(deadlines))
    too_many = InputError(
        "fewer different releases and deadlines; round them",
        found=f"{shape[0]} releases and {shape[1]} deadlines",
        place="jobs",
    )
    if shape[0] * shape[1] > MOST:
        raise too_many
    count, asked = np.zeros(shape), np.zeros(shape)
    np.add.at(count, (first, last), 1.0)
    np.add.at(asked, (first, last), work[at])
    # Some job within has the window's own deadline, and some its own release.
    ends = np.cumsum(count[::-1], axis=0)[::-1] > 0
    starts = np.cumsum(count, axis=1) > 0
    asked = np.cumsum(np.cumsum(asked[::-1], axis=0), axis=1)[::-1]
    opened, due = _cumulative_capacity(rate, releases), _cumulative_capacity(rate, deadlines)
    room = due[None, :] - opened[:, None]
    room = room * (1 - 1e-9) - 1e-12 * due.max()  # rounding never hides one that matters
    tight = ends & starts & (asked > room)
    kept: list[Window] = []
    listed = 0
    for a, b in np.argwhere(tight):
        inside = at[(first >= a) & (last <= b)]
        listed += inside.size
        if listed > MOST:
            raise too_many
        kept.append(Window(float(releases[a]), float(deadlines[b]), inside))
    return kept


def _cumulative_capacity(rate: Steps, times: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cumulative capacity up to each of some times."""
    return np.array([float(rate.until(as_written(time))) for time in times.tolist()])


def refuse_nights(night: Instance, who: str) -> None:
    """Raise `InputError` if an instance has several nights; ``who`` supports only one."""
    expected = f"1: {who} is for a single night, formulation season for several"
    expect(night.nights <= 1, expected, night.nights, "nights")
