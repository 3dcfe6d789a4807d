"""Kernels: compiled where there is much to do, the same in both ways, not on a solver's time."""

import os
import sys
import time
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from builders.cli import process

import schedopt
from schedopt.solvers import compiling as kernels_of
from schedopt.solvers.clock import compiling, now
from schedopt.solvers.compiling import compiled, kernel, specialized

pytestmark = pytest.mark.skipif(not kernels_of.COMPILES, reason="numba is not installed")


def add_limit(x: int, limit: int) -> int:
    return x + limit


@kernel(python_up_to=4)
def add_limit_to_each(values: np.ndarray) -> int:
    for i in range(values.size):
        values[i] = add_limit(values[i], 3)
    return int(values.sum())


@kernel(python_up_to=4)
def sum_after_adding(values: np.ndarray) -> int:
    return add_limit_to_each(values) + add_limit(1, 2)


@pytest.mark.parametrize("function", [add_limit_to_each, sum_after_adding])
def test_kernel_gives_the_same_answer_compiled_and_in_python(function: object) -> None:
    as_python, as_compiled = np.arange(3), np.arange(3)
    assert function(as_python) == compiled(function)(as_compiled)
    assert as_python.tolist() == as_compiled.tolist()


def test_kernel_without_numba_refuses_calls_of_many_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(kernels_of, "COMPILES", False)
    assert add_limit_to_each(np.zeros(10, np.int64)) == 30
    with pytest.raises(schedopt.MissingExtraError, match="numba"):
        add_limit_to_each(np.zeros(kernels_of.MOST_WITHOUT_NUMBA + 1, np.int64))


def step(values: np.ndarray) -> int:
    raise NotImplementedError


def loop(values: np.ndarray) -> int:
    return step(values) * FACTOR


FACTOR = 1


def first(values: np.ndarray) -> int:
    return int(values[0])


def last(values: np.ndarray) -> int:
    return int(values[-1])


@pytest.mark.parametrize(("own", "factor", "expected"), [(first, 2, 4), (last, 3, 15)])
def test_specialized_function_calls_its_own_parts(own: object, factor: int, expected: int) -> None:
    function = specialized(loop, f"loop_{own.__name__}", step=own, FACTOR=factor)
    values = np.array([2, 5])
    assert function(values) == compiled(function)(values) == expected


def load_module(folder: Path, name: str, text: str) -> ModuleType:
    (folder / f"{name}.py").write_text(text)
    spec = spec_from_file_location(name, folder / f"{name}.py")
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_cache_is_not_used_after_an_edit_of_another_file_that_the_kernel_calls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.syspath_prepend(str(tmp_path))
    for name in ("called_part", "calling_kernel"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    calling = "from called_part import called\n\ndef calling(x):\n    return called(x)\n"
    (tmp_path / "calling_kernel.py").write_text(calling)

    def answer_and_hits(added: int) -> tuple[int, int]:
        load_module(tmp_path, "called_part", f"def called(x):\n    return x + {added}\n")
        function = compiled(load_module(tmp_path, "calling_kernel", calling).calling)
        return function(1), sum(function.stats.cache_hits.values())

    stamp = (tmp_path / "calling_kernel.py").stat()
    monkeypatch.setattr(Path, "write_text", keep_time_of(Path.write_text, stamp.st_mtime_ns))
    assert [answer_and_hits(1), answer_and_hits(1), answer_and_hits(2)] == [(2, 0), (2, 1), (3, 0)]


def keep_time_of(write_text: object, time_ns: int) -> object:
    """Return a function that writes a text and gives the file a fixed time."""

    def write(path: Path, text: str) -> int:
        count = write_text(path, text)
        os.utime(path, ns=(time_ns, time_ns))
        return count

    return write


def test_clock_of_limits_stops_while_a_kernel_compiles() -> None:
    @kernel()
    def double(x: float) -> float:
        return x * 2.0

    before, outer = compiling.seconds(), time.perf_counter()
    ticks, inner = now(), time.perf_counter()
    assert double(3.0) == 6.0
    inner = time.perf_counter() - inner
    ticks, outer = now() - ticks, time.perf_counter() - outer
    spent = compiling.seconds() - before
    assert spent > 0.8 * inner
    assert inner - 1e-6 <= ticks + spent <= outer + 1e-6


SMALL = """
import sys
from random import Random

import schedopt
from schedopt.instances.dssp import Instance, Job
from schedopt.policies.registry import registered

draw = Random(2)
jobs = [
    Job(
        name=f"job {j}",
        reward=draw.randint(1, 99),
        groups={"team": f"team {j % 4}"},
        stages=[[draw.randint(1, 9) / 2 for _ in range(draw.randint(1, 6))] for _ in range(3)],
    )
    for j in range(40)
]
night = Instance(name="small", processors=20, deadline=25.0, jobs=tuple(jobs))
assert 300 < len(night.tasks.lengths) <= 500
cap = schedopt.FairShare(by="team", at_most={"team 0": 0.2, "team 1": 0.3})
assert schedopt.solve(night).solution_status == "optimal"
assert schedopt.solve(night, constraints=[cap]).solution_status == "optimal"
assert schedopt.solve(night, formulation="schedule", time_limit=2).objective > 0
for name in registered("dssp"):
    schedopt.evaluate(night, name)
sys.exit("numba" in sys.modules)
"""


def test_night_of_forty_jobs_and_500_tasks_loads_no_numba() -> None:
    process(sys.executable, "-c", SMALL)
