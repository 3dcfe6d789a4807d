"""A sweep on a Dask cluster: a real scheduler and real workers, on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from builders.reports import timeless

from schedopt.instances.errors import InputError
from schedopt.instances.files import dump
from schedopt.policies.from_file import load_only
from schedopt.sweep import pool
from schedopt.sweep.measure import Sweep
from schedopt.sweep.sources import parse_generated
from schedopt.verbs.bench import BenchError, bench, plan_tasks
from schedopt.verbs.generate import generate

COMMAND = [sys.executable, "-m", "distributed.cli.dask_"]
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}


@dataclass
class Cluster:
    """A scheduler, and workers that come and go."""

    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]]

    @property
    def address(self) -> str:
        return str(json.loads((self.folder / "scheduler.json").read_text())["address"])

    def hire(self, *flags: str) -> None:
        words = ["--scheduler-file", str(self.folder / "scheduler.json"), "--host", "127.0.0.1"]
        words += ["--nthreads", "1", "--no-dashboard", "--local-directory", str(self.folder)]
        command = [*COMMAND[:2], f"{COMMAND[2]}worker", *words, *flags]
        self.workers.append(subprocess.Popen(command, **QUIET))  # type: ignore[call-overload]


@pytest.fixture
def cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    file = tmp_path / "dask" / "scheduler.json"
    file.parent.mkdir()
    words = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file)]
    command = [*COMMAND[:2], f"{COMMAND[2]}scheduler", *words]
    found = Cluster(file.parent, subprocess.Popen(command, **QUIET), [])  # type: ignore[call-overload]
    for _ in range(600):
        if file.exists() and file.read_text().strip():
            break
        time.sleep(0.05)
    yield found
    for process in (*found.workers, found.scheduler):  # each with all that it has started
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_bench_on_a_cluster_that_loses_a_worker_gives_the_same_rows(
    cluster: Cluster, tmp_path: Path
) -> None:
    folder = tmp_path / "nights"
    folder.mkdir()
    for seed in range(2):
        dump(generate("dssp", seed=seed, options={"nights": 1}), folder / f"n{seed}.json.gz")
    dump(generate("epoch", seed=1), folder / "e.json")
    sweep = {
        "paths": folder,
        "generated": ["dssp/uncorrelated,seeds=0-5,jobs=50"],
        "policies": ["greedy", "core", "random", "heuristic-epoch"],
        "seeds": [3, 4],
    }
    one = bench(**sweep)  # type: ignore[arg-type]
    for _ in range(2):
        cluster.hire("--no-nanny")
    killed = []

    def kill_one(done: int, total: int) -> None:
        if done >= total // 3 and not killed:
            killed.append((done, total))
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    output = tmp_path / "rows.parquet"
    many = bench(**sweep, cluster=cluster.address, output=output, progress=kill_one)  # type: ignore[arg-type]
    assert killed[0][0] < killed[0][1] == 9
    assert cluster.workers[0].wait(10) == -signal.SIGKILL
    assert timeless(many) == timeless(one)
    assert bench(**sweep, output=output) == many  # type: ignore[arg-type]


QUITS = """
import os
import numpy as np
from schedopt.policies.dssp.selectors import selector

@selector("mine", source="a test", summary="a test's own")
def own(items):
    return np.arange(items.weights.size) == int(np.flatnonzero(items.weights <= items.room)[0])

@selector("quits", source="a test", summary="ends its process")
def quits(items):
    os._exit(1)
"""


def test_bench_on_a_cluster_loses_only_the_row_of_a_policy_that_ends_its_worker(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.hire()
    file = tmp_path / "quits.py"
    file.write_text(QUITS)
    words = {"generated": ["dssp/uncorrelated,jobs=20"], "policy_files": [file]}
    here = bench(**words, policies=["greedy", "mine"])  # type: ignore[arg-type]
    with pytest.raises(BenchError) as caught:
        bench(**words, policies=["greedy", "quits", "mine"], cluster=cluster.address)  # type: ignore[arg-type]
    load_only(())
    assert timeless(caught.value.rows) == timeless(here)
    assert "(quits)" in str(caught.value)


def test_bench_refuses_an_address_without_a_cluster(cluster: Cluster) -> None:
    tasks = plan_tasks(parse_generated("dssp/uncorrelated"), Sweep(policies=["greedy"]))
    for address, words in (
        ("tcp://127.0.0.1:9", "Dask scheduler that answers"),
        ("not an address", "Dask scheduler that answers"),
        (cluster.address, "a cluster with workers"),
    ):
        with pytest.raises(InputError, match=words):
            list(pool.compute_tasks(tasks, 1, address, patience=1.0))


def test_bench_keeps_rows_when_the_scheduler_is_lost(cluster: Cluster, tmp_path: Path) -> None:
    cluster.hire("--no-nanny")
    output = tmp_path / "rows.jsonl"

    def kill(done: int, total: int) -> None:
        if done == 3:
            cluster.scheduler.kill()

    words = {"generated": ["dssp/uncorrelated,seeds=0-11,jobs=50"], "policies": ["greedy"]}
    with pytest.raises(InputError, match="run again to go on"):
        bench(**words, output=output, cluster=cluster.address, progress=kill)  # type: ignore[arg-type]
    assert 3 <= output.read_bytes().count(b"\n") < 12
    assert len(bench(**words, output=output)) == 12  # type: ignore[arg-type]
