"""What Python users call: loading results, benches of what is in memory, pairs of policies."""

from functools import partial
from pathlib import Path

import pytest

import schedopt
from schedopt.instances.errors import InputError
from schedopt.sweep.sources import generated
from tests.builders.cli import refused, run

POLICY = """
import numpy as np
from schedopt.policies.dssp.selectors import selector

@selector("mine-of-test", source="a test", summary="the first {count}")
def mine(items):
    chosen = np.zeros(items.weights.size, dtype=np.bool_)
    chosen[:{count}] = True
    return chosen
"""


def test_a_result_is_loaded_as_it_was_written(tmp_path: Path) -> None:
    path, night = tmp_path / "plan.json", schedopt.load("example:teams", problem="hesrpt")
    result = schedopt.solve(night)
    schedopt.dump(result, path)
    again = schedopt.load(path)
    assert again.objective == result.objective
    assert again.solution == result.solution
    with pytest.raises(InputError, match="expected an instance of dssp"):
        schedopt.load(path, problem="dssp")
    with pytest.raises(InputError, match="found 'hesrpt'; expected an instance of dssp"):
        schedopt.load("example:teams", problem="dssp")


def test_a_bench_takes_instances_in_memory_and_policies_are_compared(tmp_path: Path) -> None:
    made = [source.load() for source in generated("dssp", "uncorrelated", seeds=[1, 2])]
    rows = schedopt.bench(made, policies=["greedy", "core"], output=tmp_path / "rows.jsonl")
    assert [row.file for row in rows] == [made[0].name] * 2 + [made[1].name] * 2
    again = schedopt.bench(made[0], policies=["greedy"])
    assert again[0].objective == rows[0].objective
    (pair,) = schedopt.compare(rows, "core", "greedy")
    assert (pair.instances, pair.worse) == (2, 0)
    assert schedopt.compare(tmp_path / "rows.jsonl", "core", "greedy") == [pair]
    with pytest.raises(InputError, match="a name of its own"):
        schedopt.bench([made[0], made[0]], policies=["greedy"])


def test_an_instance_with_a_log_is_benched_from_memory() -> None:
    (source,) = generated("msfq", "lublin-feitelson", seeds=[1], options={"jobs": 50})
    (row,) = schedopt.bench(source.load(), policies=["fcfs"])
    assert row.objective is not None


def test_rows_of_other_policies_stay_when_ones_file_is_mended(tmp_path: Path) -> None:
    mine, rows = tmp_path / "mine.py", tmp_path / "rows.jsonl"
    what = ["--generate", "dssp/uncorrelated,seeds=1-2,jobs=20", "--policy", "greedy,mine-of-test"]
    words = ["bench", *what, "--policy-file", mine, "-o", rows]
    bench = partial(
        schedopt.bench,
        generated=generated("dssp", "uncorrelated", seeds=[1, 2], options={"jobs": 20}),
        policies=["greedy", "mine-of-test"],
        policy_files=[mine],
        output=rows,
    )
    mine.write_text(POLICY.format(count=1))
    run(*words)
    before = bench()
    mine.write_text(POLICY.format(count=2))
    run(*words)
    after = bench()
    assert [row for row in after if row.policy == "greedy"] == [
        row for row in before if row.policy == "greedy"
    ]
    assert all(
        now.objective != was.objective
        for was, now in zip(before, after, strict=True)
        if now.policy == "mine-of-test"
    )
    assert "with other options or contents" in refused(
        "bench", *what[:2], "--policy", "core", "-o", rows
    )
