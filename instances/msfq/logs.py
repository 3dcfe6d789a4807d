"""The jobs of a log as columns: submits, needs, run times, and owners.

Ten million jobs take a few hundred megabytes as columns; as objects they would take tens of
gigabytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from schedopt.instances.errors import InputError

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]
Amounts = NDArray[np.int64]
Names = NDArray[np.generic]
"""Texts of numpy's StringDType: any length, 16 bytes each if short."""
MOST_NEED = 2**31 - 1
MOST_AMOUNT = 2**53 - 1
"""Largest amount of a resource: JSON numbers and table cells hold it exactly."""
MOST_TIME = 1e30  # limit on submits, run times and estimates, so that no sum of areas overflows
MOST_SUM = 2**62  # limit on the sum of all needs of a resource, so that no partial sum overflows
GROUPINGS = ("user", "group", "queue", "partition")  # columns that name a job's owner or place


class Labels(NamedTuple):
    """A column of names: each job's number among the names, -1 where it is unknown."""

    codes: Ints
    names: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str | None]) -> Labels:
        """Return labels of names, numbered in order of appearance; None is unknown."""
        numbers: dict[str, int] = {}
        codes = [-1 if name is None else numbers.setdefault(name, len(numbers)) for name in names]
        return cls(np.array(codes, dtype=np.int32), tuple(numbers))

    def take(self, rows: NDArray[np.generic]) -> Labels:
        """Return the entries of some jobs, by number or mask."""
        return Labels(self.codes[rows], self.names)

    def used(self) -> Labels | None:
        """Return the labels without unused names; None where no name is known."""
        used, first = np.unique(self.codes, return_index=True)
        order = used[np.argsort(first)]
        order = order[order >= 0]
        if not order.size:
            return None
        renumbered = np.full(len(self.names) + 1, -1, dtype=np.int32)
        renumbered[order] = np.arange(len(order), dtype=np.int32)
        return Labels(renumbered[self.codes], tuple(self.names[i] for i in order.tolist()))


class Needs(NamedTuple):
    """What jobs hold beside servers: ``amounts``, shape (jobs, resources), and resource names."""

    names: tuple[str, ...]
    amounts: Amounts

    @classmethod
    def of(cls, columns: Mapping[str, ArrayLike]) -> Needs:
        """Return needs from a column for each resource."""
        each = [np.asarray(column, dtype=np.int64) for column in columns.values()]
        return cls(tuple(columns), np.ascontiguousarray(np.stack(each, axis=1)))

    def take(self, rows: NDArray[np.generic]) -> Needs:
        """Return the entries of some jobs, by number or mask."""
        return Needs(self.names, np.ascontiguousarray(self.amounts[rows]))

    def columns(self) -> dict[str, Amounts]:
        """Return the column of each resource by its title in a table."""
        return {f"need:{name}": self.amounts[:, i] for i, name in enumerate(self.names)}


