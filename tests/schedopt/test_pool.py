"""Processes that begin, die, hang, and have no room to write: what is computed stays, once each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from builders.cli import COMMAND, ROOT, process, run
from builders.reports import timeless

from schedopt.formulations.constraints import Require
from schedopt.instances.dssp import Instance, Selected, selected
from schedopt.instances.errors import InputError
from schedopt.policies import registry
from schedopt.policies.registry import Policy
from schedopt.sweep.rows import BenchRow, read_lines, read_rows
from schedopt.sweep.sources import GeneratedSource, generated_sources
from schedopt.verbs.bench import BenchError, bench

NIGHTS = generated_sources("dssp", "uncorrelated", seeds=range(12), options={"jobs": 50})


def test_bench_replaces_killed_workers() -> None:
    killed: list[int] = []

    def kill_all(done: int, total: int) -> None:
        if done >= 3 and not killed:
            for child in multiprocessing.active_children():
                killed.append(child.pid or 0)
                os.kill(child.pid or 0, signal.SIGKILL)

    rows = bench(generated=NIGHTS, policies=["greedy", "core"], jobs=2, progress=kill_all)
    assert len(killed) == 2
    assert timeless(rows) == timeless(bench(generated=NIGHTS, policies=["greedy", "core"]))
    assert not multiprocessing.active_children()


# --- kill -9, and a full disk ----------------------------------------------------------------


def begun(*words: str, output: Path, rows: int) -> subprocess.Popen[str]:
    """Start a bench in a process group of its own, and wait until it has written some rows."""
    process = subprocess.Popen(
        [*COMMAND, "bench", *words, "--output", str(output)],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not output.exists() or output.read_bytes().count(b"\n") < rows:
        assert process.poll() is None
        time.sleep(0.005)
    return process


@pytest.mark.parametrize("jobs", [1, 2])
def test_killed_bench_loses_no_row(tmp_path: Path, jobs: int) -> None:
    output = tmp_path / "rows.jsonl"
    words = ["--generate", "dssp/render-night,seeds=1-12,nights=30,stages=false"]
    words += ["--policy", "greedy,core", "--jobs", str(jobs)]
    process = begun(*words, output=output, rows=3)
    process.kill()
    process.communicate()
    _all_gone(process.pid)
    kept = {row.key: row for row in read_lines(output, BenchRow, cut=True)}
    assert 3 <= len(kept) == output.read_bytes().count(b"\n") < 24
    run("bench", *words, "--output", output)
    rows = read_rows(output)
    assert len({row.key for row in rows}) == len(rows) == 24
    assert all(row == kept[row.key] for row in rows if row.key in kept)


def test_bench_interrupted_ends_all_processes_and_keeps_rows(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    words = ["--generate", "dssp/render-night,seeds=1-2000,stages=false", "--jobs", "2"]
    process = begun(*words, "--policy", "greedy", output=output, rows=3)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate()
    assert process.returncode == 130
    assert "greedy" in out, "what is done is shown"
    assert "run it again to continue" in err
    assert "Traceback" not in err
    _all_gone(process.pid)
    assert 3 <= len(read_rows(output)) < 2000


def _all_gone(group: int) -> None:
    """Make sure that the workers of a killed bench end after their present instances."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("its workers outlive it")


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
from schedopt.__main__ import main
sys.argv = ["schedopt", *{words!r}]
main()
"""


@pytest.mark.parametrize("suffix", (".jsonl", ".parquet"))
def test_bench_on_a_full_disk_keeps_valid_rows(tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"rows{suffix}"
    words = ["bench", "--generate", "dssp/uncorrelated,seeds=0-11,jobs=50"]
    words += ["--policy", "greedy", "--output", str(output)]
    script = FULL.format(bytes=2500, words=words)
    done = process(sys.executable, "-c", script, status=2)
    assert "expected room to write" in done.stderr.splitlines()[-1]
    journal = output if suffix == ".jsonl" else Path(f"{output}.jsonl")
    assert list(tmp_path.iterdir()) == [journal]
    kept = read_lines(journal, BenchRow, cut=True)
    assert 1 <= len(kept) < 12
    rows = bench(generated=NIGHTS, policies=["greedy"], output=output)
    assert len(rows) == 12
    assert rows[: len(kept)] == kept
    assert {*tmp_path.iterdir()} == {output, journal}
    assert read_rows(journal) == rows


UNGUARDED = """
from schedopt import bench
from schedopt.sweep.sources import generated_sources

