"""Processes that begin, die, hang, and have no room to write: what is computed stays, once each."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from builders.cli import ROOT, process
from builders.effort import ALL
from builders.reports import timeless

from schedopt.formulations.constraints import Constraint, FairShare
from schedopt.instances.dssp import Instance
from schedopt.instances.files import dump
from schedopt.sweep.measure import Task
from schedopt.sweep.plan import PlannedRun
from schedopt.sweep.rows import FORMATS, Row, Rows, read_rows
from schedopt.sweep.sources import FileSource, generated
from schedopt.sweep.workers import MOST_STARTS, Worker
from schedopt.verbs.bench import bench
from schedopt.verbs.generate import generate

FEW = generated("dssp", "uncorrelated", seeds=range(12), options={"jobs": 50})


def hard(folder: Path) -> Path:
    """Write an instance that HiGHS does not prove in any time that a test has."""
    night = generate("dssp", "strongly-correlated", seed=1, options={"jobs": 1000, "groups": 3})
    dump(night, folder / "hard.json")
    return folder / "hard.json"


RULE = FairShare(by="team", at_most={"team-01": 0.9})


class Endless(Constraint, frozen=True, kw_only=True, tag="endless"):
    """Stops the process that solves under it, which so never comes to its time limit."""

    def rows(self, night: Instance, capacity: float) -> Iterator[Any]:
        os.kill(os.getpid(), signal.SIGSTOP)
        yield from ()

    def broken(self, night: Instance, chosen: frozenset[str]) -> Iterator[str]:
        yield from ()


def test_killed_workers_are_replaced_and_nothing_is_lost() -> None:
    killed: list[int] = []

    def kill_all(done: int, total: int) -> None:
        if done >= 3 and not killed:
            for child in multiprocessing.active_children():
                killed.append(child.pid or 0)
                os.kill(child.pid or 0, signal.SIGKILL)

    rows = bench(generated=FEW, policies=["greedy", "core"], jobs=2, progress=kill_all)
    assert len(killed) == 2
    assert timeless(rows) == timeless(bench(generated=FEW, policies=["greedy", "core"]))
    assert not multiprocessing.active_children()


def test_an_instance_whose_process_always_dies_is_given_up(tmp_path: Path) -> None:
    source = FileSource(hard(tmp_path))
    run = PlannedRun("key", "greedy", 0, {})
    task = Task(source, source.digest(), (run,), (RULE,), time_limit=60.0)
    worker, deaths = Worker(), []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(0.05):
            for child in multiprocessing.active_children():
                if child.pid not in deaths:
                    deaths.append(child.pid)
                    os.kill(child.pid or 0, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    outcome = worker.compute(task, None)
    over.set()
    killer.join()
    worker.release()
    assert outcome.rows == []
    assert outcome.why == f"{source.label}: the worker was killed on every attempt (3)"
    assert len(deaths) == MOST_STARTS


def test_a_solver_that_hangs_is_ended_and_policies_go_on_without_it() -> None:
    words = {"constraints": {"dssp": [Endless()]}, "time_limit": 4.0, "grace": 2.0}
    words |= {"generated": [*FEW[:2], *generated("epoch", seeds=[1])]}
    policies = {"dssp": ["greedy", "core"], "epoch": ["paper-search"]}
    *rows, sound = bench(**words, policies=policies)  # type: ignore[arg-type]
    assert len(rows) == 4
    for row in rows:
        assert row.reference is None
        assert row.gap is None
        assert not row.reference_proven
        assert row.termination == "completed"
        assert row.objective is not None
        assert "no reference: its process was ended after 6 s" in str(row.message)
    assert sound.gap == 0


# --- kill -9, and a full disk ----------------------------------------------------------------


KILLS = 5 if ALL else 3
MOST_AT_ONCE = 6
"""Rows that a killed bench writes at most beyond those of the one before."""


def test_kill_9_at_random_moments_loses_and_doubles_nothing(tmp_path: Path) -> None:
    output, policies, instances = tmp_path / "rows.jsonl", "greedy,greedy-half,core", 6 * KILLS
    rule = tmp_path / "rule.json"
    rule.write_text('{"kind": "fair-share", "by": "team", "at_most": {"lighting": 0.3}}')
    said = ["--generate", f"dssp/render-night,seeds=1-{instances},nights=30,stages=false"]
    said += ["--policy", policies, "--constraints", str(rule)]
    command = [sys.executable, "-m", "schedopt", "bench", *said, "--output", str(output)]
    seed = random.randrange(10**9)  # noqa: S311
    print(f"moments drawn with seed {seed}")
    draw = random.Random(seed)  # noqa: S311
    kept: dict[str, Row] = {}
    for kill in range(KILLS):
        enough = len(kept) + draw.randint(1, MOST_AT_ONCE)
        process = subprocess.Popen(
            [*command, "--jobs", str(1 + kill % 2)],
            cwd=ROOT,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        while not output.exists() or output.read_bytes().count(b"\n") < enough:
            assert process.poll() is None
            time.sleep(0.005)
        time.sleep(draw.uniform(0.0, 0.05))
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        _all_gone(process.pid)
        found = {row.key: row for row in read_rows(output, cut=True)}
        assert len(found) < 3 * instances, f"kill {kill} came too late to show anything"
        assert kept.items() <= found.items(), "what was written once stays as it is"
        assert len(found) == output.read_bytes().count(b"\n"), "none twice"
        kept = found
    made = {"nights": 30, "stages": False}
    words = {
        "generated": generated("dssp", "render-night", seeds=range(1, instances + 1), options=made),
        "policies": policies.split(","),
        "constraints": {"dssp": [FairShare(by="team", at_most={"lighting": 0.3})]},
    }
    rows = bench(**words, output=output)
    assert rows == read_rows(output)
    assert len({row.key for row in rows}) == len(rows) == 3 * instances
    assert all(row == kept[row.key] for row in rows if row.key in kept)
    assert len(kept) < len(rows)
    assert timeless(bench(**words)) == timeless(rows)


def test_ctrl_c_ends_all_processes_and_keeps_what_is_done(tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"
    words = ["bench", "--generate", "dssp/render-night,seeds=1-2000,stages=false", "--jobs", "2"]
    words += ["--policy", "greedy", "--output", str(output)]
    process = subprocess.Popen(
        [sys.executable, "-m", "schedopt", *words],
        cwd=ROOT,
        start_new_session=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not output.exists() or output.read_bytes().count(b"\n") < 3:
        assert process.poll() is None
        time.sleep(0.005)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    out, err = process.communicate()
    assert process.returncode == 130
    assert out == ""
    assert "run it again to go on" in err
    assert "Traceback" not in err
    _all_gone(process.pid)
    assert 3 <= len(read_rows(output)) < 2000


def _all_gone(group: int) -> None:
    """Make sure that no process of a killed bench lives on."""
    for _ in range(500):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.01)
    raise AssertionError("its workers outlive it")


FULL = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, ({bytes}, {bytes}))
from schedopt.__main__ import main
sys.argv = ["schedopt", *{words!r}]
main()
"""