@dataclass(frozen=True, eq=False)
class Jobs:
    """The jobs of a log, in order of submit: columns of shape (jobs,).

    `InputError` if a column has another shape or invalid values.
    """

    submit: Floats  # ascending
    need: Ints  # servers that a job holds from start to end, at least 1
    run: Floats  # above 0
    estimate: Floats | None = None  # its user's, of the run time, above 0; NaN where unknown
    user: Labels | None = None
    group: Labels | None = None
    queue: Labels | None = None
    name: Names | None = None  # such as its number in the original log
    partition: Labels | None = None
    needs: Needs | None = None  # what else it holds, integers of at least 0
    start: Floats | None = None  # at the site, not before its release; NaN where unknown
    # When a job joins the queue, not before its submit: for example the end of a job on which it
    # depends. By default its submit. Response times count from the submit.
    release: Floats | None = None

    def __post_init__(self) -> None:
        for field in fields(self):
            column = getattr(self, field.name)
            if column is not None and (rows := _length(column)) != len(self):
                found, expected = f"{rows} of {field.name}", f"{len(self)} values in every column"
                raise InputError(expected, found=found, place="log")
        if not len(self.submit):
            raise InputError("at least one job", found="none", place="log")
        self._check_values()

    def _check_values(self) -> None:
        """Raise `InputError` with the first invalid value, and the number of others."""
        submit, need, run, estimate = self.submit, self.need, self.run, self.estimate
        needs, start, release = self.needs, self.start, self.release
        before = np.concatenate([[-np.inf], submit[:-1]])
        kinds: list[tuple[str, str, NDArray[np.bool_], NDArray[np.generic]]] = [
            ("submit", "a number >= 0", ~np.isfinite(submit) | (submit < 0), submit),
            ("submit", "no less than the one above", submit < before, submit),
            ("need", f"from 1 to {MOST_NEED}", (need < 1) | (need > MOST_NEED), need),
            ("run", "a number > 0", ~(np.isfinite(run) & (run > 0)), run),
        ]
        if estimate is not None:
            bad = ~np.isnan(estimate) & ~(np.isfinite(estimate) & (estimate > 0))
            kinds.append(("estimate", "a number > 0", bad, estimate))
        for title, times in (("submit", submit), ("run", run), ("estimate", estimate)):
            if times is not None:
                kinds.append((title, f"at most {MOST_TIME:g}", times > MOST_TIME, times))
        earliest, words = submit, "submit"
        if release is not None:
            early = ~(np.isfinite(release) & (release >= submit))
            kinds.append(("release", "a number, no less than submit", early, release))
            earliest, words = release, "submit and release"
        if start is not None:
            early = ~np.isnan(start) & ~(np.isfinite(start) & (start >= earliest))
            kinds.append(("start", f"a number, no less than {words}", early, start))
        for title, column in needs.columns().items() if needs else ():
            outside = (column < 0) | (column > MOST_AMOUNT)
            kinds.append((title, f"from 0 to {MOST_AMOUNT}", outside, column))
            over = np.cumsum(column.astype(np.float64)) >= MOST_SUM
            kinds.append((title, "less than 2^62 over all jobs: in a larger unit", over, column))
        for title, expected, mask, values in kinds:
            if mask.any():
                at, more = int(mask.argmax()), int(mask.sum()) - 1
                found = f"{values[at]:.12g}" + f", and {more} more like it" * bool(more)
                raise InputError(expected, found=found, place=f"row {at}, column {title!r}")

    def __len__(self) -> int:
        return len(self.submit)

    @classmethod
    def of(
        cls,
        submit: ArrayLike,
        need: ArrayLike,
        run: ArrayLike,
        estimate: ArrayLike | None = None,
        **columns: Any,
    ) -> Jobs:
        """Return jobs from plain sequences; an unknown name is None, and needs are a mapping."""
        given = {"submit": submit, "need": need, "run": run, "estimate": estimate, **columns}
        return cls(**{key: _column(key, of) for key, of in given.items() if of is not None})

    @property
    def estimated(self) -> bool:
        """Whether the log has an estimate of any job."""
        return self.estimate is not None and bool(np.isfinite(self.estimate).any())

    @property
    def released(self) -> Floats:
        """When each job joins the queue: its release, or its submit if it has none."""
        return self.submit if self.release is None else self.release

    def as_released(self) -> tuple[Jobs, NDArray[np.intp]]:
        """Return the jobs with releases as submits, in order of release, and their rows.

        Ties are in order of row.
        """
        if self.release is None:
            return self, np.arange(len(self))
        rows = np.argsort(self.release, kind="stable")
        columns = {field.name: getattr(self, field.name) for field in fields(self)}
        columns |= {"submit": self.release, "release": None}
        return Jobs(*take_rows(columns.values(), rows)), rows

    def planned(self, estimates: str = "given") -> Floats:
        """Return the run times that a policy expects, with estimates as given or exact.

        With ``given`` it is the user's estimate, or the run time where there is none, and at least
        the run time: a job that would exceed its estimate is known to be longer, so that it breaks
        no reservation.
        """
        if estimates == "exact" or self.estimate is None:
            return self.run
        return np.fmax(self.estimate, self.run)

    @property
    def overrun(self) -> int:
        """The number of jobs that ran longer than their estimates."""
        return 0 if self.estimate is None else int(np.count_nonzero(self.estimate < self.run))

    @property
    def work(self) -> float:
        """Servers times run time, summed over all jobs."""
        return float(self.need @ self.run)

    @property
    def span(self) -> float:
        """The time from the first submit to the last."""
        return float(self.submit[-1] - self.submit[0])

    def job_names(self) -> list[str]:
        """Return the name of each job, or its row from 0 if names are not unique."""
        names = [] if self.name is None else [str(name) for name in self.name.tolist()]
        if len({*names, ""}) == len(self) + 1:
            return names
        return [str(row) for row in range(len(self))]

    def labels(self, by: str) -> Labels | None:
        """Return each job's label under one of `GROUPINGS` or ``need``."""
        if by != "need":
            column: Labels | None = getattr(self, by)
            return column
        needs, codes = np.unique(self.need, return_inverse=True)
        return Labels(codes.astype(np.int32), tuple(str(need) for need in needs.tolist()))

    def take(self, rows: ArrayLike | slice) -> Jobs:
        """Return some of the jobs, by number, slice or mask."""
        at = np.arange(len(self))[rows if isinstance(rows, slice) else np.asarray(rows)]
        return Jobs(*take_rows([getattr(self, field.name) for field in fields(self)], at))


def take_rows(columns: Iterable[Any], rows: NDArray[np.generic]) -> list[Any]:
    """Return some rows of columns; each is an array, labels, needs, or None."""
    return [
        None if it is None else it.take(rows) if isinstance(it, Labels | Needs) else it[rows]
        for it in columns
    ]


def _column(key: str, values: Any) -> Any:
    if key in GROUPINGS:
        return Labels.of(values)
    if key == "needs":
        return Needs.of(values) if values else None
    return np.asarray(values, dtype=np.int32 if key == "need" else np.float64)


def _length(column: Any) -> int:
    return len(column.codes if isinstance(column, Labels) else getattr(column, "amounts", column))