nights = generated_sources("dssp", seeds=range(40))
bench(generated=nights, policies=["greedy"], jobs=2, output={output!r})
"""


def test_bench_in_an_unguarded_script_is_refused(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED.format(output=str(tmp_path / "rows.jsonl")))
    words = {"PYTHONPATH": str(ROOT)}
    said = process(sys.executable, script, status=1, env=words, timeout=600).stderr
    assert said.splitlines()[-1].endswith(
        "jobs: found one that ended before it was ready; expected processes that can begin: "
        'a script must call this under `if __name__ == "__main__":`'
    )


# --- policies that raise, exit or kill their process ----------------------------------------

SHOTS = ROOT / "instances" / "dssp" / "two-shots.json"


def raises(instance: Instance) -> Selected:
    raise ValueError("line\nafter line \x1b[31m")


def refuses(instance: Instance) -> Selected:
    raise InputError("another world", found="this one")


def exits(instance: Instance) -> Selected:
    if instance.name != "tiny":
        sys.exit("enough")
    return selected(instance, [])


def quits(instance: Instance) -> Selected:
    if instance.name != "tiny":
        os._exit(0)
    return selected(instance, [])


LOUD = [raises, refuses, exits]
QUITTING = [quits]
NAMES = [policy.__name__ for policy in LOUD + QUITTING]


def rig() -> None:
    for policy in LOUD + QUITTING:
        if policy.__name__ not in registry.registered("dssp"):
            registry.register(Policy(policy.__name__, "dssp", policy, "a test", "fails"))


@pytest.fixture(autouse=True)
def rigged() -> Iterator[None]:
    rig()
    yield
    for name in NAMES:
        del registry._POLICIES["dssp"][name]


@dataclass(frozen=True)
class Rigged(GeneratedSource):
    """An instance whose reading brings the policies into a worker's process."""

    def load(self) -> Any:
        rig()
        return super().load()


FEW = [Rigged("dssp", "uncorrelated", seed, {"jobs": 20}) for seed in (1, 2)]


def sound(row: BenchRow) -> bool:
    return row.termination == "completed" and row.gap is not None


def failed(row: BenchRow) -> bool:
    said = str(row.message)
    return row.termination == "error" and row.objective is None and "\n" not in said


def test_bench_records_policies_that_raise_or_exit(tmp_path: Path) -> None:
    names = ["greedy", *(policy.__name__ for policy in LOUD), "core"]
    output = tmp_path / "rows.jsonl"
    rows = bench(generated=FEW, policies=names, output=output)
    assert [row.policy for row in rows] == names * 2
    for row in rows:
        assert sound(row) if row.policy in ("greedy", "core") else failed(row)
        assert row.reference is not None
    messages = {row.policy: str(row.message) for row in rows}
    assert messages["raises"].startswith("ValueError: line\\nafter line \\x1b[31m")
    assert messages["refuses"] == "found this one; expected another world"
    assert messages["exits"] == "SystemExit: enough"
    assert read_rows(output) == rows
    assert bench(generated=FEW, policies=names, output=output) == rows


def test_bench_loses_only_the_row_of_a_policy_that_ends_its_process() -> None:
    with pytest.raises(BenchError) as caught:
        bench(generated=FEW[:1], policies=["greedy", "quits", "exits"], jobs=2)
    assert "its process died (quits)" in str(caught.value)
    assert [row.policy for row in caught.value.rows] == ["greedy", "exits"]
    assert [sound(row) for row in caught.value.rows] == [True, False]


def test_bench_refuses_unusable_instances_before_any_run() -> None:
    rule = Require(jobs=("nobody",))
    with pytest.raises(BenchError) as caught:
        bench([SHOTS], generated=FEW, policies=["greedy"], constraints=[rule])
    assert caught.value.rows == []
    assert len(caught.value.failures) == 3
