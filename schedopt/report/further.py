"""Parts of a page that any problem can have: reasons with prices, and what-if curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from schedopt.analysis.tables import variations
from schedopt.pictures import whatif
from schedopt.problems import explained
from schedopt.problems.sheet import Section
from schedopt.solvers.result import Result
from schedopt.sweep.varied import Variation

PRICES = {
    "needed": "What the job would have had to be worth to be in an optimum, all else the same.",
    "reward lost": "The optimum without the rule, less the optimum: by solving again.",
    "in without it, out without it": "Jobs that are run only if the rule is dropped, and jobs that "
    "then make way for them.",
    "groups": "How much more reward each group's jobs bring without the rule.",
    "not proven": "The further solve was stopped: the true number may be larger.",
}
WHAT_IF = {
    "objective": "The optimum with the values of the row in place of the file's.",
    "gap": "How far objective and bound are apart, as a fraction of the objective; 0 is proven.",
    "outcome": "What is in hand: optimal, feasible (not proven), or why there is nothing.",
    "share": "Of the machine's time, what a group is given; with several nights, of all of them.",
}


def prices(result: Result) -> Iterator[Section]:
    """Yield why each job is left out and what each rule costs, where that was asked for."""
    if not result.explanation:
        return
    told = msgspec.convert(result.explanation, explained.Explanation)
    words = "Each by solving again: with the job asked for, without the rule, on a larger machine."
    tables = tuple(table.filled() for table in explained.tables(told))
    yield Section("Why, and at what price", words=words, tables=tables, terms=PRICES)


def what_if(rows: Sequence[Variation]) -> Iterator[Section]:
    """Yield the curves of a what-if, and a row for each combination of values."""
    if not rows:
        return
    places = " and ".join(rows[0].values)
    words = f"The optimum, solved again for each value of {places}."
    drawn = [row for row in rows if row.objective is not None]
    pictures = (("The optimum, and who gets what", lambda: whatif.curves(drawn)),)
    yield Section(
        "What if",
        words=words if drawn else f"{words} For none of them was anything found.",
        pictures=pictures if drawn else (),
        tables=(variations(rows, on_page=True),),
        terms=WHAT_IF,
    )
