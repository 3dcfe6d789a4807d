"""Jobs of a log in whole numbers: the decimals of the file where they fit, else rounded down."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, log2

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.decimals import as_written, scale_of
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import Instance

Ticks64 = NDArray[np.int64]
MOST_BITS, MOST_WEIGHTED = 44, 50
"""Bits of a whole log's ticks, and of weight times ticks, leaving room for prices."""


@dataclass(frozen=True, eq=False)
class Ticks:
    """Jobs of a log in whole ticks from the first submit, arrays of shape (jobs,).

    ``scale`` is the number of ticks in a unit of time. Where ``exact`` is False, times are rounded
    down: this rules out no schedule, and a job responds at most one tick sooner than it really
    could. Weights are 1, or need times run; ``total`` is their exact sum in ticks, by which
    `respond` divides.
    """

    servers: int
    submit: Ticks64
    need: Ticks64
    run: Ticks64
    weight: Ticks64
    scale: Fraction
    exact: bool
    total: Fraction

    @classmethod
    def of(cls, queue: Instance, first: int = 0, count: int | None = None) -> Ticks:
        """Return ``count`` jobs of a log from the ``first`` on, by default all, in ticks."""
        if queue.log is None:
            raise InputError("an instance of a log", found="one of classes", place="log")
        stop = None if count is None else first + count
        jobs = queue.jobs.take(slice(first, stop))
        times = np.concatenate([jobs.submit, jobs.run])
        span = float(jobs.submit[-1] - jobs.submit[0]) + float(jobs.run.max())
        weighted = queue.objective == "weighted"
        finest = min(MOST_BITS - 1 - log2(span), 900.0)  # a scale that a float holds
        if weighted:
            most = log2(float((jobs.need * jobs.run).max())) + log2(span)
            finest = min(finest, (MOST_WEIGHTED - 1 - most) / 2)
        plain = scale_of(times)
        exact = bool(plain) and log2(plain) < finest
        scale = Fraction(plain) if exact else Fraction(2) ** floor(finest)
        if exact:
            submit, run = (np.rint(of * plain).astype(np.int64) for of in (jobs.submit, jobs.run))
        else:
            submit, run = (_down(of, scale) for of in (jobs.submit, jobs.run))
        need = jobs.need.astype(np.int64)
        total = Fraction(len(jobs))
        if weighted:
            total = sum(
                (
                    n * as_written(p) * scale
                    for n, p in zip(need.tolist(), jobs.run.tolist(), strict=True)
                ),
                Fraction(0),
            )
        return cls(
            servers=queue.servers,
            submit=submit - submit[0],
            need=need,
            run=run,
            weight=need * run if weighted else np.ones_like(need),
            scale=scale,
            exact=exact,
            total=total,
        )

    def respond(self, total: Fraction | int) -> Fraction:
        """Return the lower bound on the mean response time that a weighted sum in ticks implies."""
        lost = 0 if self.exact else int(self.weight.sum())
        return (total - lost) / (self.total * self.scale)


def _down(times: NDArray[np.float64], scale: Fraction) -> Ticks64:
    return np.array([floor(as_written(time) * scale) for time in times.tolist()], dtype=np.int64)
