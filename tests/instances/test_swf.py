"""Logs in the Standard Workload Format: what each problem takes from them, and what is refused."""

import csv
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from builders.effort import examples
from builders.refusals import refusal
from builders.swf import HEADER, line, saved
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import schedopt
from schedopt.cli import app
from schedopt.instances import files
from schedopt.instances.dssp import swf as nights
from schedopt.instances.epoch import swf as sets
from schedopt.instances.errors import InputError
from schedopt.instances.msfq import swf as queues
from schedopt.instances.msfq.traces import read_trace
from schedopt.instances.swf import read_log

REAL = Path(files.__file__).resolve().parents[1].parent / "shared" / "data" / "swf"
LINES = [
    line(1, 0, 60, 2, wait=0, planned=100, status=1, user=3, group=1),
    line(2, 10, 30, -1, wait=5, asked=4, status=1, user=4, group=1),
    line(3, 20, -1, 1, wait=0, user=3),
    line(4, 30, 0, 1, wait=0, status=5, user=3),
    line(5, 40, 50, -1, wait=0, asked=-1),
    line(6, 40, 25, 3, wait=0, status=0, user=3, group=2),
    line(6, 40, 10, 3, wait=0, status=2, user=3, group=2),
    line(7, 100, 10, 2, wait=20, planned=8, user=4),
]


@pytest.mark.parametrize("name", ["toy.swf", "toy.swf.gz", "TOY.SWF"])
def test_jobs_that_ran_are_taken_and_the_others_counted(tmp_path: Path, name: str) -> None:
    log = read_log(saved(tmp_path, *LINES, name=name))
    assert [(e.name, e.processors, e.run) for e in log.entries] == [
        ("1", 2, 60.0),
        ("2", 4, 30.0),
        ("6", 3, 25.0),
        ("7", 2, 10.0),
    ]
    assert (log.processors, log.computer, log.lines) == (8, "Toy", 8)
    assert log.described() == (
        f"4 of 8 jobs of {log.stem} (Toy), in seconds; 1 left out, of unknown run time; "
        "1 left out, of no run time; 1 left out, of unknown processors; 1 left out, a part of "
        "another; 1 with the processors asked for, since those used are unknown."
    )
    assert [e.user for e in log.entries] == [3, 4, 3, 4]
    assert log.entries[3].group is None


@pytest.mark.parametrize("ending", [b"\r\n", b"\r"])
def test_lines_may_end_as_on_other_machines(tmp_path: Path, ending: bytes) -> None:
    path = saved(tmp_path, *LINES)
    plain = read_log(path), queues.convert(path, **{"as": "jobs"})
    path.write_bytes(path.read_bytes().replace(b"\n", ending))
    assert (read_log(path), queues.convert(path, **{"as": "jobs"})) == plain


def test_a_window(tmp_path: Path) -> None:
    path = saved(tmp_path, *LINES)
    names = [e.name for e in read_log(path, start=10, end=100).entries]
    assert names == ["2", "6"]
    assert [e.name for e in read_log(path, jobs=2).entries] == ["1", "2"]
    assert "that ran, within the window" in str(refusal(read_log, path, start=20, end=40))


def test_a_queue_of_classes_by_need(tmp_path: Path) -> None:
    queue = queues.convert(saved(tmp_path, *LINES), name="queue")
    assert (queue.name, queue.servers) == ("queue", 8)
    assert [job.need for job in queue.classes] == [2, 3, 4]
    pairs, threes, fours = queue.classes
    assert pairs.arrival_rate == pytest.approx(2 / 100)
    assert 1 / pairs.service_rate == pytest.approx(35)
    assert threes.arrival_rate == fours.arrival_rate == pytest.approx(1 / 100)
    assert files.parse(files.encode(queue)) == queue


def test_needs_in_powers_and_sizes_as_they_are(tmp_path: Path) -> None:
    queue = queues.convert(saved(tmp_path, *LINES), needs="powers", sizes="empirical", processors=6)
    assert [job.need for job in queue.classes] == [2, 4]
    assert queue.classes[1].sizes.values == (30.0, 25.0)  # type: ignore[union-attr]
    assert "rounded up" in (queue.description or "")
    wide = saved(tmp_path, line(1, 0, 1, 5), line(2, 1, 1, 1))
    assert [j.need for j in queues.convert(wide, needs="powers", processors=6).classes] == [1, 6]


