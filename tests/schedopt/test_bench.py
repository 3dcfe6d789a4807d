"""Bench: gaps, formats, processes, resuming, and being killed."""

import time
from itertools import count
from pathlib import Path

import pytest
from builders.reports import timeless

from schedopt.formulations.constraints import FairShare
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, load
from schedopt.sweep.rows import FORMATS, Row, read_rows
from schedopt.sweep.sources import instance_files
from schedopt.verbs.bench import BenchError, bench
from schedopt.verbs.evaluate import evaluate
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

POLICIES = ["greedy", "greedy-half", "core"]


@pytest.fixture(scope="module")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("nights")
    for seed in range(5):
        dump(generate("dssp", seed=seed, options={"stages": False}), folder / f"n{seed}.json")
    (folder / "schema.json").write_text("{}")
    return folder


def test_rows_are_what_solve_and_evaluate_say(nights: Path) -> None:
    rows = bench(nights, policies=POLICIES)
    assert [(Path(row.file).name, row.policy) for row in rows] == [
        (f"n{seed}.json", policy) for seed in range(5) for policy in POLICIES
    ]
    for row in rows:
        optimum = solve(row.file)
        assert row.reference == row.reference_bound == optimum.objective
        assert row.reference_proven
        assert row.objective == evaluate(row.file, row.policy).objective
        assert row.gap == pytest.approx((row.reference - row.objective) / row.reference)
        assert row.gap >= 0
    assert all(row.gap == 0 for row in rows if row.policy == "core")
    assert any(row.gap > 0 for row in rows if row.policy == "greedy")


def test_policies_that_break_side_constraints_are_shown_and_have_no_gap(nights: Path) -> None:
    rule = FairShare(by="team", at_most={"lighting": 0.05}, name="cap")
    rows = bench(nights, policies=["greedy"], constraints=[rule])
    assert all(row.gap is None and "cap" in row.violations[0] for row in rows)
    assert all(row.reference < row.objective for row in rows if row.objective and row.reference)


def test_one_process_and_several_give_the_same_rows_in_the_same_order(nights: Path) -> None:
    one = bench(nights, policies=POLICIES)
    several = bench(nights, policies=POLICIES, jobs=3)
    assert timeless(one) == timeless(several)


@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_holds_the_same_rows_and_resumes(
    nights: Path, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / f"rows{suffix}"
    rows = bench(nights, policies=POLICIES[:2], output=output)
    assert read_rows(output) == rows
    assert list(tmp_path.iterdir()) == [output]
    more = bench(nights, policies=POLICIES, output=output)
    assert [row for row in more if row.policy != "core"] == rows

    def must_not_run(*args: object) -> list[Row]:
        raise AssertionError("computed again")

    monkeypatch.setattr("schedopt.sweep.measure.evaluate", must_not_run)
    assert bench(nights, policies=POLICIES, output=output) == more


@pytest.mark.parametrize("days", [1, -1])
def test_a_clock_that_jumps_changes_no_limit_and_no_row(
    nights: Path, tmp_path: Path, days: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "rows.jsonl"
    rows = bench(nights, policies=POLICIES[:1], output=output, time_limit=3600.0)
    right, looks = time.time, count()
    monkeypatch.setattr(time, "time", lambda: right() + 86_400 * days * (next(looks) % 2))
    more = bench(nights, policies=POLICIES[:2], output=output, time_limit=3600.0)
    assert [row for row in more if row.policy == POLICIES[0]] == rows
    assert all(row.reference_proven for row in more)
    hard = generate("hesrpt", "mixed", seed=1, options={"jobs": 18})
    late = solve(hard, time_limit=0.2)
    assert (late.termination, late.solution_status, late.checked) == (
        "time-limit",
        "feasible",
        True,
    )
    assert 0.0 <= late.seconds.solve < 86_400


def test_rows_of_another_sweep_are_never_overwritten(nights: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    bench(nights, policies=["greedy"], output=output)
    before = output.read_bytes()
    for other in ({"options": {"fill": 0.5}}, {"time_limit": 5.0}):
        with pytest.raises(InputError, match="rows of this very bench"):
            bench(nights, policies=["greedy"], output=output, **other)  # type: ignore[arg-type]
    assert output.read_bytes() == before


def test_two_benches_at_a_time_do_not_write_the_same_rows(nights: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"

    def another(done: int, total: int) -> None:
        with pytest.raises(InputError, match="no other bench is writing"):
            bench(nights, policies=["greedy"], output=output)

    assert len(bench(nights, policies=["greedy"], output=output, progress=another)) == 5
    assert output.read_bytes().count(b"\n") == 5


def test_a_line_that_was_cut_off_is_computed_again(nights: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    rows = bench(nights, policies=POLICIES, output=output)
    whole = output.read_bytes()
    output.write_bytes(whole[: len(whole) * 2 // 3])
    assert timeless(bench(nights, policies=POLICIES, output=output)) == timeless(rows)
    output.write_bytes(b'{"not": "a row"}\n')
    with pytest.raises(InputError, match="a row of a bench"):
        bench(nights, policies=POLICIES, output=output)


@pytest.mark.parametrize("jobs", [1, 2])
def test_bad_files_among_good_ones_harm_no_other(nights: Path, tmp_path: Path, jobs: int) -> None:
    bad, odd = tmp_path / "bad.json", tmp_path / "odd.json"
    bad.write_text('{"problem": "dssp"')
    odd.write_text('{"problem": "dssp", "name": "n", "processors": 0, "deadline": 1, "jobs": []}')
    with pytest.raises(BenchError) as caught:
        bench([bad, nights, odd], policies=["greedy"], jobs=jobs)
    assert len(caught.value.rows) == 5
    assert any("bad.json" in line for line in caught.value.failures)
    assert any("odd.json: processors" in line for line in caught.value.failures)
    assert len(caught.value.failures) == 2


def test_an_unproven_reference_is_said_to_be_one(tmp_path: Path) -> None:
    options = {"jobs": 1000, "groups": 3}
    dump(generate("dssp", "strongly-correlated", seed=1, options=options), tmp_path / "h.json")
    rule = FairShare(by="team", at_most={"team-01": 0.9})
    words = {"constraints": [rule], "time_limit": 0.5}
    (row,) = bench(tmp_path / "h.json", policies=["greedy"], **words)  # type: ignore[arg-type]
    assert not row.reference_proven
    assert row.reference_bound is not None
    assert row.reference is None or row.reference_bound > row.reference


def test_files_are_found_once_each(nights: Path) -> None:
    found = instance_files([nights, nights / "n0.json"])
    assert [path.name for path in found] == [f"n{seed}.json" for seed in range(5)]
    with pytest.raises(InputError, match="a file that exists"):
        instance_files(["no-such-folder"])


def test_load_is_the_function_of_the_package() -> None:
    import schedopt

    assert schedopt.load is schedopt.verbs.load.load
    assert schedopt.load("example:teams") == load("example:teams")
    assert schedopt.solve is solve
    assert set(schedopt.__all__) <= set(dir(schedopt))
    with pytest.raises(AttributeError):
        schedopt.no_such_verb  # noqa: B018
