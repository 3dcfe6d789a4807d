"""Forged results and certificates of every kind: the checker finds them all."""

from collections import Counter
from pathlib import Path

import pytest
from builders.effort import ALL, examples

from benchmarks import forging, questions
from schedopt.archive.judging import submit
from schedopt.instances import archived
from schedopt.instances.files import dump
from schedopt.validation.documents import reproves


@pytest.mark.parametrize("row", forging.MADE)
def test_no_forgery_passes(row: str) -> None:
    found = Counter(forging.attempt(seed, row)[1] for seed in range(150))
    assert not [ended for ended in found if ended.startswith("passes")]
    assert found["found"] > 50
    assert row == "msfq" or any(case.worse is not None for case in forging.cases(row))


@pytest.mark.parametrize("row", forging.MADE)
def test_a_certificate_shows_no_more_than_the_optimum(row: str) -> None:
    """What re-proves the optimum as a bound is refused for one further on by a millionth."""
    for case in forging.cases(row):
        right, further = case.right, -1e-6 if row == "dssp" else 1e-6
        shown = right.get("certificate", {})
        beyond = right | {"bound": right["bound"] + further * max(1.0, abs(right["bound"]))}
        assert reproves(case.instance, forging.document(right), (), shown)
        if right["solution_status"] == "optimal":
            assert not reproves(case.instance, forging.document(beyond), (), shown)


def test_no_answer_to_another_question_passes() -> None:
    rows = questions.ROWS if ALL else ("dssp", "epoch")  # simulations take seconds to be loaded
    by_row, by_part = forging.of_questions(examples(200), rows)
    assert not [became for _, became in by_row if became.startswith("passes")]
    assert {row for row, became in by_row if became == "found"} == set(rows)
    parts = {"formulation", "options", "constraints", "instance", "certificate", "objective"}
    assert parts | {"solution", "claim", "question", "policy", "entry"} == {p for p, _ in by_part}


def test_an_honest_answer_is_taken_for_what_it_is(tmp_path: Path) -> None:
    with questions.an_archive(("dssp", "epoch", "hesrpt")) as known:
        for question in known.values():
            right = questions.answer(questions.Source(question)) or {}
            claim = questions.Forgery(right, question.of, question, frozenset())
            assert questions.judged(claim) == "true"
        file = tmp_path / "claim.json"
        dump(questions.answer(questions.Source(known["packing"])), file)
        taken = submit(archived.instance_path("epoch-packing/packing"), file, "a reader").entry
        assert taken is not None
        assert (taken.status, taken.gap) == ("proven", 0.0)


@pytest.mark.parametrize("row", forging.MADE)
def test_what_is_not_forged_passes(row: str) -> None:
    for case in forging.cases(row):
        report = forging.check(case.instance, forging.document(case.right))
        assert report.whole
        assert report.bound == "re-proved"


@pytest.mark.parametrize("bound", forging.NO_NUMBERS)
def test_a_bound_that_is_no_number_is_refused_in_a_line(bound: float) -> None:
    from schedopt import check

    for case in forging.cases():
        forged = case.right | {"bound": bound, "objective": bound, "gap": 0.0}
        assert check(case.instance, forging.document(forged)).violations
