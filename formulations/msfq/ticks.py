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
"""Ticks of a whole log, and weight times these, stay below 2 to this: prices need room beside."""


@dataclass(frozen=True, eq=False)
class Ticks:
    """What a schedule of some jobs is to keep, in ticks from the first submit.

    Attributes
    ----------
    servers : int
    submit, need, run, weight : ndarray of int64, shape (jobs,)
        Where ``exact`` is not, times are rounded down: no schedule of the jobs themselves is ruled
        out by that, and none responds sooner than in ticks by more than one tick. Weights are 1, or
        need times run.
    scale : Fraction
        Ticks in a unit of time.
    exact : bool
        Whether ticks say what the log says.
    total : Fraction
        The sum of the weights, exactly, in ticks: what `respond` divides by.
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
        """Return some jobs of a log in ticks.

        Parameters
        ----------
        queue : Instance
            Of a log.
        first : int
            The first of them.
        count : int, optional
            How many; all that follow by default.
        """
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
                (n * as_written(p) * scale
                 for n, p in zip(need.tolist(), jobs.run.tolist(), strict=True)),
                Fraction(0),
            )  # fmt: skip
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
        """Return the mean response time, in the log's unit, that a sum in ticks is at least.

        Parameters
        ----------
        total : Fraction
            The sum of weight times response, in ticks.
        """
        lost = 0 if self.exact else int(self.weight.sum())
        return (total - lost) / (self.total * self.scale)


def _down(times: NDArray[np.float64], scale: Fraction) -> Ticks64:
    return np.array([floor(as_written(time) * scale) for time in times.tolist()], dtype=np.int64)
