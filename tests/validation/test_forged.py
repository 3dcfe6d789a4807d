"""Forged results and certificates of every kind: the checker finds them all."""

from __future__ import annotations

from collections import Counter

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
