"""Processes that die, hang, and have no room to write: what is computed stays, once each."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from builders.cli import COMMAND, ROOT, process, run
from builders.reports import timeless

from schedopt.policies.from_file import load_only
from schedopt.sweep.rows import BenchRow, read_lines, read_rows
from schedopt.sweep.sources import generated_sources
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


def begun(*words: str, output: Path) -> subprocess.Popen[str]:
    """Start a bench in a process group of its own, and wait until it has written some rows."""
    process = subprocess.Popen(
        [*COMMAND, "bench", *words, "--policy", "greedy", "--jobs", "2", "--output", str(output)],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not output.exists() or output.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        time.sleep(0.005)
    return process


def _all_gone(group: int) -> None:
    """Make sure that the workers of a killed bench end too."""
    for _ in range(600):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    raise AssertionError("its workers outlive it")


def test_killed_bench_loses_no_row(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    words = ["--generate", "dssp/render-night,seeds=1-20,nights=30,stages=false"]
    process = begun(*words, output=output)
    process.kill()
    process.communicate()
    _all_gone(process.pid)
    kept = {row.key: row for row in read_lines(output, BenchRow, cut=True)}
    assert 3 <= len(kept) == output.read_bytes().count(b"\n") < 20
    run("bench", *words, "--policy", "greedy", "--output", output)
    rows = read_rows(output)
    assert len({row.key for row in rows}) == len(rows) == 20
    assert all(row == kept[row.key] for row in rows if row.key in kept)


def test_bench_interrupted_ends_all_processes_and_keeps_rows(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    words = ["--generate", "dssp/render-night,seeds=1-2000,stages=false"]
    process = begun(*words, output=output)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate()
    assert process.returncode == 130
    assert "greedy" in out, "what is done is shown"
    assert "run it again to continue" in err
    assert "Traceback" not in err
    _all_gone(process.pid)
    assert 3 <= len(read_rows(output)) < 2000


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (2500, 2500))
from schedopt.__main__ import main
sys.argv = ["schedopt", *{words!r}]
main()
"""


def test_bench_on_a_full_disk_keeps_valid_rows(tmp_path: Path) -> None:
    output, journal = tmp_path / "rows.parquet", tmp_path / "rows.parquet.jsonl"
    words = ["bench", "--generate", "dssp/uncorrelated,seeds=0-11,jobs=50"]
    words += ["--policy", "greedy", "--output", str(output)]
    done = process(sys.executable, "-c", FULL.format(words=words), status=2)
    assert "expected room to write" in done.stderr.splitlines()[-1]
    kept = read_lines(journal, BenchRow, cut=True)
    assert 1 <= len(kept) < 12
    rows = bench(generated=NIGHTS, policies=["greedy"], output=output)
    assert len(rows) == 12
    assert rows[: len(kept)] == kept
    assert read_rows(journal) == rows


# --- policies that raise, exit or kill their process ----------------------------------------

RIGGED = r"""
import os, sys
from schedopt.instances.errors import InputError
from schedopt.policies.dssp.selectors import selector

@selector("raises", source="a test", summary="fails")
def raises(items):
    raise ValueError("line\nafter line \x1b[31m")

@selector("refuses", source="a test", summary="fails")
def refuses(items):
    raise InputError("another world", found="this one")

@selector("exits", source="a test", summary="fails")
def exits(items):
    sys.exit("enough")

@selector("quits", source="a test", summary="fails")
def quits(items):
    os._exit(0)
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_bench_loses_only_the_rows_of_policies_that_fail(tmp_path: Path, jobs: int) -> None:
    file, output = tmp_path / "rigged.py", tmp_path / "rows.jsonl"
    file.write_text(RIGGED)
    names = ["greedy", "raises", "refuses", "exits", *["quits"] * (jobs > 1), "core"]
    words = {"policies": names, "policy_files": [file], "output": output, "jobs": jobs}
    try:
        rows = bench(generated=NIGHTS[:1], **words)  # type: ignore[arg-type]
    except BenchError as error:
        assert "its process died (quits)" in str(error)
        rows = error.rows
    load_only(())
    assert [row.policy for row in rows] == ["greedy", "raises", "refuses", "exits", "core"]
    for row in rows:
        assert row.reference is not None
        sound = row.termination == "completed" and row.gap is not None
        failed = row.termination == "error" and row.objective is None
        assert sound if row.policy in ("greedy", "core") else failed
        assert "\n" not in str(row.message)
    assert "ValueError: 'line\\nafter line \\x1b[31m'" in str(rows[1].message)
    assert rows[2].message == "found this one; expected another world"
    assert "SystemExit: 'enough'" in str(rows[3].message)
    assert read_rows(output) == rows
