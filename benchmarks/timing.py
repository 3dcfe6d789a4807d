"""What the speed tables share: timing, the machine, a table with targets."""

from __future__ import annotations

import gc
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from rich.console import Console

out = Console(width=100)


def best_of(repeats: int, work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time that a piece of work took, in seconds, and what it returned last."""
    shortest, done = float("inf"), None
    for _ in range(repeats):
        gc.collect()
        began = time.perf_counter()
        done = work()
        shortest = min(shortest, time.perf_counter() - began)
    return shortest, done


_VERDICTS: list[tuple[bool, str]] = []


def verdict(met: bool, target: str) -> None:
    """Say whether a target was met in this run, and keep it for `tally`."""
    _VERDICTS.append((met, target))
    out.print(f"{'[green]met[/]' if met else '[red]missed[/]'}: {target}\n", highlight=False)


def beside(what: str, found: float, wanted: float, before: float, unit: str) -> None:
    """Say whether a number is what it should be, and how many times as good as before."""
    better = found / before if wanted > before else before / found
    aim = wanted / before if wanted > before else before / wanted
    met = found >= wanted if wanted > before else found <= wanted
    told = f"{what}: {wanted:g} {unit}, {aim:.2g} times as fast as before ({before:g}); "
    verdict(met, f"{told}now {found:.3g}, {better:.2f} times")


def tally() -> None:
    """Say how many targets were met in this run, and name the others."""
    missed = [target for met, target in _VERDICTS if not met]
    out.print(f"{len(_VERDICTS) - len(missed)} of {len(_VERDICTS)} targets met", highlight=False)
    for target in missed:
        out.print(f"[red]missed[/]: {target}", highlight=False)


def agree(*values: float) -> None:
    """Stop the run where two methods give different optima: their times would mean nothing.

    Raises
    ------
    SystemExit
        With the values.
    """
    if max(values) - min(values) > 1e-9 * abs(max(values)):
        raise SystemExit(f"the methods disagree: {', '.join(map(repr, values))}")


def machine(*packages: str) -> str:
    """Describe what the numbers were measured on."""
    import os

    installed = ", ".join(f"{name} {version(name)}" for name in packages)
    system = (
        f"{platform.machine()}, {os.cpu_count()} processors, Python {platform.python_version()}"
    )
    return f"{system}; {installed}"
