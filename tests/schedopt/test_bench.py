"""Bench: gaps, formats, resuming, and statistics beside calculations done by hand."""

import csv
import itertools
import json
import statistics
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from builders.cli import refused, run
from builders.refusals import raising
from builders.reports import row as plain_row

import schedopt
from schedopt.analysis.statistics import (
    FEW,
    against,
    interval,
    summary,
)
from schedopt.instances.constraints import FairShare
from schedopt.instances.errors import InputError
from schedopt.instances.examples import examples
from schedopt.instances.files import dump
from schedopt.problems import problem
from schedopt.solvers.result import better
from schedopt.sweep.rows import FORMATS, BenchRow, read_rows
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


def test_bench_rows_equal_results_of_solve_and_evaluate(nights: Path) -> None:
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


def test_bench_gives_no_gap_to_policies_that_break_side_constraints(nights: Path) -> None:
    rule = FairShare(by="team", at_most={"lighting": 0.05}, name="cap")
    rows = bench(nights, policies=["greedy"], constraints=[rule])
    assert all(row.gap is None and "cap" in row.violations[0] for row in rows)
    assert all(row.reference < row.objective for row in rows if row.objective and row.reference)


@pytest.mark.parametrize("suffix", FORMATS)
def test_bench_resumes_and_writes_the_same_rows_in_every_format(
    nights: Path, tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / f"rows{suffix}"
    journal = output if suffix == ".jsonl" else Path(f"{output}.jsonl")
    rows = bench(nights, policies=POLICIES[:2], output=output)
    assert read_rows(journal) == rows
    assert {*tmp_path.iterdir()} == {output, journal}
    if suffix == ".csv":
        cells = [line["objective"] for line in csv.DictReader(output.read_text().splitlines())]
        assert [float(cell) for cell in cells] == [row.objective for row in rows]
    if suffix == ".parquet":
        assert pl.read_parquet(output).equals(rows.to_polars())
    more = bench(nights, policies=POLICIES, output=output)
    assert [row for row in more if row.policy != "core"] == rows

    monkeypatch.setattr(
        "schedopt.sweep.measure.evaluate", raising(AssertionError("computed again"))
    )
    assert bench(nights, policies=POLICIES, output=output) == more


def test_bench_refuses_to_overwrite_rows_of_another_sweep(nights: Path, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    bench(nights, policies=["greedy"], output=output)
    before = output.read_bytes()
    for other in ({"options": {"fill": 0.5}}, {"time_limit": 5.0}):
        with pytest.raises(InputError, match="rows of this bench"):
            bench(nights, policies=["greedy"], output=output, **other)  # type: ignore[arg-type]
    assert output.read_bytes() == before


def test_bench_reports_bad_files_and_keeps_the_rows_of_others(nights: Path, tmp_path: Path) -> None:
    bad, odd = tmp_path / "bad.json", tmp_path / "odd.json"
    bad.write_text('{"problem": "dssp"')
    odd.write_text('{"problem": "dssp", "name": "n", "processors": 0, "deadline": 1, "jobs": []}')
    with pytest.raises(BenchError) as caught:
        bench([bad, nights, odd], policies=["greedy"])
    assert len(caught.value.rows) == 5
    assert any("bad.json" in line for line in caught.value.failures)
    assert any("odd.json: processors" in line for line in caught.value.failures)
    assert len(caught.value.failures) == 2


@cache
def optimum(name: str, kind: str) -> Any:
    """Return the proven optimum of an example; None where there is none to be had quickly."""
    if examples()[name].problem == "msfq":  # simulated numbers lie on both sides of it
        return None
    try:
        best = schedopt.solve(schedopt.example(name), formulation=kind, time_limit=1)
    except schedopt.InputError:
        return None
    return best if best.proven else None


@pytest.mark.parametrize("name", examples())
def test_evaluate_of_every_policy_beats_no_proven_optimum(name: str, tmp_path: Path) -> None:
    instance, record = schedopt.example(name), problem(examples()[name].problem)
    names = list(record.policies())
    words: list[Any] = ["evaluate", f"example:{name}", "--policy", ",".join(names), "--json"]
    words += ["--output", tmp_path / "all.json"]
    words += ["--option", "arrivals=2000"] if record.name == "msfq" else []
    claims = msgspec.json.decode(run(*words, status=None).stdout)
    assert [claim["policy"] for claim in claims] == names
    assert msgspec.json.decode((tmp_path / "all.json").read_bytes()) == claims
    for claim in claims:
        if claim["objective"] is None or claim["violations"]:
            continue
        kind = {"tasks": "schedule", "rectangles": "rectangles"}
        asked = next((kind[part] for part in kind if part in claim["solution"]), None)
        best = optimum(name, asked or record.default_formulation(instance))
        if best is not None:
            near = claim["objective"] == pytest.approx(best.objective, rel=1e-6)
            assert near or not better(best.sense, claim["objective"], best.objective), claim


# --- statistics of rows ---


def row(instance: str, policy: str, objective: float | None, **more: Any) -> BenchRow:
    """Return a row whose reference is a proven 100, unless said otherwise."""
    reference = more.get("reference", 100.0)
    gap = None
    if objective is not None and reference is not None and not more.get("violations"):
        sign = 1 if more.get("problem", "dssp") == "dssp" else -1
        gap = sign * (reference - objective) / reference
    told = {"reference": 100.0, "gap": gap, "seconds": 1.0, "reference_seconds": 2.0}
    return plain_row(instance=instance, policy=policy, objective=objective, **(told | more))


ROWS = [
    row("one", "a", 100.0, seconds=0.5),
    row("one", "b", 90.0),
    row("two", "a", 80.0, seconds=1.5),
    row("two", "b", 80.0),
    row("three", "a", 50.0, reference_proven=False),
    row("three", "b", 99.0, violations=("too much",)),
    row("four", "a", None, termination="not-applicable"),
    row("four", "b", 70.0),
    row("five", "a", None, termination="time-limit"),
]


def test_summary_equals_hand_calculations() -> None:
    a, b = summary(ROWS)
    assert (a.problem, a.contender, a.runs, a.counted) == ("dssp", "a", 5, 3)
    assert (a.mean, a.median, a.worst) == (pytest.approx(0.7 / 3), 0.2, 0.5)
    assert (a.worst_instance, a.seconds) == ("three", 1.0)
    assert (a.instances, a.wins, a.at_optimum) == (4, 3, 1)  # nobody counts on five
    assert a.endings == {"not-applicable": 1, "time-limit": 1}
    assert (b.counted, b.mean, b.worst_instance) == (3, pytest.approx(0.2), "four")
    assert (b.wins, b.at_optimum, b.endings) == (2, 0, {"violations": 1})


def test_against_counts_wins_and_mean_advantage() -> None:
    rows = [row(f"i{i}", "a", v) for i, v in enumerate((90.0, 80.0, 100.0, 60.0))]
    rows += [row(f"i{i}", "b", v) for i, v in enumerate((100.0, 80.0, 50.0, 40.0))]
    (pair,), (other,) = (against(rows, name) for name in "ab")
    gains = [-0.1, 0.0, 0.5, 1 / 3]
    assert (pair.compared, pair.better, pair.same, pair.worse) == (4, 2, 1, 1)
    assert pair.mean == pytest.approx(statistics.mean(gains))
    assert (pair.low, pair.high) == interval([(gain,) for gain in gains])
    assert (other.better, other.worse, other.mean) == (1, 2, pytest.approx(-pair.mean))
    with pytest.raises(InputError, match="did you mean 'greedy'"):
        against([row("one", "greedy", 1.0)], "gredy")
    assert against([row("one", "a", 1.0), row("two", "b", 1.0)], "a") == []


def test_interval_resamples_whole_groups() -> None:
    groups = [(0.0, 0.2, 0.4), (1.0,), (0.3, 0.1), (0.6,)]
    found = interval(groups, level=0.8, resamples=100_000)
    means = [
        statistics.fmean(value for group in picked for value in group)
        for picked in itertools.product(groups, repeat=4)
    ]
    assert found == pytest.approx(np.quantile(means, [0.1, 0.9]), abs=0.01)
    assert interval(groups) == interval(groups)


def test_summary_has_intervals_from_ten_instances_on() -> None:
    rows = [plain_row(instance=str(i), policy="p", gap=i / 100) for i in range(FEW)]
    (few,), (enough,) = summary(rows[1:]), summary(rows)
    assert (few.low, few.high) == (None, None)
    assert enough.low < enough.mean < enough.high
    twice = [  # seeds of one instance are no further instances
        plain_row(instance=r.instance, policy="p", gap=r.gap, seed=s) for r in rows for s in (1, 2)
    ]
    (both,) = summary(twice)
    assert (both.low, both.high) == (pytest.approx(enough.low), pytest.approx(enough.high))


def test_summary_verb_prints_what_the_functions_return(nights: Path, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = bench(nights, output=file)
    words = ["summary", str(file), "--compare", "greedy"]
    told = json.loads(run(*words, "--json").stdout)
    assert told["summary"] == msgspec.to_builtins(summary(rows))
    assert told["pairs"] == msgspec.to_builtins(against(rows, "greedy"))
    assert "which is better" in run(*words).stdout
    names = [text.get_text() for text in schedopt.plot(file).axes[0].get_legend().get_texts()]
    assert "greedy" in names
    assert rows.to_polars()["policy"].to_list() == [row.policy for row in rows]
    for wrong in ([tmp_path / "missing.csv"], [file, "--compare", "gredy"]):
        assert refused("summary", *wrong)
