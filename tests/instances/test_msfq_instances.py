"""msfq instances: loads, shapes of sizes, generators, traces."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from builders.msfq import at_load, of_classes, one_or_all
from builders.refusals import refusal

from schedopt.instances import files
from schedopt.instances.msfq import (
    BoundedPareto,
    Deterministic,
    Empirical,
    Exponential,
    Hyperexponential,
    Instance,
    Lognormal,
)
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.instances.msfq.traces import read_trace

FOLDER = Path(files.__file__).parent / "msfq"


def test_loads_and_weights() -> None:
    queue = of_classes(4, (1, 1.0), (4, 0.25))
    assert queue.load == pytest.approx(1 / 4 + 1 / 4)
    assert queue.weights("mean") == pytest.approx((0.8, 0.2))
    assert queue.weights("weighted") == pytest.approx((0.5, 0.5))
    assert queue.scaled(2.5).load == pytest.approx(1.0)
    assert queue.one_or_all == (0, 1)


SHAPES = [
    Exponential(),
    Deterministic(),
    Hyperexponential(scv=4.0),
    Lognormal(scv=1.5),
    BoundedPareto(alpha=1.5, ratio=1000.0),
    BoundedPareto(alpha=1.0, ratio=50.0),
    Empirical(values=(1.0, 2.0, 7.0)),
]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda s: str(s.__struct_config__.tag))
def test_drawn_sizes_have_mean_one_and_the_stated_spread(shape: Any) -> None:
    from schedopt.policies.msfq.random_kernels import size, stream

    draw = stream(7, 1)
    values = shape.scaled if isinstance(shape, Empirical) else np.empty(0)
    shapes = np.array([shape.parameters()], dtype=float)
    starts = np.array([0, values.size])
    sizes = np.array([size(draw, shapes, 0, values, starts) for _ in range(200_000)])
    error = 5 * np.sqrt(shape.second_moment / sizes.size)
    assert abs(sizes.mean() - 1) < error
    assert np.mean(sizes**2) == pytest.approx(shape.second_moment, rel=0.1)
    assert sizes.min() > 0


def test_generators_keep_load_and_seed() -> None:
    make = GENERATORS["one-or-all"]
    queue = make(0, k=8, load=0.7, p1=0.5)
    assert queue.load == pytest.approx(0.7)
    assert queue.weights("mean")[0] == pytest.approx(0.5)
    several = GENERATORS["multi-class"]
    assert several(3) == several(3) != several(4)
    assert several(3).load == pytest.approx(0.9)
    assert all(24 % job.need == 0 for job in several(5).classes)


def test_borg_is_the_26_classes_stable_below_4_96() -> None:
    borg: Instance = files.load(FOLDER / "borg-cell-b.json")
    assert len(borg.classes) == 26
    assert borg.servers == 2048
    assert borg.arrival_rate / borg.load == pytest.approx(4.96, abs=0.005)
    assert borg.arrival_rate == pytest.approx(4.0, rel=1e-4)


def test_traces_are_read_in_order(tmp_path: Path) -> None:
    queue = one_or_all(4)
    (tmp_path / "t.csv").write_text("need,time,size\n1,0,2\n4,0,1\n1,1.5,3\n")
    trace = read_trace(tmp_path / "t.csv", queue)
    assert trace.times.tolist() == [0, 0, 1.5]
    assert trace.classes.tolist() == [0, 1, 0]
    assert trace.sizes.tolist() == [2, 1, 3]
    log = "; a log\n1 10 0 60 4 -1 -1 4 -1\n2 12 0 0 1 -1 -1 1 -1\n3 15 0 30 -1 -1 -1 1 -1\n"
    (tmp_path / "t.swf.gz").write_bytes(gzip.compress(log.encode()))
    trace = read_trace(tmp_path / "t.swf.gz", queue)
    assert trace.times.tolist() == [10, 15]
    assert trace.classes.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,need,size\n1,1,1\n0.5,1,1\n", "line 3: found 0.5; expected no time before 1"),
        ("time,need,size\nnan,1,1\n", "a finite time"),
        ("time,need,size\n1,3,1\n", "the need of a class"),
        ("time,need,size\n1,1.5,1\n", "the need of a class"),
        ("time,need,size\n1,inf,1\n", "the need of a class"),
        ("time,need,size\n1,nan,1\n", "the need of a class"),
        ("time,need,size\n1,1,-1\n", "a finite size > 0"),
        ("time,need,size\n1,1," + "9" * 140_000 + "\n", "line 2: found field larger than"),
        ("time,need,size" + "x" * 140_000 + "\n", "line 1: found field larger than"),
        ("time,need,size\n1,1\n", "3 cells, as in the header"),
        ("time,size\n1,1\n", "the columns time, need, size"),
        ("time,need,size\n", "a job or more"),
        ("", "a header"),
    ],
)
def test_bad_traces_are_refused_with_their_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    error = refusal(read_trace, path, at_load(4, 0.5))
    assert says in str(error)
    assert "bad.csv" in str(error)
