"""A selection in whole numbers: the capacity, and each row of the side constraints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf

from formulations.dssp.rows import Row
from formulations.program import Number, Program, WholeRow, exact, whole_rewards, whole_row
from instances.decimals import as_written
from instances.dssp import Instance


def selection_program(
    night: Instance,
    capacity: Iterable[Row],
    open_: Sequence[bool],
    stated: Iterable[tuple[str, Row]],
) -> Program:
    """Return a selection as a program: a column for each job, then one for each row that is lifted.

    Parameters
    ----------
    night : Instance
        The jobs.
    capacity : iterable of Row
        Equation 2, and the same between releases and deadlines of jobs' own.
    open_ : sequence of bool, shape (J,)
        The jobs that can be selected at all.
    stated : iterable of (str, Row)
        The rows of the side constraints, under their names.
    """
    writer = _Writer([job.name for job in night.jobs], list(open_))
    for row in capacity:  # equation 2
        body = {j: c for j, c in zip(row.jobs, row.coefficients, strict=True) if open_[j]}
        writer.write(row.what, "", body, row.lower, row.upper)
    for name, row in stated:
        writer.state(name, row)
    rewards, scale = whole_rewards([as_written(job.reward) for job in night.jobs])
    return Program(
        columns=tuple(writer.columns),
        rewards=rewards + (0,) * (len(writer.columns) - len(rewards)),
        scale=scale,
        open=tuple(writer.open),
        rows=tuple(writer.rows.values()),
        lifting=writer.lifting,
    )


class _Writer:
    """Writes rows over the open columns, each under a key of its own."""

    def __init__(self, columns: list[str], open_: list[bool]) -> None:
        self.columns, self.open = columns, open_
        self.rows: dict[str, WholeRow] = {}
        self.lifting: dict[int, tuple[int, ...]] = {}

    def write(
        self, key: str, name: str, body: Mapping[int, Number], lower: Number, upper: Number
    ) -> None:
        row = whole_row(key, name, body, lower, upper)
        while self.rows.get(key, row) != row:  # a kind of one's own may use a name twice
            row = row._replace(key=(key := f"{key}'"))
        self.rows[key] = row

    def state(self, name: str, row: Row) -> None:
        """Write a row of a side constraint; one that can be lifted, with a column that lifts it."""
        key = f"{name}: {row.what}"
        body: dict[int, Number] = {}
        for j, c in zip(row.jobs, row.coefficients, strict=True):
            if self.open[j]:
                body[j] = body.get(j, Fraction(0)) + exact(c)
        if row.unless_all and key not in self.rows:
            lifted = len(self.columns)
            self.columns.append(key)
            self.open.append(all(self.open[j] for j in row.unless_all))
            self.lifting[lifted] = tuple(row.unless_all)
            if self.open[lifted]:
                for j in row.unless_all:
                    self.write(f"{key}: {self.columns[j]}", name, {lifted: 1.0, j: -1.0}, -inf, 0.0)
                least = sum((exact(c) for c in body.values() if c < 0), Fraction(0))
                body[lifted] = max(Fraction(0), exact(row.lower) - least)
        self.write(key, name, body, row.lower, row.upper)
