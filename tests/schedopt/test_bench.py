"""Bench: gaps, formats, processes, resuming, honest statistics, and calls from Python."""

import csv
import re
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
import pytest
from builders.cli import run
from builders.msfq import queue_of, random_jobs
from builders.refusals import raising
from builders.reports import row as some_row

import schedopt
from schedopt.analysis.statistics import against, overview, summary
from schedopt.analysis.tables import RowTable, leader, measured_tables
from schedopt.formats import percent
from schedopt.instances.constraints import FairShare
from schedopt.instances.epoch import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.examples import examples
from schedopt.instances.files import dump
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.registry import registered
from schedopt.problems import problem
from schedopt.report.pages import write_bench
from schedopt.solvers.result import better
from schedopt.sweep.measure import Sweep
from schedopt.sweep.rows import FORMATS, BenchRow, read_rows
from schedopt.sweep.sources import generated_sources, read_source
from schedopt.verbs.bench import BenchError, bench, plan_tasks
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
    alien = tmp_path / "rows.csv"
    alien.write_text("a,b\n")
    with pytest.raises(InputError, match="found another file"):
        bench(nights, policies=["greedy"], output=alien)


@pytest.mark.parametrize("jobs", [1, 2])
def test_bench_reports_bad_files_and_keeps_the_rows_of_others(
    nights: Path, tmp_path: Path, jobs: int
) -> None:
    bad, odd = tmp_path / "bad.json", tmp_path / "odd.json"
    bad.write_text('{"problem": "dssp"')
    odd.write_text('{"problem": "dssp", "name": "n", "processors": 0, "deadline": 1, "jobs": []}')
    with pytest.raises(BenchError) as caught:
        bench([bad, nights, odd], policies=["greedy"], jobs=jobs)
    assert len(caught.value.rows) == 5
    assert any("bad.json" in line for line in caught.value.failures)
    assert any("odd.json: processors" in line for line in caught.value.failures)
    assert len(caught.value.failures) == 2


def row(policy: str, seed: int, objective: float | None, **more: object) -> BenchRow:
    """Return a row of a queue whose optimum is 1."""
    known = {
        "instance": "i",
        "problem": "msfq",
        "reference": 1.0,
        "reference_bound": 1.0,
        "file": "f",
    }
    gap = None if objective is None else objective - 1
    return some_row(
        **known | {"policy": policy, "seed": seed, "objective": objective, "gap": gap} | more
    )


def test_against_pairs_replications_by_seed() -> None:
    draws = [1.1, 1.9, 1.3, 1.5, 1.2, 1.8, 1.7, 1.4, 1.6, 1.05, 1.15, 1.25]
    rows = [row("a", i, draw) for i, draw in enumerate(draws)]
    rows += [row("b", i, draw + 0.1) for i, draw in enumerate(draws)] + [row("c", 0, 1.35)]
    pair, other = against(rows, "a")
    assert (pair.compared, pair.better, pair.worse) == (12, 12, 0)
    assert pair.low < pair.mean < pair.high < 0.1
    assert (other.compared, other.better) == (12, sum(draw < 1.35 for draw in draws))
    low, high = next((s.low, s.high) for s in summary(rows) if s.contender == "a")
    assert low is not None and high is not None and low < high
    more = [row(p, s, 1.5 + s, file=f) for p in "ab" for s in (0, 1) for f in ("f", "g")]
    assert [pair.compared for pair in against(more, "a")] == [2]  # several instances are the unit


def test_summary_of_a_zero_reference_has_no_gap(tmp_path: Path) -> None:
    jobs = tuple(Job(name=f"j{i}", minimum=2) for i in range(2))
    alone = Instance(name="alone", nodes=4, inequity=0, jobs=jobs)
    path = tmp_path / "rows.jsonl"
    rows = [row("a", 0, 2.0, reference=0.0, gap=None), row("b", 0, 0.0, reference=0.0, gap=0.0)]
    path.write_bytes(b"\n".join(map(msgspec.json.encode, rows)) + b"\n")
    assert "reference 0" in run("summary", path).stdout
    (pair,) = against(rows, "b")
    assert (pair.better, pair.worse) == (1, 0)
    assert all(row.gap is None or row.gap < 1e6 for row in schedopt.bench(alone))


