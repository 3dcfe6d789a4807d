"""A selection as an integer program: the capacity, and the rows of side constraints."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import inf

from schedopt.formulations.dssp.rows import Row
from schedopt.formulations.program import Number, Program, WholeRow, exact, whole_rewards, whole_row
from schedopt.instances.decimals import as_written


def selection_program(
    names: Sequence[str],
    rewards: Sequence[float],
    capacity: Iterable[Row],
    open_: Sequence[bool],
    stated: Iterable[tuple[str, Row]],
) -> Program:
    """Return a selection as a program: its columns, then one for each row that can be waived.

    Parameters
    ----------
    names : sequence of str
        What each column is called, such as the job whose selection it is.
    rewards : sequence of float
        Of each column.
    capacity : iterable of Row
        Equation 2, and what else the formulation asks for itself.
    open_ : sequence of bool
        The columns that can be 1 at all.
    stated : iterable of (str, Row)
        The rows of the side constraints, under their names.
    """
    writer = _Writer(list(names), list(open_))
    for row in capacity:  # equation 2
        body = {j: c for j, c in zip(row.jobs, row.coefficients, strict=True) if open_[j]}
        writer.write(row.what, "", body, row.lower, row.upper)
    for name, row in stated:
        writer.state(name, row)
    worth, scale = whole_rewards([as_written(reward) for reward in rewards])
    return Program(
        columns=tuple(writer.columns),
        rewards=worth + (0,) * (len(writer.columns) - len(worth)),
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
        self.lifting: dict[int, tuple[tuple[int, ...], ...]] = {}

    def write(
        self, key: str, name: str, body: Mapping[int, Number], lower: Number, upper: Number
    ) -> None:
        row = whole_row(key, name, body, lower, upper)
        while self.rows.get(key, row) != row:  # a kind of one's own may use a name twice
            row = row._replace(key=(key := f"{key}'"))
        self.rows[key] = row

    def state(self, name: str, row: Row) -> None:
        """Write a row of a side constraint, with a column that waives it where it can be waived."""
        key = f"{name}: {row.what}"
        body: dict[int, Number] = {}
        for j, c in zip(row.jobs, row.coefficients, strict=True):
            if self.open[j]:
                body[j] = exact(c) if j not in body else exact(body[j]) + exact(c)
        if row.lifting and key not in self.rows:
            lifted = len(self.columns)
            self.columns.append(key)
            sets = [tuple(j for j in columns if self.open[j]) for columns in row.lifting]
            self.open.append(all(sets))
            self.lifting[lifted] = tuple(sets)
            if self.open[lifted]:
                for columns in sets:
                    one_of = {lifted: 1.0} | dict.fromkeys(columns, -1.0)
                    what = f"{key}: {self.columns[columns[0]]}"
                    self.write(what, name, one_of, -inf, 0.0)
                least = sum((exact(c) for c in body.values() if c < 0), Fraction(0))
                body[lifted] = max(Fraction(0), exact(row.lower) - least)
        self.write(key, name, body, row.lower, row.upper)
