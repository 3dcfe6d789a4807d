"""Compiled kernels: never out of date, the same for every copy, and not on a solver's time."""

import importlib.util
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from math import exp, inf, log, log1p, sqrt
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any, NamedTuple, cast

import numpy as np
import pytest
from builders.cli import process
from builders.effort import ALL
from contract.dssp import schedule, selection

import schedopt
from schedopt.solvers import compiling as kernels_of
from schedopt.solvers.clock import compiling, now
from schedopt.solvers.compiling import COMPILING, Kernel, njit, small
from schedopt.solvers.kernel_store import digest
from schedopt.solvers.machine_code import dispatcher
from schedopt.solvers.stopping import stoppable

CALLEE = """
from schedopt.solvers import compiling as kernels_of
from schedopt.solvers.compiling import LOADING, Kernel, njit, small
LIMIT = {limit}

@njit
def callee(x):
    return x + {added}
"""
CALLER = """
from schedopt.solvers import compiling as kernels_of
from schedopt.solvers.compiling import LOADING, Kernel, njit, small
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


def test_constants_that_are_handed_on_make_no_versions_of_their_own() -> None:
    @njit
    def inner(x: int, flag: bool, pair: tuple[int, int]) -> int:
        return x + pair[1] if flag else pair[0]

    @njit
    def outer(x: int) -> int:
        some = (
            inner(x, x > 0, (x, x)) + inner(0, True, (1, 2)) + inner(flag=False, x=-1, pair=(7, 8))
        )
        return some + inner(1, False, (3, x))

    assert outer(5) == 10 + 2 + 7 + 3
    assert len(cast("Kernel", inner).inside.signatures) == 1


def test_the_clock_of_limits_stands_still_while_a_kernel_is_compiled() -> None:
    @njit
    def kernel(x: float) -> float:
        return x * 2.0

    before, outer = compiling.seconds(), time.perf_counter()
    ticks, inner = now(), time.perf_counter()
    assert kernel(3.0) == 6.0
    inner = time.perf_counter() - inner
    ticks, outer = now() - ticks, time.perf_counter() - outer
    spent = compiling.seconds() - before
    assert spent > 0
    assert inner - 1e-6 <= ticks + spent <= outer + 1e-6


def flipped(data: bytes, part: float) -> bytes:
    at = int(part * (len(data) - 1))
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "truncated to half": lambda data: data[: len(data) // 2],
    "truncated by a byte": lambda data: data[:-1],
    "extended": lambda data: data + b"x",
    "overwritten": lambda data: b"\xff" * len(data),
    **{f"flipped at {part}": partial(flipped, part=part) for part in (0.0, 0.02, 0.3, 0.7, 1.0)},
}


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_cache_file_is_compiled_anew_and_replaced(
    damage: str, ending: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "schedopt.kept", ModuleType("schedopt.kept"))
    text = "def total(values):\n    return values.sum()\n"
    module = loaded(tmp_path / "source", "schedopt.kept", text)

    def run_and_count_hits() -> int:
        kernel = dispatcher(module.total, {"cache": True})
        assert kernel(np.arange(5.0)) == 10.0
        return sum(kernel.stats.cache_hits.values())

    assert [run_and_count_hits(), run_and_count_hits()] == [0, 1]
    (file,) = tmp_path.rglob(f"*.{ending}")
    file.write_bytes(DAMAGES[damage](file.read_bytes()))
    assert [run_and_count_hits(), run_and_count_hits()] == [0, 1]


def test_cache_that_cannot_be_written_does_not_stop_a_kernel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setitem(sys.modules, "schedopt.kept", ModuleType("schedopt.kept"))
    module = loaded(tmp_path / "source", "schedopt.kept", "def twice(x):\n    return 2 * x\n")
    kernel = dispatcher(module.twice, {"cache": True})
    (folder,) = (tmp_path / "cache" / "kernels").iterdir()
    folder.rmdir()
    folder.write_text("a file in the place of the folder")
    assert kernel(3) == 6


SMALL = """
import sys
import schedopt

