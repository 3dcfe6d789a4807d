"""Forged results and certificates of every kind: the checker finds them all."""

from __future__ import annotations

from collections import Counter

import pytest

from benchmarks import forging


def test_no_forgery_passes() -> None:
    found = Counter(forging.attempt(seed) for seed in range(500))
    assert not [ended for _, ended in found if ended.startswith("passes")]
    assert {row for row, ended in found if ended == "found"} == {"dssp", "epoch", "hesrpt", "msfq"}
    worse = [case for case in forging.cases() if case.worse is not None]
    assert len(worse) >= 12


def test_what_is_not_forged_passes() -> None:
    from schedopt import check

    for case in forging.cases():
        report = check(case.instance, forging.document(case.right))
        assert report.ok
        assert report.bound == "re-proved"


@pytest.mark.parametrize("bound", forging.NO_NUMBERS)
def test_a_bound_that_is_no_number_is_refused_in_a_line(bound: float) -> None:
    from schedopt import check

    for case in forging.cases():
        forged = case.right | {"bound": bound, "objective": bound, "gap": 0.0}
        assert check(case.instance, forging.document(forged)).violations