def test_bench_takes_instances_in_memory(tmp_path: Path) -> None:
    made = [source.load() for source in generated_sources("dssp", "uncorrelated", seeds=[1, 2])]
    rows = schedopt.bench(made, policies=["greedy", "core"], output=tmp_path / "rows.jsonl")
    assert [row.file for row in rows] == [made[0].name] * 2 + [made[1].name] * 2
    again = schedopt.bench(made[0], policies=["greedy"])
    assert again[0].objective == rows[0].objective
    (pair,) = against(rows, "core")
    assert (pair.compared, pair.worse) == (2, 0)
    assert against(read_rows(tmp_path / "rows.jsonl"), "core") == [pair]
    with pytest.raises(InputError, match="different names"):
        schedopt.bench([made[0], made[0]], policies=["greedy"])


# --- logs, whose gaps are over bounds ---

CLASSES = Path(__file__).parents[2] / "instances" / "msfq"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    draw = np.random.default_rng(1)
    n = 600
    jobs = Jobs.of(
        np.sort(draw.uniform(0, 6 * 604800.0, n)).round(),
        draw.integers(1, 9, n),
        draw.lognormal(8.5, 1.0, n).round() + 1,
        user=[str(u) for u in draw.integers(0, 5, n).tolist()],
    )
    path = tmp_path_factory.mktemp("logs") / "small.json"
    dump(queue_of(jobs, 8), path)
    return path


@pytest.fixture(scope="module")
def rows(log: Path) -> RowTable:
    names = ["fcfs", "easy", "saf", "adaptive-quickswap"]
    return schedopt.bench([log], policies=names)


def test_bench_plans_policies_for_logs_or_for_classes(log: Path) -> None:
    sweep = Sweep()

    def planned(path: Path) -> set[str]:
        (task,) = plan_tasks([read_source(path)], sweep)
        return {run.policy for run in task.runs}

    every = registered("msfq")
    on_logs, on_classes = planned(log), planned(next(CLASSES.glob("*.json")))
    assert on_logs | on_classes == set(every)
    assert {name for name in every if every[name].suits == "beside"} == on_logs - on_classes
    assert on_classes - on_logs == {"msfq", "two-threshold", "nmsr"}
    named = schedopt.bench([next(CLASSES.glob("*.json"))], policies=["easy"])
    assert [row.termination for row in named] == ["not-applicable"]


def test_table_and_page_of_a_log_show_the_gap_over_the_bound(
    rows: RowTable, tmp_path: Path
) -> None:
    (shown,) = measured_tables(rows)
    assert shown.heads[:4] == ("policy", "response", "over the bound", "± of batches")
    (standing, *_), bound = summary(rows), rows[0].reference_bound or 0.0
    over = (rows[0].objective or 0.0) / bound - 1
    assert next(cells[2] for cells in shown.texts() if cells[0] == "fcfs") == percent(over)
    assert (standing.contender, standing.mean) == ("fcfs", pytest.approx(over))
    best = min(rows, key=lambda row: row.objective or 0.0).policy
    assert shown.rows[0][0] == best
    assert leader(summary(rows), overview(rows)[0]).startswith(f"{best}: ")
    write_bench(rows, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    section = text[text.index("<h2>Measures") : text.index(": waits, usage and the queue")]
    assert "no schedule is below" in section
    assert len(re.findall("<tr>", section)) == 1 + 4


def test_evaluate_writes_starts_of_one_policy_only(log: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="one policy on one instance: 2 runs would write"):
        schedopt.evaluate(log, ["fcfs", "easy"], options={"starts": str(tmp_path / "s.csv")})
    with pytest.raises(InputError, match="2 runs would write"):
        schedopt.bench([log], policies=["fcfs", "saf"], options={"starts": str(tmp_path / "s.csv")})
    told = schedopt.evaluate(log, "fcfs", options={"starts": str(tmp_path / "s.csv")})
    assert told.confidence is msgspec.UNSET  # a replay is exact
    assert "by batch means" in run("evaluate", log, "--policy", "fcfs").stdout


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


def test_source_holds_the_log_of_its_instance(tmp_path: Path) -> None:
    original = queue_of(*random_jobs(7))
    dump(original, tmp_path / "a.json")
    source = read_source(tmp_path / "a.json")
    (tmp_path / "a.parquet").rename(tmp_path / "gone.parquet")
    moved: Any = source.load()
    assert moved.jobs.submit.tolist() == original.jobs.submit.tolist()
    dump(queue_of(*random_jobs(8, servers=original.servers)), tmp_path / "a.json")
    other = read_source(tmp_path / "a.json")
    assert other.digest != source.digest, "another log is another instance"
