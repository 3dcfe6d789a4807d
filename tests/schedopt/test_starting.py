"""How workers begin: as copies where that is safe, anew elsewhere, and never again and again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from schedopt.sweep.rows import Rows

ROOT = Path(__file__).parent.parent.parent
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies are for Linux")


def run(script: Path, text: str) -> subprocess.CompletedProcess[str]:
    script.write_text(text)
    return subprocess.run(
        [sys.executable, script],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


UNGUARDED = """
import threading
from schedopt import bench
from schedopt.sweep.sources import generated

threading.Thread(target=threading.Event().wait, daemon=True).start()  # so that nothing is copied
bench(generated=generated("dssp", seeds=range(40)), policies=["greedy"], jobs=2, output={output!r})
"""


def test_a_script_that_workers_would_run_again_is_told_so_once(tmp_path: Path) -> None:
    done = run(tmp_path / "script.py", UNGUARDED.format(output=str(tmp_path / "rows.jsonl")))
    assert done.returncode == 1
    assert done.stderr.count("Traceback") == 1, done.stderr
    assert done.stderr.splitlines()[-1].endswith(
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
    done = run(tmp_path / "script.py", COPIED.format(output=str(tmp_path / "rows.jsonl")))
    assert done.stderr == ""
    assert done.returncode == 0


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