night = schedopt.load("example:night")
assert schedopt.solve(night).solution_status == "optimal"
assert schedopt.evaluate(night, "greedy").objective > 0
sys.exit("numba" in sys.modules)
"""


def test_a_night_of_forty_jobs_is_solved_without_loading_numba() -> None:
    process(sys.executable, "-c", SMALL)


def test_a_run_as_python_returns_pythons_own_numbers() -> None:
    class Pair(NamedTuple):
        total: float
        many: tuple[int, bool]

    @njit(plain=small(10))
    def summed(values: Any) -> Pair:
        return Pair(values.sum(), (values.size * np.int64(1), values[0] > 0))

    pair = summed(np.arange(3.0))
    assert pair == (3.0, (3, False))
    assert [type(of) for of in (pair, pair.total, *pair.many)] == [Pair, float, int, bool]


@pytest.fixture
def anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let kernels run as Python whatever this process ran before."""
    monkeypatch.setattr(kernels_of, "_spent", kernels_of._Spent())


@pytest.mark.usefixtures("anew")
def test_python_returns_what_compiled_code_does_where_its_math_raises_errors() -> None:
    def grown(values: Any) -> tuple[float, ...]:
        small, large, zero, one = values
        return exp(large), log(zero), log(-large), log1p(-one), sqrt(-one), exp(small) ** large

    values = np.array([0.5, 1000.0, 0.0, 1.0])
    python, compiled = njit(plain=small(10))(grown), njit(grown)
    assert repr(python(values)) == repr(compiled(values))
    assert "dispatcher" not in vars(python)


def test_what_a_kernel_runs_as_is_decided_by_steps_before_it_starts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @njit
    def step(x: float) -> float:
        return x + 1.0

    @njit(plain=small(4, each=COMPILING / 20))
    def kernel(of: np.ndarray) -> None:
        for i in range(of.size):
            of[i] = step(of[i])

    monkeypatch.setattr(kernels_of, "_spent", kernels_of._Spent())
    numbers = np.zeros(3)
    for turn in range(1, 9):
        kernel(numbers)
        assert (numbers == turn).all()
        assert ("dispatcher" in vars(kernel)) == (turn > 6), "seven times three twentieths are more"
    assert "dispatcher" not in vars(step), "callers have their own copy"
    monkeypatch.setattr(kernels_of, "_spent", kernels_of._Spent())
    once = njit(plain=small(4))(kernel.py_func)
    once(np.zeros(5))
    assert "dispatcher" in vars(once), "five numbers are not few"


@pytest.mark.usefixtures("anew")
def test_a_signal_ends_a_run_as_python_once_it_is_whole() -> None:
    @njit(plain=small(4))
    def kernel(of: np.ndarray) -> None:
        of[0] = 1.0
        signal.raise_signal(signal.SIGINT)
        of[1] = 1.0

    numbers = np.zeros(2)
    with stoppable(), pytest.raises(KeyboardInterrupt):
        kernel(numbers)
    assert numbers.all()


@pytest.mark.parametrize("seed", range(6 if ALL else 3))
def test_small_calls_are_alike_in_python(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    assert answers(seed, True, monkeypatch) == answers(seed, False, monkeypatch)


def answers(seed: int, python: bool, monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return what solvers and policies say of random nights, with small kernels run as Python."""

    def chosen(kernel: Kernel, args: tuple[object, ...]) -> bool:
        return python and kernel.plain is not None and kernel.plain(*args) < inf

    monkeypatch.setattr(Kernel, "stays_python", chosen)
    draw = Random(seed)  # noqa: S311
    asked = [drawn(draw) for drawn in (selection, schedule) for _ in range(4)]
    options = ({"jobs": 40, "range": 20}, {"jobs": 60, "groups": 4})
    nights = [schedopt.generate("dssp", "uncorrelated", seed=seed, options=of) for of in options]
    policies = ("greedy", "greedy-half", "greedy-three-quarters", "core", "greedy+stcpu")
    results = [schedopt.solve(of) for of in (*asked, *nights)]
    results += [schedopt.evaluate(night, name) for night in nights for name in policies]
    # Which of several best schedules is found depends on how long dispatchers were given.
    return [
        (of.objective, of.bound, of.formulation == "schedule" or of.solution, of.conflict)
        for of in results
    ]
