"""What `bench` does beside solving: rows a second on a thousand tiny instances."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.table import Table

from benchmarks.timing import out, verdict
from schedopt import bench
from schedopt.problems import problem

INSTANCES, RUNS = 1000, 3
WANTED = {"one process": 1500.0, "two processes": 2800.0}


def rows() -> None:
    """Print instances a second: in one process, in two, and with two workers of Dask.

    A rate is that of a whole call of `bench`, the best of `RUNS`, in a process that has solved a
    few instances before, as a cluster's workers have: reading, planning and writing are in it, and
    so is starting the two processes. Below are whole commands, with starting Python and loading
    all that is compiled; they have no target. CPU time is this process's and that of processes
    that it has waited for: of a cluster's none.
    """
    table = Table(
        title=f"bench of greedy on {INSTANCES:,} tiny instances, each solved, checked and kept",
        title_justify="left",
    )
    for heading in ("by", "instances/s", "target", "CPU ms an instance"):
        table.add_column(heading, justify="left" if heading == "by" else "right")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = {
            "one process": _rate(folder, jobs=1),
            "two processes": _rate(folder, jobs=2),
            "two Dask workers": _dask(folder),
        }
        whole = {f"the command, --jobs {jobs}": _command(folder, jobs) for jobs in (1, 2)}
    alone = found["one process"][0]
    for by, (rate, milliseconds) in found.items():
        wanted = WANTED.get(by, alone)
        spent = "" if by == "two Dask workers" else f"{milliseconds:.2f}"
        table.add_row(by, f"{rate:,.0f}", f"{wanted:,.0f}", spent)
    for by, (rate, milliseconds) in whole.items():
        table.add_row(by, f"{rate:,.0f}", "", f"{milliseconds:.2f}")
    out.print(table)
    for by, (rate, _) in found.items():
        verdict(rate >= WANTED.get(by, alone), by)


def _rate(folder: Path, *, jobs: int = 1, cluster: str | None = None) -> tuple[float, float]:
    tiny = problem("dssp").tiny
    instances = folder / f"{jobs}-{cluster is None}"
    for name, count in (("warm", 4), ("rest", INSTANCES)):
        (instances / name).mkdir(parents=True)
        for i in range(count):
            text = tiny.replace(b'"tiny"', b'"%d"' % i)
            (instances / name / f"{i:04}.json").write_bytes(text)
    bench(instances / "warm", policies=["greedy"], cluster=cluster)
    found = []
    for run in range(RUNS):
        began, spent = time.perf_counter(), _cpu()
        output = instances / f"rows-{run}.jsonl"
        made = bench(
            instances / "rest", policies=["greedy"], jobs=jobs, cluster=cluster, output=output
        )
        seconds = time.perf_counter() - began
        assert len(made) == INSTANCES  # noqa: S101
        found.append((INSTANCES / seconds, 1e3 * (_cpu() - spent) / INSTANCES))
    return max(found)


def _command(folder: Path, jobs: int) -> tuple[float, float]:
    """Return the rate of a whole command on the instances of `_rate`, and its CPU time."""
    output = folder / f"command-{jobs}.jsonl"
    words = ("bench", f"{folder / '1-True' / 'rest'}", "--policy", "greedy", "--jobs", f"{jobs}")
    command = (sys.executable, "-m", "schedopt", *words, "--output", f"{output}")
    began, spent = time.perf_counter(), _cpu()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)  # noqa: S603
    return INSTANCES / (time.perf_counter() - began), 1e3 * (_cpu() - spent) / INSTANCES


def _cpu() -> float:
    """Return the CPU seconds of this process, and of those that it has waited for."""
    used = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in used)


def _dask(folder: Path) -> tuple[float, float]:
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        return _rate(folder, cluster=cluster.scheduler_address)


if __name__ == "__main__":
    rows()
