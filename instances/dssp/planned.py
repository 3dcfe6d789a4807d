"""What planning knows of each job, exactly, and the tolerance of each rule of dssp.

**Numbers** are decimals as written (`instances.decimals`); T_1 and T_∞ are their exact sums.

**Selections have no tolerance.** Whether jobs fit into r·P·D, whether T_∞(j) <= D, whether a share,
a count or a resource is kept: both sides are exact, and so is the comparison. What solvers find is
judged so, what they call optimal or infeasible is so, and the checker judges so too. One third of
1 is more than 0.3333333333333333: write shares with room where rounding must not matter.

**Schedules** are sums of lengths in double precision, formed in the order of events. So a
completion counts as in time up to D·(1 + 1e-11), and the checker takes times as equal up to 1e-9 of
the longest one.

**Totals in a document** (objective, demand, shares) are rounded to doubles: the checker takes them
as equal up to 1e-9 of their size. Statuses are not: an objective is ``optimal`` where no selection
has a larger exact sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain
from operator import attrgetter, mul
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import FEW, Whole, as_written, few_sums

if TYPE_CHECKING:
    from schedopt.instances.dssp.jobs import Job


@dataclass(frozen=True, eq=False)
class Planned:
    """The exact T_1 and T_∞ of each job as planned: predicted where a prediction is given."""

    demands: Whole  # T_1 in processor time, shape (J,)
    paths: Whole  # T_∞ in time, shape (J,)

    @classmethod
    def of(cls, jobs: Sequence[Job]) -> Planned:
        """Add up what each job asks for."""
        if (work := predicted(jobs, "demand")) is None:
            work = _sums(
                [
                    (job.demand,) if job.demand is not None else tuple(chain(*(job.stages or ())))
                    for job in jobs
                ]
            )
            wide = [1 if job.demand is not None else job.processors for job in jobs]
            if max(wide, default=1) > 1:
                work = Whole.of_fractions(map(mul, work.fractions, wide))
        if (longest := predicted(jobs, "critical_path")) is None:
            longest = _sums(
                [
                    (job.critical_path,)
                    if job.critical_path is not None
                    else tuple(max(stage) for stage in job.stages or ())
                    for job in jobs
                ]
            )
        if set(map(attrgetter("max_processors"), jobs)) - {None}:
            least = [
                path if job.max_processors is None else max(path, demand / job.widest)
                for job, path, demand in zip(jobs, longest.fractions, work.fractions, strict=True)
            ]
            longest = Whole.of_fractions(least)
        return cls(work, longest)


def guaranteed(paths: Whole, inside: NDArray[np.bool_], processors: int, deadline: float) -> float:
    """Return r = 1 - (1 - 1/P)·max T_∞/D, with which all that is selected completes.

    The maximum is over the jobs that can complete by the deadline; 1 where there are none.
    Source: Theorem 4, valid for any non-delay dispatcher.
    """
    longest = Fraction(int(paths.numbers[inside].max(initial=0)), paths.scale)
    others = Fraction(processors - 1, processors)
    return float(1 - others * longest / as_written(deadline))


def predicted(jobs: Sequence[Job], field: str) -> Whole | None:
    """Return a number that all jobs predict, in one unit; None where one does not."""
    given = list(map(attrgetter(field), jobs))
    return None if None in given else Whole.of(np.array(given, dtype=np.float64))


def _sums(parts: Sequence[tuple[float, ...]]) -> Whole:
    if len(parts) <= FEW and (small := few_sums(parts)) is not None:
        return small
    flat = np.fromiter(chain(*parts), dtype=np.float64)
    starts = np.cumsum([0, *(len(part) for part in parts)])[:-1]
    return Whole.of(flat).sums(starts)
