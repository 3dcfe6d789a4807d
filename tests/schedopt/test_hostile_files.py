"""Damaged, extreme and mutated files: answers stay right, or one line refuses them."""

import csv
import json
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import refused, started
from builders.effort import tried
from builders.mutated_files import STATUSES, attempt
from hypothesis import example
from hypothesis import strategies as st

import schedopt
from schedopt import evaluate, solve
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, parse
from schedopt.sweep.rows import BenchRow, table
from schedopt.sweep.sources import generated_sources
from schedopt.verbs.bench import bench
from schedopt.verbs.check import check_file

SHOTS = Path(__file__).parent.parent.parent / "instances" / "dssp" / "two-shots.json"


@pytest.fixture(scope="module")
def rows() -> list[BenchRow]:
    few = generated_sources("dssp", "uncorrelated", seeds=range(4), options={"jobs": 20})
    return bench(generated=few, policies=["greedy", "core"])


# --- damaged rows ----------------------------------------------------------------------------


def test_verbs_refuse_rows_that_are_cut_off(tmp_path: Path, rows: list[BenchRow]) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(table(rows, ".jsonl")[:-9])
    for words in (["summary", path], ["plot", path, "-o", tmp_path / "p.png"]):
        assert "of a sweep" in refused(*words)
    done = started("summary", path, status=2)
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("schedopt: ")


# --- cells -----------------------------------------------------------------------------------

NAMES = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(1)", "'quoted", "''", "plain", "\ttab", "'=x", "="]


def test_bench_csv_has_no_cell_that_is_a_formula(tmp_path: Path) -> None:
    paths = []
    for i, name in enumerate(NAMES):
        job = Job(name=name, reward=1, demand=1, critical_path=1, groups={name: name})
        paths.append(tmp_path / f"{i}.json")
        dump(Instance(name=name, processors=1, deadline=1, jobs=(job,)), paths[-1])
    output = tmp_path / "rows.csv"
    bench(paths, policies=["greedy", "random"], output=output)
    cells = [cell for line in csv.reader(StringIO(output.read_text())) for cell in line]
    assert not [cell for cell in cells if cell.startswith(("=", "+", "@", "\t", "\r"))]
    assert all(float(cell) <= 0 for cell in cells if cell.startswith("-"))


# --- what is beyond all measure ---------------------------------------------------------------


BUNDLED = ("two-shots", "constraints", "conflict", "greedy-trap", "predictions")
EXTREMES = (0, -0.0, 5e-324, 1e-308, 1e-12, 1e-7, 0.5, 3, 1e7, 2**33, 2**53, 1e15, 2**63, 1e308)
SELECTORS = ("greedy", "greedy-half", "greedy-three-quarters", "dp-profits", "fptas", "core")


def numbers(node: Any) -> Iterator[tuple[Any, Any]]:
    """Yield where each number stands, as (container, key)."""
    items = node.items() if isinstance(node, dict) else enumerate(node)
    for key, value in items:
        if isinstance(value, dict | list):
            yield from numbers(value)
        elif not isinstance(value, str):
            yield node, key


@example(name="greedy-trap", places=[5, 1, 1, 1], values=[5e-324, 0, 0, 3])
@example(name="greedy-trap", places=[5, 0, 2, 0], values=[5e-324, 0, 1e308, 3])
@example(name="constraints", places=[4], values=[5e-324, 0, 0, 0])
@example(name="constraints", places=[2], values=[5e-324, 0, 0, 0])
@tried(
    150,
    name=st.sampled_from(BUNDLED),
    places=st.lists(st.integers(0, 200), min_size=1, max_size=4),
    values=st.lists(st.sampled_from(EXTREMES), min_size=4, max_size=4),
)
def test_solvers_agree_on_extreme_numbers(
    name: str, places: list[int], values: list[float]
) -> None:
    document = msgspec.json.decode(Path(f"instances/dssp/{name}.json").read_bytes())
    found = list(numbers(document))
    for place, value in zip(places, values, strict=False):
        container, key = found[place % len(found)]
        container[key] = value
    try:
        night = parse(msgspec.json.encode(document))
    except InputError:
        return
    default, highs = solve(night), solve(night, solver="highs")
    for result in (default, highs):
        assert result.termination in ("optimal", "infeasible"), result
        assert result.violations == ()
        if result.bound is None and result.solution:  # rewards that differ by 1e15 and more
            assert "did not hold" in str(result.message)
        else:
            assert result.solution_status == ("optimal" if result.solution else "none")
    if default.objective is None or highs.objective is None:
        assert default.objective is highs.objective
    elif default.proven and highs.proven:
        assert default.objective == pytest.approx(highs.objective, rel=1e-9)
    for result in evaluate(night, SELECTORS):
        assert not any(
            v.startswith(("capacity", "deadline", "objective")) for v in result.violations
        )
        if not night.constraints and result.objective is not None:
            assert result.objective <= default.bound * (1 + 1e-9)


@pytest.mark.parametrize("kind", ["instance", "result"])
@tried(160, seed=st.integers(0, 2**31))
def test_mutated_files_end_as_the_contract_says(kind: str, seed: int) -> None:
    verb, ended, text = attempt(kind, seed)
    assert ended in STATUSES[verb], text


def test_check_reports_quotients_beyond_the_range_of_doubles(tmp_path: Path) -> None:
    night = schedopt.example("night")
    path = tmp_path / "result.json"
    dump(solve(night, options={"fill": 0.9}), path)
    document = json.loads(path.read_text())
    document["question"]["options"]["fill"] = document["options"]["fill"] = 5e-324
    path.write_text(json.dumps(document))
    ((_, report),) = check_file(night, path)
    assert any("range of doubles" in violation for violation in report.violations)
