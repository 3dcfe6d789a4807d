"""Every number and name of a solution is judged: another in its place is found, one by one."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from builders.effort import ALL

from benchmarks import asking, forging
from benchmarks.fuzzing import places
from schedopt import check
from schedopt.instances.errors import InputError

FREE = {
    "tested",  # how long a search of the paper took
    "span",
    "truncation",  # of what its certificate shows, the two parts of a gap
    "confidence",
    "estimates",
    "note",  # of a run that is not run again
}
"""What nothing that is judged follows from."""

LEFT_OUT = {("method", "area"), ("method", "paper"), ("order", "j0,j1,j2"), ("order", "j2,j1,j0")}
"""Options: of approximations, which are not judged, and of orders, whose epochs may have no length,
so that shares in them may be any."""


def others(value: Any) -> Iterator[Any]:
    """Yield what stands in the place of a value, for the worse, the better and the impossible."""
    if isinstance(value, bool):
        yield not value
    elif isinstance(value, int):
        yield from (value + 1, value - 1, value + 99)
    elif isinstance(value, float):
        yield from (value + 1.0, value * (1 - 1e-3) - 1e-3, -1.0 - value)
    elif isinstance(value, str):
        yield f"{value}x"
    elif value is None:
        yield 1.0


def some(row: str) -> Iterator[asking.Source]:
    """Yield an answer for each formulation, and for each policy that is quick to be loaded."""
    seen = set()
    for source in asking.sources(row):
        what = source.policy or (source.question.formulation, source.question.options)
        quick = ALL or row != "msfq" or not source.policy
        if what in seen or not quick or LEFT_OUT.intersection(source.question.options):
            continue
        told = asking.answer(source)
        if told is None:
            continue
        if source.policy and row == "dssp" and not ALL:  # one checker judges all of a shape
            what = frozenset(told["solution"])
        if what not in seen:
            seen.add(what)
            yield source


@pytest.mark.parametrize("row", asking.ROWS)
def test_no_field_of_a_solution_may_be_another(row: str) -> None:
    changed = 0
    for source in some(row):
        right = asking.answer(source) or {}
        instance, forged = source.question.of, deepcopy(right)
        tried = {"policies", "bounds"} & right["solution"].keys()  # all but the best say nothing
        said = [solution for key in tried for solution in forged["solution"][key]]
        for where, key in places(forged["solution"]):
            value = where[key]
            if key in FREE or key in said or not isinstance(value, bool | int | float | str | None):
                continue
            for other in others(value):
                where[key] = other
                changed += 1
                if key != "processor" or abs(other - value) > 1:  # another may be free
                    assert wrong(instance, forged), (source, key, value, other)
            where[key] = value
        assert not wrong(instance, forged)
    assert changed > 100


def wrong(instance: Any, forged: dict[str, Any]) -> bool:
    """Tell whether something is found."""
    try:
        report = check(instance, forging.document(forged))
    except (InputError, msgspec.ValidationError):
        return True
    return not report.whole
