"""Logs in the Standard Workload Format as queues of classes, as traces, and as nights."""

import csv
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from builders.effort import examples
from builders.refusals import refusal
from builders.swf import HEADER, LINES, line, saved
from hypothesis import given, settings
from hypothesis import strategies as st

import schedopt
from schedopt.instances import files
from schedopt.instances.dssp import swf as nights
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import swf as queues
from schedopt.instances.msfq.traces import read_trace


def test_a_log_becomes_classes_or_jobs(tmp_path: Path) -> None:
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
    assert {"as", "needs", "zero", "submit"} <= set(queues.OPTIONS)
    assert "one of classes, jobs" in str(refusal(queues.convert, path, **{"as": "tasks"}))
    assert "an option of convert to msfq classes" in str(refusal(queues.convert, path, zero="one"))
    with pytest.raises(InputError, match="an option of convert of swf to jobs"):
        queues.convert(path, **{"as": "jobs", "needs": "exact"})
    with pytest.raises(InputError, match="at two times or more"):
        queues.convert(saved(tmp_path, line(1, 5, 1), line(2, 5, 1)))


def test_needs_in_powers_sizes_as_they_are_and_a_trace_that_is_played(tmp_path: Path) -> None:
    queue = queues.convert(saved(tmp_path, *LINES), needs="powers", sizes="empirical", processors=6)
    assert [job.need for job in queue.classes] == [2, 4]
    assert queue.classes[1].sizes.values == (30.0, 25.0)  # type: ignore[union-attr]
    assert "rounded up" in (queue.description or "")
    wide = saved(tmp_path, line(1, 0, 1, 5), line(2, 1, 1, 1))
    assert [j.need for j in queues.convert(wide, needs="powers", processors=6).classes] == [1, 6]
    target, path = tmp_path / "arrivals.csv", saved(tmp_path, *LINES)
    queue = queues.convert(path, needs="powers", trace=str(target))
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["need"] for row in rows] == ["2", "4", "4", "2"]
    trace = read_trace(target, queue)
    assert trace.times.tolist() == [0.0, 10.0, 40.0, 100.0]
    assert trace.sizes.tolist() == [60.0, 30.0, 25.0, 10.0]
    result = schedopt.evaluate(queue, "fcfs", options={"trace": str(target)})
    assert result.objective == pytest.approx((60 + 30 + 25 + 10) / 4)  # nobody has to wait


def test_a_night_of_single_stages(tmp_path: Path) -> None:
    path = saved(tmp_path, *LINES)
    night = nights.convert(path, deadline=100, reward="linear")
    assert [job.name for job in night.jobs] == ["1", "2", "6", "7"]
    assert night.jobs[1].stages == ((30.0,) * 4,)
    assert [job.reward for job in night.jobs] == [500.0, 499.0, 498.0, 497.0]
    assert night.groups["user"] == {"3": [0, 2], "4": [1, 3]}
    assert night.groups["group"] == {"1": [0, 1], "2": [2]}
    assert "queue" not in night.groups
    assert schedopt.solve(night).objective == sum(job.reward for job in night.jobs)
    planned = nights.convert(path, deadline=100, predicted=True)
    assert (planned.jobs[0].demand, planned.jobs[0].critical_path) == (200.0, 100.0)
    assert planned.jobs[3].planned_critical_path == 8.0  # it asked for less than it took
    assert planned.jobs[1].demand is None
    assert "2 planned by the time" in (planned.description or "")


def test_days_become_nights(tmp_path: Path) -> None:
    jobs = ((0, 60, 3), (90_000, 50, 4), (180_000, 40, 3), (300_000, 30, 4))
    lines = [line(i + 1, submit, run, user=user) for i, (submit, run, user) in enumerate(jobs)]
    path = saved(tmp_path, *lines)
    season = nights.convert(path, deadline=100, nights=3, patience=1)
    assert season.nights == 3
    assert [(job.first_night, job.last_night) for job in season.jobs] == [(1, 2), (2, 3), (3, 3)]
    later = nights.convert(path, deadline=100, nights=2, start=86_400)
    assert [(job.name, job.first_night, job.last_night) for job in later.jobs] == [
        ("2", 1, 1),
        ("3", 2, 2),
    ]
    assert schedopt.solve(season).formulation == "season"
    assert "option 'nights'" in str(refusal(nights.convert, path, deadline=100, patience=1))


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "one of dssp, msfq"),
        ({"problem": "hesrpt"}, "found 'hesrpt'; expected one of dssp, msfq"),
        ({"problem": "dssp"}, "option 'deadline'"),
        ({"problem": "dssp", "deadline": 1, "reward": "best"}, "one of linear, size, banded"),
        ({"problem": "msfq", "needs": "some"}, "one of exact, powers"),
        ({"problem": "msfq", "trace": "t.txt"}, "a .csv to write"),
        ({"problem": "msfq", "trace": "no/such/t.csv"}, "a place to write to"),
        ({"problem": "msfq", "start": 20, "end": 30}, "a window with jobs in it"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    path = saved(tmp_path, LINES[0], LINES[1], LINES[-1])
    assert says in str(refusal(schedopt.convert, [path], options=options))


@given(at=st.integers(0, 2_000), what=st.binary(max_size=4), cut=st.integers(0, 6))
@settings(max_examples=examples(300), deadline=None)
def test_a_mutated_log_is_read_or_refused(at: int, what: bytes, cut: int) -> None:
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
