"""A sweep on a Dask cluster: a real scheduler and real workers, on loopback."""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import pytest
from builders.reports import timeless
from distributed import LocalCluster

from schedopt.instances.errors import InputError
from schedopt.instances.files import dump
from schedopt.sweep import pool
from schedopt.sweep.measure import Sweep
from schedopt.sweep.sources import parse_generated
from schedopt.verbs.bench import bench, plan_tasks
from schedopt.verbs.generate import generate


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[LocalCluster]:
    how: dict[str, Any] = {"n_workers": getattr(request, "param", 1), "threads_per_worker": 1}
    how |= {"dashboard_address": None, "silence_logs": logging.CRITICAL}
    keys = {"scheduler.allowed-failures": 0, "comm.timeouts.connect": "2s"}
    configured = dask.config.set({f"distributed.{key}": value for key, value in keys.items()})
    with configured, LocalCluster(**how) as it:
        yield it


@pytest.mark.parametrize("cluster", [2], indirect=True)
def test_bench_on_a_cluster_that_loses_a_worker_gives_the_same_rows(
    cluster: LocalCluster, tmp_path: Path
) -> None:
    folder = tmp_path / "nights"
    folder.mkdir()
    dump(generate("dssp", seed=1, options={"nights": 1}), folder / "n.json.gz")
    dump(generate("epoch", seed=1), folder / "e.json")
    sweep = {
        "paths": folder,
        "generated": ["dssp/uncorrelated,seeds=0-6,jobs=50"],
        "policies": ["greedy", "core", "random", "heuristic-epoch"],
        "seeds": [3, 4],
    }
    one = bench(**sweep)  # type: ignore[arg-type]
    killed = []

    def kill_one(done: int, total: int) -> None:
        if done >= total // 3 and not killed:
            killed.append((done, total))
            os.kill(cluster.workers[0].pid, signal.SIGKILL)

    output = tmp_path / "rows.parquet"
    address = cluster.scheduler_address
    many = bench(**sweep, cluster=address, output=output, progress=kill_one)  # type: ignore[arg-type]
    assert killed[0][0] < killed[0][1] == 9
    assert timeless(many) == timeless(one)
    assert bench(**sweep, output=output) == many  # type: ignore[arg-type]


@pytest.mark.parametrize("cluster", [0], indirect=True)
def test_bench_refuses_an_address_without_a_cluster(cluster: LocalCluster) -> None:
    tasks = plan_tasks(parse_generated("dssp/uncorrelated"), Sweep(policies=["greedy"]))
    for address, words in (
        ("tcp://127.0.0.1:9", "Dask scheduler that answers"),
        (cluster.scheduler_address, "a cluster with workers"),
    ):
        with pytest.raises(InputError, match=words):
            list(pool.compute_tasks(tasks, 1, address, patience=1.0))


def test_bench_keeps_rows_when_the_scheduler_is_lost(cluster: LocalCluster, tmp_path: Path) -> None:
    output = tmp_path / "rows.jsonl"

    def close(done: int, total: int) -> None:
        if done == 3:
            cluster.sync(cluster.scheduler.close)

    words = {"generated": ["dssp/uncorrelated,seeds=0-11,jobs=50"], "policies": ["greedy"]}
    address = cluster.scheduler_address
    with pytest.raises(InputError, match="run again to go on"):
        bench(**words, output=output, cluster=address, progress=close)  # type: ignore[arg-type]
    assert 3 <= output.read_bytes().count(b"\n") < 12
    assert len(bench(**words, output=output)) == 12  # type: ignore[arg-type]
