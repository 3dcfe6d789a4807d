"""Compiled kernels: never out of date, the same for every copy, and not on a solver's time."""

from __future__ import annotations

import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from solvers.clock import Stopwatch, compiling, now
from solvers.compiling import digest, njit

CALLEE = """
from solvers.compiling import njit
LIMIT = {limit}

@njit
def callee(x):
    return x + {added}
"""
CALLER = """
from solvers.compiling import njit
from callee import LIMIT, callee

@njit
def caller(x):
    return callee(x) * LIMIT
"""


def loaded(folder: Path, name: str, text: str) -> ModuleType:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(text)
    spec = importlib.util.spec_from_file_location(name, folder / f"{name}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def made(folder: Path, limit: int = 3, added: int = 1) -> str:
    loaded(folder, "callee", CALLEE.format(limit=limit, added=added))
    return digest(vars(loaded(folder, "caller", CALLER)))


def test_copies_share_what_is_compiled_and_a_changed_callee_does_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("callee", "caller"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    first = made(tmp_path / "first")
    assert made(tmp_path / "second") == first
    assert len({first, made(tmp_path / "third", added=2), made(tmp_path / "fourth", limit=4)}) == 3


def test_the_clock_of_limits_stands_still_while_a_kernel_is_compiled() -> None:
    @njit
    def kernel(x: float) -> float:
        return x * 2.0

    before, ticks, wall = compiling.seconds(), now(), time.perf_counter()
    assert kernel(3.0) == 6.0
    spent = compiling.seconds() - before
    assert spent > 0
    assert (now() - ticks) + spent == pytest.approx(time.perf_counter() - wall, abs=0.05)


def test_what_is_entered_again_counts_once() -> None:
    watch = Stopwatch()
    watch.start()
    watch.start()
    watch.stop()
    inner = watch.spent
    assert inner == 0 < watch.seconds()
    watch.stop()
    assert watch.spent > 0
    assert watch.seconds() == watch.spent