def test_a_trace_is_written_and_played(tmp_path: Path) -> None:
    target = tmp_path / "arrivals.csv"
    queue = queues.convert(saved(tmp_path, *LINES), needs="powers", trace=str(target))
    rows = list(csv.DictReader(target.read_text().splitlines()))
    assert [row["need"] for row in rows] == ["2", "4", "4", "2"]
    trace = read_trace(target, queue)
    assert trace.times.tolist() == [0.0, 10.0, 40.0, 100.0]
    assert trace.sizes.tolist() == [60.0, 30.0, 25.0, 10.0]
    result = schedopt.evaluate(queue, "fcfs", options={"trace": str(target)})
    assert result.objective == pytest.approx((60 + 30 + 25 + 10) / 4)  # nobody has to wait


def test_jobs_that_come_all_at_once_have_no_rate(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at two times or more"):
        queues.convert(saved(tmp_path, line(1, 5, 1), line(2, 5, 1)))


def test_the_jobs_present_at_a_time(tmp_path: Path) -> None:
    path = saved(tmp_path, *LINES)
    jobs = sets.convert(path, inequity=0)
    assert [(job.name, job.minimum) for job in jobs.jobs] == [("1", 2), ("2", 4), ("6", 3)]
    assert (jobs.nodes, jobs.inequity) == (8, 0)
    assert "those 3 present at 40" in (jobs.description or "")
    assert [job.name for job in sets.convert(path, at=50).jobs] == ["1", "6"]  # job 2 ended at 45
    assert [job.name for job in sets.convert(path, at=129).jobs] == ["7"]  # it waited for 20
    assert "a job or more at that time" in str(refusal(sets.convert, path, at=130))
    unknown = saved(tmp_path, line(1, 0, 10), line(2, 10, 10))
    assert "2 of unknown wait, taken as none" in (sets.convert(unknown).description or "")
    assert [job.name for job in sets.convert(unknown).jobs] == ["1"]


def test_a_night_of_single_stages(tmp_path: Path) -> None:
    night = nights.convert(saved(tmp_path, *LINES), deadline=100, reward="linear")
    assert [job.name for job in night.jobs] == ["1", "2", "6", "7"]
    assert night.jobs[1].stages == ((30.0,) * 4,)
    assert [job.reward for job in night.jobs] == [500.0, 499.0, 498.0, 497.0]
    assert night.groups["user"] == {"3": [0, 2], "4": [1, 3]}
    assert night.groups["group"] == {"1": [0, 1], "2": [2]}
    assert "queue" not in night.groups
    assert "1 of unknown group; 4 of unknown queue" in (night.description or "")
    result = schedopt.solve(night)
    assert result.objective == sum(job.reward for job in night.jobs)


def test_planning_by_what_users_asked_for(tmp_path: Path) -> None:
    night = nights.convert(saved(tmp_path, *LINES), deadline=100, predicted=True)
    assert (night.jobs[0].demand, night.jobs[0].critical_path) == (200.0, 100.0)
    assert night.jobs[3].planned_critical_path == 8.0  # it asked for less than it took
    assert night.jobs[1].demand is None
    assert "2 planned by the time" in (night.description or "")


def changed(position: int, value: str) -> str:
    cells = LINES[1].split()
    cells[position] = value
    return " ".join(cells)


@pytest.mark.parametrize(
    ("bad", "found", "expected"),
    [
        ("1 2 3", "3: '1 2 3'", "the 18 fields"),
        (LINES[1] + " 7", "19: ", "the 18 fields"),
        (changed(3, "x"), "'x'", "a number >= 0, or -1 (field 4)"),
        (changed(3, "nan"), "'nan'", "a number >= 0"),
        (changed(3, "inf"), "'inf'", "a number >= 0"),
        (changed(3, "1e999"), "'1e999'", "a number >= 0"),
        (changed(3, "1_0"), "'1_0'", "a number >= 0"),
        (changed(3, "1e"), "'1e'", "a number >= 0"),
        (changed(3, "-2"), "'-2'", "a number >= 0, or -1 (field 4)"),
        (changed(0, "-1"), "'-1'", "a job number (field 1)"),
        (changed(0, "1.5"), "'1.5'", "a job number (field 1)"),
        (changed(0, "1"), "1", "line 6 has it already"),
        (changed(1, "-1"), "'-1'", "a submit time (field 2)"),
        (changed(4, "1.5"), "1.5", "a whole number of processors"),
        (changed(4, "9"), "9", "at most 8, the machine's processors"),
    ],
)
def test_refused_with_the_line(tmp_path: Path, bad: str, found: str, expected: str) -> None:
    path = saved(tmp_path, LINES[0], bad)
    error = refusal(read_log, path)
    assert (error.file, error.place) == (str(path), "line 7")
    assert (error.found or "").startswith(found)
    assert expected in error.expected


def test_time_does_not_go_backwards(tmp_path: Path) -> None:
    path = saved(tmp_path, line(1, 5, 1), line(2, 4, 1))
    with pytest.raises(InputError, match=r"line 7: found 4\.0; expected a submit time .* of 5 or"):
        read_log(path)


def test_a_machine_that_nobody_tells_of(tmp_path: Path) -> None:
    path = tmp_path / "bare.swf"
    path.write_text("; MaxProcs: many\n" + line(1, 0, 5) + "\n")
    assert "option 'processors'" in str(refusal(read_log, path))
    assert read_log(path, processors=2).processors == 2


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({}, "one of dssp, epoch, msfq"),
        ({"problem": "hesrpt"}, "found 'hesrpt'; expected one of dssp, epoch, msfq"),
        ({"problem": "dssp"}, "option 'deadline'"),
        ({"problem": "dssp", "deadline": -1}, "above 0"),
        ({"problem": "dssp", "deadline": 1, "reward": "best"}, "one of linear, size, banded"),
        ({"problem": "epoch", "deadline": 5}, "an option of convert to epoch"),
        ({"problem": "epoch", "at": -1}, "0 or more"),
        ({"problem": "epoch", "inequity": False}, "a whole number"),
        ({"problem": "msfq", "needs": "some"}, "one of exact, powers"),
        ({"problem": "msfq", "processors": 0}, "a whole number from 1"),
        ({"problem": "msfq", "trace": "t.txt"}, "a .csv to write"),
        ({"problem": "msfq", "trace": "no/such/t.csv"}, "a place to write to"),
        ({"problem": "msfq", "jobs": 0}, "at least 1"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], says: str) -> None:
    from schedopt.verbs.convert import convert

    error = refusal(convert, [saved(tmp_path, *LINES)], options=options)
    assert says in str(error)


