"""Forged results and certificates are found, field by field, or named as not recomputed in time."""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.effort import ALL, examples
from builders.msfq import at_load

from benchmarks import asking, forging, questions
from benchmarks.fuzzing import places
from schedopt import check, generate, solve
from schedopt.archive.judging import submit
from schedopt.instances import archived
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump
from schedopt.solvers.result import Result
from schedopt.validation import documents
from schedopt.validation.documents import reproves
from schedopt.validation.msfq import solved
from schedopt.validation.report import Report
from schedopt.verbs import stages


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


QUEUE = at_load(12, 0.6)


@pytest.fixture(scope="module")
def right() -> Result:
    return solve(QUEUE)


def checked(result: Result, seconds: float | None) -> Report:
    return documents.check(QUEUE, result.claim(), [], seconds)


def test_without_time_nothing_is_recomputed_and_the_bound_is_believed(right: Result) -> None:
    report = checked(right, 0.0)
    assert report.violations == []
    assert report.unchecked == ["curve: not recomputed in the time that there was"]
    assert report.bound == "believed, from queues"


@pytest.mark.parametrize("seconds", [None, 1e9])
def test_with_time_all_of_it_is(right: Result, seconds: float | None) -> None:
    report = checked(right, seconds)
    assert report.violations == report.unchecked == []
    assert report.bound == "re-proved"


def test_what_is_looked_at_first_is_the_threshold_and_beside_it(
    right: Result, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(solved, "MANY", 1e-9)  # time for some, and not for all
    monkeypatch.setattr(Report, "left", property(lambda _: 1.0))
    at, curve = right.solution.threshold, list(right.solution.curve)
    report = checked(right, 1.0)
    looked = len({at - 1, at, at + 1, 0, 3, 6, 9, 11} & set(range(12)))
    assert report.violations == []
    assert f"recomputed at {looked} of 12 thresholds in the time" in report.unchecked[0]
    assert report.bound.startswith("believed")
    curve[at] *= 1.001
    wrong = msgspec.structs.replace(right.solution, curve=tuple(curve))
    report = checked(msgspec.structs.replace(right, solution=wrong), 1.0)
    assert any("curve" in violation for violation in report.violations)


def test_seconds_add_up_to_what_a_solve_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = [0.0]

    def now() -> float:
        ticks[0] += 1
        return ticks[0]

    monkeypatch.setattr("schedopt.verbs.stages.now", now)
    seconds = solve(QUEUE, certificate=True, confirm=True).seconds
    known = msgspec.structs.asdict(seconds)
    known.pop("compile")
    assert None not in known.values()
    assert sum(s for s in known.values() if s) == ticks[0] - 1
    assert seconds.confirm
    assert seconds.certify
    assert not seconds.explain


def test_a_large_solution_is_not_checked_where_no_time_is_left_and_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    instance = generate("epoch", seed=1)
    result = solve(instance)
    wrong = msgspec.structs.replace(result, objective=1.5 * (result.objective or 1.0))
    claim = wrong.written(question=False)
    assert documents.check(instance, claim, [], 0.0).violations != []  # it is small
    monkeypatch.setattr(documents, "LARGE", 0)
    report = documents.check(instance, claim, [], 0.0)
    assert report.unchecked == ["the solution: no time was left; `schedopt check` has its own"]
    assert (report.late, report.bound) == (True, f"believed, from {result.solver}")
    assert documents.check(instance, claim, [], 1e9).violations != []
    monkeypatch.setattr(stages, "OVER", 0.0)
    late = solve(instance, time_limit=0.0)
    assert not late.checked
    assert "not checked: the solution" in str(late.message)
    assert late.solution is not None
