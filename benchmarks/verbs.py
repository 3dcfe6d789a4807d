"""What verbs cost as whole commands: starting, first solves, the rows of a bench."""

import os
import time
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import TemporaryDirectory

from benchmarks.tables import Measured, measurement, row, run
from benchmarks.timing import SCHEDOPT, command_cpu, used
from schedopt import bench, dump, generate
from schedopt.problems import problem, problems

STARTS = 5
INSTALLED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once and kept, ours as numpy's, as in every installation by pip."""

FIRST = 4.0  # CPU seconds that the first solve on a machine may take once `schedopt warm` has run
COLD, SMALL = 3.0, 0.5
"""CPU seconds asked of bundled examples where nothing is compiled, and of what is tiny."""
WARM, WARM_MB = 60.0, 500.0  # CPU seconds and memory asked of `schedopt warm`
FASTER = {200: 1.5, 3000: 1.8}  # how many times faster two processes are asked to be, by instances
INSTANCES, RUNS = 1000, 3
WANTED = {"one process": 1500.0, "two processes": 2800.0}  # instances a second


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
def first() -> Measured:
    """Print what a new machine takes: bundled examples, tiny files, warm, what is solved then."""
    yield "the first minute, with nothing compiled"
    with TemporaryDirectory() as name:
        for example in ("night", "teams", "one-or-all", "arrivals"):
            environment = {**INSTALLED, "NUMBA_CACHE_DIR": str(Path(name) / example)}
            seconds = command_cpu((*SCHEDOPT, "solve", f"example:{example}"), environment)
            yield row(f"solve example:{example}", seconds, "s of CPU", most=COLD)
        for record in problems():
            file = Path(name) / f"tiny-{record.name}.json"
            file.write_bytes(record.tiny)
            policy = next(iter(record.policies()))
            words = (*SCHEDOPT, "evaluate", f"{file}", "--policy", policy)
            seconds = command_cpu(words, {**INSTALLED, "NUMBA_CACHE_DIR": name})
            yield row(f"evaluate, {record.name}", seconds, "s of CPU", most=SMALL)
        environment = {**INSTALLED, "NUMBA_CACHE_DIR": str(Path(name) / "warm")}
        seconds = command_cpu((*SCHEDOPT, "warm"), environment)
        yield row("warm", seconds, "s of CPU", most=WARM)
        yield row("warm", getrusage(RUSAGE_CHILDREN).ru_maxrss / 1024, "MB", most=WARM_MB)
        for record in problems():
            file = Path(name) / f"{record.name}.json"
            dump(generate(record.name), file)
            words = (*SCHEDOPT, "solve", str(file), "--time-limit", "1")
            most = SMALL if record.name == "dssp" else FIRST
            yield row(f"then {record.name}", command_cpu(words, environment), "s of CPU", most=most)


@measurement
def pairs() -> Measured:
    """Print how many times faster the command `bench` is with two processes than with one."""
    yield "bench of tiny instances, --jobs 2 over one, whole commands by the clock"
    for count, least in FASTER.items():
        with TemporaryDirectory() as name:
            _tiny(Path(name) / "tiny", count)
            seconds = []
            for jobs in (1, 2):
                words = ("bench", f"{name}/tiny", "--policy", "greedy", "--jobs", f"{jobs}")
                began = time.perf_counter()
                command_cpu((*SCHEDOPT, *words, "--output", f"{name}/{jobs}.jsonl"), INSTALLED)
                seconds.append(time.perf_counter() - began)
            one, two = seconds
            yield row(f"{count:,} instances", one / two, "times", least=least)


@measurement
def rows() -> Measured:
    """Print instances a second: in one process, in two, and with two workers of Dask.

    A rate is that of a whole call of `bench`, the best of `RUNS`, in a process that has solved a
    few instances before, as a cluster's workers have: reading, planning and writing are in it, and
    so is starting the two processes; `pairs` has whole commands. CPU time is this process's and
    that of processes that it has waited for: of a cluster's none.
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


def _rate(folder: Path, jobs: int = 1, cluster: str | None = None) -> tuple[float, float | None]:
    for name, count in (("warm", 4), ("rest", INSTANCES)):
        _tiny(folder / name, count)
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


def _tiny(folder: Path, count: int) -> None:
    folder.mkdir(parents=True)
    for i in range(count):
        text = problem("dssp").tiny.replace(b'"tiny"', b'"%d"' % i)
        (folder / f"{i:04}.json").write_bytes(text)


if __name__ == "__main__":
    run(starting, first, rows, pairs)