@pytest.mark.parametrize(
    ("problem", "more"), [("msfq", []), ("epoch", ["at=40"]), ("dssp", ["deadline=90"])]
)
def test_the_verb(tmp_path: Path, problem: str, more: list[str]) -> None:
    words = ["convert", str(saved(tmp_path, *LINES)), "--output", str(tmp_path / "out.json")]
    for option in [f"problem={problem}", *more]:
        words += ["--option", option]
    assert CliRunner().invoke(app, [*words, "--name", "mine"]).exit_code == 0
    instance = files.load(tmp_path / "out.json")
    assert instance.name == "mine"
    assert "left out, of no run time" in instance.description
    both = CliRunner().invoke(app, [*words[:2], *words[1:]])
    assert isinstance(both.exception, InputError)
    assert str(both.exception) == "found 2 files; expected one log (.swf)"


def test_days_become_nights(tmp_path: Path) -> None:
    lines = [
        line(1, 0, 60, user=3),
        line(2, 90_000, 50, user=4),
        line(3, 180_000, 40, user=3),
        line(4, 300_000, 30, user=4),
    ]
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


@pytest.mark.skipif(not REAL.exists(), reason="the real logs are not here")
def test_real_logs(tmp_path: Path) -> None:
    nasa, hpc2n = REAL / "nasa-ipsc-1993.swf.gz", REAL / "hpc2n-2002-part.swf.gz"
    trace = tmp_path / "nasa.csv"
    queue = queues.convert(nasa, trace=str(trace))
    assert [job.need for job in queue.classes] == [1, 2, 4, 8, 16, 32, 64, 128]
    assert "173 left out, of no run time" in (queue.description or "")
    assert read_trace(trace, queue).times.size == 18_239 - 173
    assert 0.4 < queue.load < 0.6
    seth = queues.convert(hpc2n, needs="powers")
    assert seth.servers == 240
    assert "25 left out, of unknown run time" in (seth.description or "")
    jobs = sets.convert(hpc2n, jobs=500)
    assert schedopt.evaluate(jobs, "heuristic-epoch").objective >= jobs.nodes
    night = nights.convert(hpc2n, start=0, end=86_400, deadline=86_400, predicted=True)
    result = schedopt.solve(night)
    assert result.termination == "optimal"
    assert result.solution.demand <= night.capacity()


@given(at=st.integers(0, 2_000), what=st.binary(max_size=4), cut=st.integers(0, 6))
@settings(max_examples=examples(300), deadline=None)
def test_a_mutated_log_is_read_or_refused(at: int, what: bytes, cut: int) -> None:
    data = (HEADER + "\n".join(LINES) + "\n").encode()
    at %= len(data)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "toy.swf"
        path.write_bytes(data[:at] + what + data[at + cut :])
        for convert in (queues.convert, sets.convert, partial(nights.convert, deadline=50)):
            try:
                instance = convert(path)
            except InputError as error:
                assert error.file == str(path) or error.place.startswith(("classes", "jobs"))
            else:
                assert files.parse(files.encode(instance)) == instance
