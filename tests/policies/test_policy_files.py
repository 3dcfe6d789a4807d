"""Policies of a user's own file: what it may do wrong, and where it can be run."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from builders.cli import ROOT

from schedopt import bench, evaluate
from schedopt.instances.errors import InputError
from schedopt.policies import registry
from schedopt.policies.from_file import load, load_only, read
from schedopt.sweep.rows import BenchRow
from schedopt.sweep.sources import generated_sources

NIGHT = ROOT / "instances" / "dssp" / "greedy-trap.json"
QUEUE = ROOT / "instances" / "msfq" / "small.json"
SELECTOR = """
import numpy as np
from schedopt.policies.dssp.selectors import selector

@selector("{name}", source="a test", summary="a test's own")
def own(items):
    fits = items.weights <= items.room
    chosen = np.zeros(fits.size, dtype=bool)
    chosen[np.flatnonzero(fits)[{which}]] = True
    return chosen
"""
RULE = """
from schedopt.policies.msfq import admission_rule

@admission_rule("any-fit", source="a test", summary="a test's own")
def any_fit(state):
    return next((job for job in state.jobs if job.need <= state.free), None)
"""


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    load_only(())


def write(folder: Path, text: str, name: str = "mine.py") -> Path:
    (folder / name).write_text(text)
    return folder / name


def gaps(rows: list[BenchRow]) -> list[tuple[str, float | None]]:
    return [(row.policy, row.objective) for row in rows]


def test_policy_file_is_evaluated(tmp_path: Path) -> None:
    mine = write(tmp_path, SELECTOR.format(name="mine", which=0))
    found = evaluate(NIGHT, "mine", policy_files=[mine])
    assert found.checked
    assert not found.violations
    queue = evaluate(QUEUE, "any-fit", policy_files=[write(tmp_path, RULE, "rule.py")], seed=2)
    assert queue.objective is not None
    assert "plain Python" in str(queue.message)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "x = 1\nimport no_such_module\n",
            r"line 2: found ModuleNotFoundError: .*Python that runs",
        ),
        ("x = 1\n\ndef f(:\n", r"line 3: found a syntax error"),
        ("raise SystemExit(3)\n", r"line 1: found SystemExit: '3'"),
        ("x = 1\n", "found none; expected policies"),
        (SELECTOR.format(name="greedy", which=0), r"line 5: .*has a policy 'greedy' already"),
    ],
)
def test_policy_file_that_fails_names_its_line(tmp_path: Path, text: str, says: str) -> None:
    before = registry.all_policies()
    mine = write(tmp_path, text)
    with pytest.raises(InputError, match=says) as caught:
        load(read(mine))
    assert str(mine) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert registry.all_policies() == before


DISPATCHER = """
from schedopt import dssp

@dssp.dispatcher("mine", source="a test", summary="a test's own")
def mine(night):
    return {returns}
"""
SHARES = """
from schedopt import hesrpt

@hesrpt.share_policy("mine", source="a test", summary="a test's own")
def mine(instance, jobs, left):
    return {returns}
"""
PACKING = """
from schedopt import epoch

@epoch.packing("mine", source="a test", summary="a test's own")
def mine(instance):
    return {returns}
"""


@pytest.mark.parametrize(
    ("text", "returns", "file", "objective"),
    [
        (SHARES, "[1 / left.size] * left.size", "example:twins", 0.894427191),
        (PACKING, "[[job] for job in range(len(instance.jobs))]", "example:fig7", 1400.0),
    ],
)
def test_policy_file_of_any_problem_needs_one_import(
    text: str, returns: str, file: str, objective: float, tmp_path: Path
) -> None:
    found = evaluate(file, "mine", policy_files=[write(tmp_path, text.format(returns=returns))])
    assert found.checked
    assert found.objective == pytest.approx(objective)


OWN = SELECTOR.format(name="mine", which=0).replace("return chosen", "return {returns}")
NOTHING = ["None", "[float('nan')] * 2", "[[1], [2, 3]]"]
RETURNED = [
    (OWN, "example:greedy-trap", "truth value for each item", NOTHING),
    (OWN, "example:greedy-trap", r"line 10: found NameError: .*no_name", ["chosen[no_name]"]),
    (DISPATCHER, "example:greedy-trap", "number for each job, or each task", NOTHING),
    (SHARES, "example:twins", "number for each job", NOTHING),
    (PACKING, "example:fig8", "returns a solution", NOTHING[:1]),
]


@pytest.mark.parametrize(("text", "file", "says", "returns"), RETURNED)
def test_policy_file_with_a_useless_return_is_refused(
    text: str, file: str, says: str, returns: list[str], tmp_path: Path
) -> None:
    for what in returns:
        mine = write(tmp_path, text.replace("{returns}", what))
        with pytest.raises(InputError, match=says) as caught:
            evaluate(file, "mine", policy_files=[mine])
        assert "\n" not in str(caught.value)


def test_policy_file_text_is_run_by_processes(tmp_path: Path) -> None:
    few = generated_sources("dssp", "uncorrelated", seeds=range(3), options={"jobs": 20})
    mine = write(tmp_path, SELECTOR.format(name="mine", which=0))
    words = {"generated": few, "policies": ["mine", "greedy"], "policy_files": [mine]}
    here = bench(**words)
    there = bench(**words, jobs=2)
    assert gaps(here) == gaps(there)
    assert {row.policy for row in there} == {"mine", "greedy"}
    assert [row.key for row in here] == [row.key for row in there]
    write(tmp_path, SELECTOR.format(name="mine", which=1))
    changed = bench(**words, jobs=2)
    assert gaps(changed) != gaps(here)
    both = {row.key for row in changed} & {row.key for row in here}
    assert both == {row.key for row in here if row.policy == "greedy"}