@pytest.mark.parametrize("suffix", FORMATS if ALL else (".jsonl", ".parquet"))
def test_a_full_disk_is_said_and_what_was_written_stays_valid(tmp_path: Path, suffix: str) -> None:
    output = tmp_path / f"rows{suffix}"
    words = ["bench", "--generate", "dssp/uncorrelated,seeds=0-11,jobs=50"]
    words += ["--policy", "greedy", "--output", str(output)]
    script = FULL.format(bytes=2500, words=words)
    done = process(sys.executable, "-c", script, status=2)
    assert "expected room to write" in done.stderr.splitlines()[-1]
    journal = output if suffix == ".jsonl" else Path(f"{output}.journal.jsonl")
    assert list(tmp_path.iterdir()) == [journal]
    kept = read_rows(journal)
    assert 1 <= len(kept) < 12
    rows = bench(generated=FEW, policies=["greedy"], output=output)
    assert len(rows) == 12
    assert rows[: len(kept)] == kept
    assert list(tmp_path.iterdir()) == [output]
    assert read_rows(output) == rows


LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies are for Linux")


def run(script: Path, text: str, status: int) -> str:
    """Run a script, and return what it says to standard error."""
    script.write_text(text)
    found = {"PYTHONPATH": str(ROOT)}
    return process(sys.executable, script, status=status, env=found, timeout=60).stderr


UNGUARDED = """
import threading
from schedopt import bench
from schedopt.sweep.sources import generated

threading.Thread(target=threading.Event().wait, daemon=True).start()  # so that nothing is copied
bench(generated=generated("dssp", seeds=range(40)), policies=["greedy"], jobs=2, output={output!r})
"""


def test_a_script_that_workers_would_run_again_is_told_so_once(tmp_path: Path) -> None:
    told = run(tmp_path / "script.py", UNGUARDED.format(output=str(tmp_path / "rows.jsonl")), 1)
    assert told.count("Traceback") == 1, told
    assert told.splitlines()[-1].endswith(
        "jobs: found one that ended before it was ready, with exit status 1; expected processes "
        'that can begin: a script must call this under `if __name__ == "__main__":`'
    )


COPIED = """
import os, signal, threading
import msgspec
from schedopt import bench
from schedopt.sweep import starting
from schedopt.sweep.sources import generated

begun, ours = [], starting.began


def began(serve, *, copied=False):
    found = ours(serve, copied=copied)
    begun.append((copied, found[0].pid))
    return found


def kill_one(done, total):
    if done == 0:
        os.kill(begun[0][1], signal.SIGKILL)


def timeless(rows):
    return [msgspec.structs.replace(row, seconds=0.0, reference_seconds=0.0) for row in rows]


if __name__ == "__main__":
    starting.began = began
    words = {{"generated": generated("dssp", seeds=range(40)), "policies": ["greedy", "core"]}}
    one = bench(**words)
    output = {output!r}
    assert timeless(bench(**words, jobs=2, output=output)) == timeless(one)
    assert [copied for copied, _ in begun] == [True, True]
    begun.clear()
    # The one that takes the place of a lost one begins anew: by then there are threads.
    assert timeless(bench(**words, jobs=2, progress=kill_one)) == timeless(one)
    assert [copied for copied, _ in begun] == [True, True, False]
    threading.Thread(target=threading.Event().wait, daemon=True).start()
    assert not starting.may_be_copied()
"""


@LINUX
def test_workers_are_copies_of_a_process_without_threads(tmp_path: Path) -> None:
    assert run(tmp_path / "script.py", COPIED.format(output=str(tmp_path / "rows.jsonl")), 0) == ""


@LINUX
def test_a_copy_does_not_hold_the_lock_of_the_rows(tmp_path: Path) -> None:
    rows = Rows(tmp_path / "rows.jsonl", ["key"])
    hear, tell = os.pipe()
    copy = os.fork()
    if copy == 0:
        held = {os.path.realpath(path) for path in Path("/proc/self/fd").iterdir()}
        os.write(tell, b"1" if str((tmp_path / "rows.jsonl").resolve()) in held else b"0")
        os._exit(0)
    os.waitpid(copy, 0)
    assert os.read(hear, 1) == b"0"
    os.close(hear)
    os.close(tell)
    assert rows.finish() == []
