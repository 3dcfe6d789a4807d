"""How long things take: by the clock, of the processor, of whole commands; on which machine."""

import gc
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import TypeVar

T = TypeVar("T")
SCHEDOPT = (sys.executable, "-m", "schedopt")


def best_of(repeats: int, work: Callable[[], T]) -> tuple[float, T]:
    """Return the shortest time that a piece of work took, in seconds, and what it returned last."""
    shortest = float("inf")
    for _ in range(repeats):
        gc.collect()
        began = time.perf_counter()
        done = work()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest, done


def spent(work: Callable[[], T]) -> tuple[float, T]:
    """Return the processor time of a piece of work, in seconds, and what it returned."""
    began = time.process_time()
    done = work()
    return time.process_time() - began, done


def cpu(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the least processor time of a piece of work, which is done once before."""
    work()
    return max(min(spent(work)[0] for _ in range(repeats)), 1e-9)


def used() -> float:
    """Return the CPU seconds of this process, and of those that it has waited for."""
    usage = [resource.getrusage(of) for of in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(part.ru_utime + part.ru_stime for part in usage)


def command_cpu(words: tuple[str, ...], environment: Mapping[str, str] | None = None) -> float:
    """Return the CPU seconds of a command."""
    before = used()
    subprocess.run(words, env=environment, capture_output=True, check=False)  # noqa: S603  our own
    return used() - before


def peak_mb() -> float:
    """Return the most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def agree(*values: float | None) -> None:
    """Stop the run where two methods give different optima: their times would mean nothing.

    Raises `SystemExit` with the values.
    """
    known = [value for value in values if value is not None]
    if known and max(known) - min(known) > 1e-9 * abs(max(known)):
        raise SystemExit(f"the methods disagree: {', '.join(map(repr, known))}")


def machine(*packages: str) -> str:
    """Describe what the numbers were measured on."""
    installed = ", ".join(f"{name} {version(name)}" for name in packages)
    system = (
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
    )
    return f"{system}; {installed}"
