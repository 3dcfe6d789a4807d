"""What verbs cost as whole commands: starting, first solves, time limits, the rows of a bench."""

from __future__ import annotations

import json
import os
import subprocess
import time
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import SCHEDOPT, command_cpu, used
from schedopt import bench, dump, generate
from schedopt.problems import problem, problems

STARTS = 5
INSTALLED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once and kept, ours as numpy's, as in every installation by pip."""

LIMIT = 2.0
OVER, SHARE = 0.5, 0.02
"""What a run may pass its limit by: seconds, and a share of the limit."""

MOST = 120.0
"""Seconds after which a run that does not end is ended."""

FIRST = 4.0
"""CPU seconds that the first solve on a machine may take once `schedopt warm` has run."""

HARD = (
    ("dssp", "render-night", {"nights": 56, "processors": 1000}, "selection"),
    ("dssp", "render-night", {"nights": 56, "processors": 1000}, "schedule"),
    ("hesrpt", "mixed", {"jobs": 16}, "allocation"),
    ("epoch", "planted", {"epochs": 32, "inequity": 6}, "partition"),
    ("msfq", "one-or-all", {"k": 16, "load": 0.95}, "optimal-policy"),
)
"""Instances that take longer than the limit: problem, generator, its options, formulation."""

INSTANCES, RUNS = 1000, 3
WANTED = {"one process": 1500.0, "two processes": 2800.0}
"""Instances a second."""


@measurement
def starting() -> Measured:
    """Print what verbs cost on a tiny instance, as multiples of what they are held against."""
    yield "starting, CPU time of the process"
    python, *module = SCHEDOPT
    with TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.json"
        tiny.write_bytes(problems()[0].tiny)
        base: dict[str, float] = {}
        for name, words, beside, target in (
            ("import numpy", ("-c", "import numpy"), "", 0.0),
            ("--help", (*module, "--help"), "", 0.0),
            ("schedopt solve", (*module, "solve", f"{tiny}"), "import numpy", 4.0),
            ("schedopt list", (*module, "list"), "--help", 2.0),
        ):
            spent = [command_cpu((python, *words), INSTALLED) for _ in range(STARTS + 1)]
            base[name] = min(spent[1:])
            yield row(name, 1e3 * base[name], "ms")
            if beside:
                yield row(f"{name} over {beside}", base[name] / base[beside], most=target)


@measurement
def limits() -> Measured:
    """Print how far runs pass their limit, with kernels to compile and with compiled ones."""
    yield f"solve --time-limit {LIMIT:g}"
    worst = 0.0
    with TemporaryDirectory() as name:
        for number, (problem, generator, options, formulation) in enumerate(HARD):
            file = Path(name) / f"{number}.json"
            dump(generate(problem, generator, options=options), file)
            for state in ("to compile", "compiled"):
                spent = _solved(file, Path(name) / f"kernels-{number}", formulation)
                over = spent["build"] + spent["solve"] - LIMIT
                worst = max(worst, over)
                beside = {
                    f"{part} s": spent.get(part, 0.0) for part in ("compile", "build", "solve")
                }
                yield row(f"{problem} {formulation}, {state}", max(over, 0.0), "s over", **beside)
    yield row("worst", worst, "s over", most=OVER + SHARE * LIMIT)


def _solved(file: Path, cache: Path, formulation: str) -> dict[str, float]:
    words = ("solve", str(file), "--formulation", formulation, "--time-limit", str(LIMIT), "--json")
    try:
        done = subprocess.run(  # noqa: S603  ours
            [*SCHEDOPT, *words],
            env={**os.environ, "NUMBA_CACHE_DIR": str(cache)},
            capture_output=True,
            timeout=MOST,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"build": 0.0, "solve": MOST}
    seconds: dict[str, float] = json.loads(done.stdout)["seconds"]
    return seconds


@measurement
def first() -> Measured:
    """Print the CPU time of each problem's first solve, after `schedopt warm` in an empty cache."""
    yield "the first solve of a fresh machine, after warm"
    with TemporaryDirectory() as name:
        environment = {**os.environ, "NUMBA_CACHE_DIR": name}
        seconds = command_cpu((*SCHEDOPT, "warm"), environment)
        yield row("warm itself, once", seconds, "s of CPU")
        for record in problems():
            file = Path(name) / f"{record.name}.json"
            dump(generate(record.name), file)
            words = (*SCHEDOPT, "solve", str(file), "--time-limit", "1")
            yield row(record.name, command_cpu(words, environment), "s of CPU", most=FIRST)


@measurement
def rows() -> Measured:
    """Print instances a second: in one process, in two, and with two workers of Dask.

    A rate is that of a whole call of `bench`, the best of `RUNS`, in a process that has solved a
    few instances before, as a cluster's workers have: reading, planning and writing are in it, and
    so is starting the two processes. Below are whole commands, with starting Python and loading
    all that is compiled; they have no target. CPU time is this process's and that of processes
    that it has waited for: of a cluster's none.
    """
    from distributed import LocalCluster

    yield f"bench of greedy on {INSTANCES:,} tiny instances, each solved, checked and kept"
    with TemporaryDirectory() as name:
        folder = Path(name)
        rates = {
            "one process": _rate(folder / "one", jobs=1),
            "two processes": _rate(folder / "two", jobs=2),
        }
        with LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster:
            rate, _ = _rate(folder / "dask", cluster=cluster.scheduler_address)
            rates["two Dask workers"] = rate, None
        for by, (rate, milliseconds) in rates.items():
            wanted = WANTED.get(by, rates["one process"][0])
            yield row(by, rate, "instances/s", least=wanted, CPU_ms_each=milliseconds)
        for jobs in (1, 2):
            rate, milliseconds = _command(folder, jobs)
            by = f"the command, --jobs {jobs}"
            yield row(by, rate, "instances/s", CPU_ms_each=milliseconds)


def _rate(folder: Path, jobs: int = 1, cluster: str | None = None) -> tuple[float, float | None]:
    tiny = problem("dssp").tiny
    for name, count in (("warm", 4), ("rest", INSTANCES)):
        (folder / name).mkdir(parents=True)
        for i in range(count):
            text = tiny.replace(b'"tiny"', b'"%d"' % i)
            (folder / name / f"{i:04}.json").write_bytes(text)
    work = partial(bench, policies=["greedy"], jobs=jobs, cluster=cluster)
    work(folder / "warm")
    rates: list[tuple[float, float | None]] = []
    for number in range(RUNS):
        began, spent = time.perf_counter(), used()
        made = work(folder / "rest", output=folder / f"rows-{number}.jsonl")
        seconds = time.perf_counter() - began
        assert len(made) == INSTANCES  # noqa: S101
        rates.append((INSTANCES / seconds, 1e3 * (used() - spent) / INSTANCES))
    return max(rates)


def _command(folder: Path, jobs: int) -> tuple[float, float]:
    """Return the rate of a whole command on the instances of `_rate`, and its CPU time."""
    output = folder / f"command-{jobs}.jsonl"
    words = ("bench", f"{folder / 'one' / 'rest'}", "--policy", "greedy", "--jobs", f"{jobs}")
    began = time.perf_counter()
    spent = command_cpu((*SCHEDOPT, *words, "--output", f"{output}"))
    return INSTANCES / (time.perf_counter() - began), 1e3 * spent / INSTANCES


if __name__ == "__main__":
    run(starting, limits, first, rows)
