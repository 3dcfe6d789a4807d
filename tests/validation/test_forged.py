"""Forged results and certificates are found, field by field, or named as not recomputed in time."""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from typing import Any

import msgspec
import pytest
from builders import forging
from builders.effort import ALL

from schedopt import check
from schedopt.instances.errors import InputError


@pytest.mark.parametrize("row", forging.ROWS)
def test_check_passes_right_claims_and_no_forged_one(row: str) -> None:
    fates = Counter(forging.forge_claim(seed, row) for seed in range(60))
    assert not fates["passes"]
    assert fates["found"] > 20
    assert row == "msfq" or any(case.worse is not None for case in forging.cases(row))
    for case in forging.cases(row):
        report = check(case.instance, forging.document(case.right))
        assert report.whole
        assert report.bound == "re-proved"


@pytest.mark.parametrize("row", forging.ROWS)
def test_check_proves_no_more_than_the_optimum(row: str) -> None:
    """What re-proves the optimum as a bound is refused for one further on by a millionth."""
    for case in forging.cases(row):
        right, further = case.right, -1e-6 if row == "dssp" else 1e-6
        beyond = right | {"bound": right["bound"] + further * max(1.0, abs(right["bound"]))}
        assert check(case.instance, forging.document(right)).bound == "re-proved"
        if right["solution_status"] == "optimal":
            assert check(case.instance, forging.document(beyond)).bound != "re-proved"
        for bound in forging.NO_NUMBERS:
            forged = right | {"bound": bound, "objective": bound, "gap": 0.0}
            assert check(case.instance, forging.document(forged)).violations


FREE = {
    "tested",  # how long a search of the paper took
    "span",
    "truncation",  # of what its certificate shows, the two parts of a gap
    "confidence",
    "estimates",
    "note",  # of a run that is not run again
}
"""What nothing that is judged follows from."""


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


def some_answers(row: str) -> Iterator[tuple[Any, dict[str, Any]]]:
    """Yield an answer for each formulation, and for each policy that is quick to be loaded."""
    seen = set()
    for question in (*forging.questions(row), *forging.results(row)):
        quick = ALL or row != "msfq" or not question.policy
        what: Any = question.policy or question.formulation
        order = question.options.get("order")  # whose epochs may have no length
        if what in seen or not quick or order:
            continue
        if (right := forging.answer(question)) is None:
            continue
        if question.policy and row == "dssp" and not ALL:  # one checker judges all of a shape
            what = frozenset(right["solution"])
        if what not in seen:
            seen.add(what)
            yield question.instance, right


@pytest.mark.parametrize("row", forging.ROWS)
def test_check_finds_every_changed_field(row: str) -> None:
    changed = 0
    for instance, right in some_answers(row):
        forged = deepcopy(right)
        tried = {"policies", "bounds"} & right["solution"].keys()  # all but the best say nothing
        said = [solution for key in tried for solution in forged["solution"][key]]
        for where, key in forging.places(forged["solution"]):
            value = where[key]
            if key in FREE or key in said or not isinstance(value, bool | int | float | str | None):
                continue
            for other in others(value):
                where[key] = other
                changed += 1
                if key != "processor" or abs(other - value) > 1:  # another may be free
                    assert wrong(instance, forged), (right["formulation"], key, value, other)
            where[key] = value
        assert not wrong(instance, forged)
    assert changed > 50


def wrong(instance: Any, forged: dict[str, Any]) -> bool:
    """Tell whether something is found."""
    try:
        report = check(instance, forging.document(forged))
    except (InputError, msgspec.ValidationError):
        return True
    return not report.whole
