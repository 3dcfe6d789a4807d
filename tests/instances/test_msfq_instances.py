"""Queues: loads, sizes, generators, and logs in SWF as classes and nights."""

from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from builders.effort import examples
from builders.msfq import of_classes
from builders.refusals import refusal
from builders.swf import HEADER, LINES, saved
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import gamma

import schedopt
from schedopt.instances import files, msfq
from schedopt.instances.dssp import swf as nights
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import swf as queues

FOLDER = Path(files.__file__).parent / "msfq"


def test_msfq_load_and_weights() -> None:
    queue = of_classes(4, (1, 1.0), (4, 0.25))
    assert queue.load == pytest.approx(1 / 4 + 1 / 4)
    assert queue.weights("mean") == pytest.approx((0.8, 0.2))
    assert queue.weights("weighted") == pytest.approx((0.5, 0.5))
    assert queue.scaled(2.5).load == pytest.approx(1.0)
    assert queue.one_or_all == (0, 1)


@pytest.mark.parametrize("shape", [msfq.Exponential(), msfq.Empirical(values=(1.0, 2.0, 7.0))])
def test_msfq_sizes_have_the_stated_moments(shape: Any) -> None:
    sizes = shape.draw(np.random.default_rng(3), 1_000_000)
    assert sizes.mean() == pytest.approx(1, rel=0.01)
    assert np.mean(sizes**2) == pytest.approx(shape.second_moment, rel=0.02)
    assert sizes.min() > 0


def test_msfq_borg_example_is_stable_below_4_96() -> None:
    borg: msfq.Instance = files.load(FOLDER / "borg-cell-b.json")
    assert len(borg.classes) == 26
    assert borg.servers == 2048
    assert borg.arrival_rate / borg.load == pytest.approx(4.96, abs=0.005)
    assert borg.arrival_rate == pytest.approx(4.0, rel=1e-4)


def drawn(count: int = 40_000, **more: Any) -> Any:
    return schedopt.generate("msfq", "lublin-feitelson", seed=3, options={"jobs": count, **more})


@pytest.fixture(scope="module")
def queue() -> Any:
    return drawn()


def test_lublin_feitelson_needs_have_the_published_distribution(queue: Any) -> None:
    need = queue.jobs.need
    assert need.min() == 1
    assert need.max() == 128
    assert (need == 1).mean() == pytest.approx(0.244, abs=0.01)
    powers = np.log2(need[need > 1])
    even = powers == np.rint(powers)
    assert even.mean() >= 0.576 / 0.756 - 0.01  # of the others some are so by chance
    # Powers above 6.5 are rounded to 7: the last fifth of the second stage.
    share = (powers[even] == 7).mean()
    assert share == pytest.approx(0.14 * 0.5 / 2.5, abs=0.006)
    assert (powers > 4.5).mean() == pytest.approx(0.14, abs=0.012)


def test_lublin_feitelson_run_times_grow_with_needs(queue: Any) -> None:
    need, run = queue.jobs.need, queue.jobs.run
    assert run.min() >= 1
    assert np.log(run).max() <= 12
    for lone in (1, 8):  # a mixture of two gammas of ln(run), of which each need has its own
        told = np.log(run[need == lone] + 0.5)  # cut off to whole seconds
        share = -0.0054 * lone + 0.78
        parts = [gamma(4.2, scale=0.94), gamma(312, scale=0.03)]
        long = [part.cdf(12) for part in parts]
        above = [
            share * parts[0].cdf(x) / long[0] + (1 - share) * parts[1].cdf(x) / long[1]
            for x in (4.0, 6.0, 9.0, 10.0)
        ]
        seen = [float((told <= x).mean()) for x in (4.0, 6.0, 9.0, 10.0)]
        assert seen == pytest.approx(above, abs=0.03)
    assert np.log(run[need >= 100]).mean() > np.log(run[need == 1]).mean() + 1


def test_lublin_feitelson_approaches_the_load() -> None:
    queue = drawn(20_000, load=0.9, servers=64)
    assert queue.servers == 64
    assert queue.load == pytest.approx(0.9, rel=0.02)


def test_convert_swf_to_classes_or_jobs(tmp_path: Path) -> None:
    path = saved(tmp_path, *LINES)
    queue = queues.convert(path, name="queue")
    assert (queue.name, queue.servers) == ("queue", 8)
    assert [job.need for job in queue.classes] == [2, 3, 4]
    pairs, threes, fours = queue.classes
    assert pairs.arrival_rate == pytest.approx(2 / 100)
    assert 1 / pairs.service_rate == pytest.approx(35)
    assert threes.arrival_rate == fours.arrival_rate == pytest.approx(1 / 100)
    assert files.parse(files.encode(queue)) == queue
    assert len(queues.convert(path, **{"as": "jobs"}).jobs) == 4
    assert "an option of convert to msfq classes" in str(refusal(queues.convert, path, zero="one"))


def test_convert_swf_to_a_night(tmp_path: Path) -> None:
    path = saved(tmp_path, *LINES)
    night = nights.convert(path, deadline=100)
    assert [job.name for job in night.jobs] == ["1", "2", "6", "7"]
    assert night.jobs[1].stages == ((30.0,) * 4,)
    assert [job.reward for job in night.jobs] == [120.0, 120.0, 75.0, 20.0]
    assert night.groups["user"] == {"3": [0, 2], "4": [1, 3]}
    assert night.groups["group"] == {"1": [0, 1], "2": [2]}
    assert "queue" not in night.groups
    assert schedopt.solve(night).objective == sum(job.reward for job in night.jobs)
    planned = nights.convert(path, deadline=100, predicted=True)
    assert (planned.jobs[0].demand, planned.jobs[0].critical_path) == (200.0, 100.0)
    assert planned.jobs[3].planned_critical_path == 8.0  # it asked for less than it took
    assert planned.jobs[1].demand is None
    assert "2 planned by the time" in (planned.description or "")


@given(at=st.integers(0, 2_000), what=st.binary(max_size=4), cut=st.integers(0, 6))
@settings(max_examples=examples(100), deadline=None)
def test_convert_swf_reads_or_refuses_mutated_logs(at: int, what: bytes, cut: int) -> None:
    data = (HEADER + "\n".join(LINES) + "\n").encode()
    at %= len(data)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "toy.swf"
        path.write_bytes(data[:at] + what + data[at + cut :])
        for read in (queues.convert, partial(nights.convert, deadline=50)):
            try:
                instance = read(path)
            except InputError as error:
                assert error.file == str(path) or error.place.startswith(("classes", "jobs"))
            else:
                assert files.parse(files.encode(instance)) == instance
