"""Tables of jobs, as CSV, frames and Parquet files: what is read, told and refused."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from builders.jobtable import (
    CHANGES,
    EVENING,
    FARM,
    HEADER,
    LINE,
    MACHINE,
    MIXED,
    PLAIN,
    table,
    told,
)
from builders.refusals import refusal
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.clock import Clock, stages_of
from schedopt.instances.dssp.jobs import Lognormal
from schedopt.instances.dssp.jobtable import convert
from schedopt.instances.errors import InputError


def test_job_table_becomes_an_instance(tmp_path: Path) -> None:
    night = table(tmp_path, HEADER + "ä,5,-120,9,7,lighting\nb,4.5,,1e1,.5,\n")
    given = {"reward": 5.0, "priority": 0.0, "demand": 9.0, "critical_path": 7.0}
    a = Job(name="ä", groups={"team": "lighting"}, **given)
    b = Job(name="b", reward=4.5, demand=10.0, critical_path=0.5)
    assert night == Instance(name="jobs", processors=2, deadline=10.0, jobs=(a, b))
    assert files.parse(files.encode(night)) == night
    path = tmp_path / "shots.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert convert(path, processors=1, deadline=1).name == "shots"
    assert table(tmp_path, PLAIN, name="tonight").name == "tonight"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN.replace("name", "job"),
        PLAIN.replace(",", " , "),
        PLAIN.replace("critical_path", "Critical Path").replace("name", "NAME"),
        "critical_path,demand,name,reward\n3,2,a,1\n",
    ],
)
def test_job_table_titles_may_be_spelled_in_other_ways(tmp_path: Path, text: str) -> None:
    (job,) = table(tmp_path, text).jobs
    assert job == Job(name="a", reward=1.0, demand=2.0, critical_path=3.0)


def test_job_table_takes_text_columns_as_groupings(tmp_path: Path) -> None:
    night, lines = told(tmp_path, MIXED)
    assert night.groups == {"team": {"fx": [0]}, "code": {"1": [0], "x2": [1]}}
    assert lines == [
        "fields of the jobs: name, reward, demand, critical_path",
        "groupings: 'team' (1 group), 'code' (2 groups)",
        "columns not used: 'frames', 'due', 'Arrival', 'empty', "
        "'weight'; --option column:FIELD=TITLE, --option groups=TITLE, --option keep=TITLE use one",
        "2 jobs read, none left out",
    ]
    night, lines = told(tmp_path, MIXED, groups="frames, team")
    assert night.groups == {"frames": {"100": [0], "200": [1]}, "team": {"fx": [0]}}
    assert "groupings: 'frames' (2 groups), 'team' (1 group)" in lines
    assert any("columns not used" in line and "'code'" in line for line in lines)


@pytest.mark.parametrize(
    ("options", "rewards", "ranks"),
    [
        ({}, [80.0, 0.0, 12.5], [0.0, 80.0, 67.5]),
        ({"priority": "lower"}, [0.0, 80.0, 67.5], [80.0, 0.0, 12.5]),
        ({"reward": "strict"}, [4.0, 1.0, 2.0], [0.0, 80.0, 67.5]),
        ({"reward": "strict", "priority": "lower"}, [1.0, 4.0, 2.0], [80.0, 0.0, 12.5]),
    ],
    ids=["higher", "lower", "strict", "strict lower"],
)
def test_job_table_priority_becomes_the_reward(
    tmp_path: Path, options: dict[str, str], rewards: list[float], ranks: list[float]
) -> None:
    """The priorities of an instance are ranks, of which 0 is the first."""
    night = table(tmp_path, "name,priority,tasks\na,80,1h\nb,0,1h\nc,12.5,1h\n", **options)
    assert night.rewards.tolist() == rewards
    assert [job.priority for job in night.jobs] == ranks


# --- times, seats and machines ----------------------------------------------------------------


def test_job_table_reads_tasks_times_and_seats(tmp_path: Path) -> None:
    night, lines = told(tmp_path, FARM, **EVENING)
    a, b, c = night.jobs
    assert (a.stages, a.deadline) == (((1800.0,) * 12, (7200.0,)), 36000.0)
    assert (b.stages, b.release) == (((7200.0, 1200.0, 1200.0, 1200.0),), 9000.0)
    assert (c.stages, c.release, c.deadline) == (((2700.0,),), 0.0, 9000.0)
    assert (night.deadline, night.processors) == (36000.0, 2)
    assert night.description == "Times are seconds after 2026-11-22T20:00+01:00."
    assert night.constraints == (Seats(name="houdini", capacity=2, use={"a": 1, "c": 2}),)
    assert lines == [
        "fields of the jobs: seats:houdini, name, reward, tasks, release, deadline",
        "groupings: 'team' (2 groups)",
        "times, and plain numbers, are in seconds after 2026-11-22T20:00+01:00",
        "1 job released before the start: available from the start",
        "3 jobs read, none left out",
    ]


@pytest.mark.parametrize(
    ("text", "options", "field", "expected"),
    [
        ("demand,critical_path\na,1,3,90m", {"unit": "h", "deadline": 9}, "demand", 3.0),
        ("demand,critical_path\na,1,3,90m", {"unit": "h", "deadline": 9}, "critical_path", 1.5),
        ("Frames,frame time\na,4,4,1.5h", {}, "stages", ((5400.0,) * 4,)),
        ("tasks,task_time\na,1,3,10m", {}, "stages", ((600.0,) * 3,)),
        ("tasks,task_time\na,1,1x5m;2x1m,", {}, "stages", ((300.0,), (60.0, 60.0))),
        ("tasks,demand,critical_path\na,1,2x1m,3m,1m", {}, "demand", 180.0),
        ("tasks,demand,critical_path\na,1,2x1m,,", {}, "demand", None),
    ],
)
def test_job_table_fields_are_read_in_the_unit_of_the_table(
    tmp_path: Path, text: str, options: dict[str, Any], field: str, expected: object
) -> None:
    night, lines = told(tmp_path, f"name,reward,{text}\n", **{"deadline": "1h", **options})
    assert getattr(night.jobs[0], field) == expected
    assert ("times, and plain numbers, are in hours" in lines) == ("unit" in options)


def test_job_table_leaves_out_jobs_whose_deadline_is_over(tmp_path: Path) -> None:
    text = "name,reward,tasks,deadline,release\nlate,1,1h,2026-11-22T19:59,\nb,1,1h,2026-11-23,\n"
    text += "back,1,1h,23:00,23:30\n"
    night, lines = told(tmp_path, text, start="2026-11-22T20:00", deadline="10h")
    assert [job.name for job in night.jobs] == ["b", "back"]
    assert lines[-3:] == [
        "1 job released at or after its deadline, so that it can never run: 'back' (line 4)",
        "2 jobs read",
        "1 job left out: their deadline is over when the night starts: 'late' (line 2)",
    ]


@pytest.mark.parametrize(
    ("text", "start", "after"),
    [
        ("20:00", "20:00", 0.0),
        ("06:00", "20:00", 36000.0),
        ("19:59:59", "20:00", 86399.0),
        ("2026-03-29T03:00+02:00", "2026-03-29T01:30:00+01:00", 1800.0),
        ("2026-11-23T06:00:00.5Z", "2026-11-22T20:00Z", 36000.5),
        ("2026-11-23 06:00", "2026-11-22T20:00", 36000.0),
        ("2026-11-22T19:00", "2026-11-22T20:00", -3600.0),
        ("1:30:00", "20:00", 19800.0),
        ("1h30m", None, 5400.0),
        ("2 Days 1 hr", None, 176400.0),
        (".5h", None, 1800.0),
        ("1e2", None, 100.0),
    ],
)
def test_clock_reads_points_in_time(text: str, start: str | None, after: float) -> None:
    clock = Clock.of("s", start)
    assert clock.point(text) == after
    assert clock.end(text) == (after or 86400.0)


def test_job_table_reads_spreads(tmp_path: Path) -> None:
    text = "name,reward,estimate,spread\na,5,2h,0.5\nb,4,30m,\nc,3,1h,lognormal 0.5\n"
    night = table(tmp_path, text, deadline="10h")
    assert [job.stages for job in night.jobs] == [((7200.0,),), ((1800.0,),), ((3600.0,),)]
    assert [job.spread for job in night.jobs] == [0.5, None, Lognormal(sigma=0.5)]


def test_job_table_as_frame_and_parquet_equals_csv(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(FARM.replace("22:30", "2026-11-22T22:30").replace("06:00", "10h"))
    asked: dict[str, Any] = {"processors": 2, **EVENING}
    night = convert(path, **asked)
    stamps = {"release": pl.String, "deadline": pl.String}
    frame = pl.read_csv(path, schema_overrides=stamps).with_columns(
        pl.col("release").str.to_datetime("%Y-%m-%dT%H:%M")
    )
    frame.write_parquet(tmp_path / "jobs.parquet")
    pandas = pytest.importorskip("pandas")
    same = pandas.DataFrame(frame.to_dicts())
    for read in (frame, tmp_path / "jobs.parquet", same):
        assert convert(read, **asked) == night
    error = refusal(convert, pl.concat([frame, frame]), **asked)
    assert str(error).startswith("the frame: row 4, column 'name': ")
    assert "a name of its own: row 1 has it already" in error.expected


@given(st.binary(max_size=80) | st.text("0123456789:-+TZxhmsd.; eE,×", max_size=30).map(str.encode))
def test_clock_refuses_or_reads_any_cell(cell: bytes) -> None:
    text = cell.decode("utf-8", "replace")
    clock = Clock.of("h", "2026-11-22T20:00")
    for read in (
        lambda: clock.end(text),
        lambda: clock.point(text),
        lambda: sum(map(sum, stages_of(text, clock))),
    ):
        try:
            assert np.isfinite(read())
        except InputError:
            continue


def test_job_table_reads_a_changing_machine(tmp_path: Path) -> None:
    night = table(tmp_path, MACHINE, **CHANGES)
    assert (night.changes, night.end, night.deadline) == (((2.0, 4), (12.0, 1)), 13.5, 14.0)
    assert (night.start, night.unit) == ("2026-11-22T18:00:00+01:00", "h")
    a, b, c = night.jobs
    assert (a.after, b.after, c.after) == ((), ("a",), ("a", "b"))
    assert (a.max_processors, b.processors, c.processors) == (2, 2, 1)
    assert (a.holds, b.holds, c.holds) == ({"gpu": 1.0}, {}, {"gpu": 0.5})
    assert (night.resources, night.groups) == ({"gpu": 1.5}, {})
    varied = CHANGES | {"holds:gpu": "18:00=16,02:00=8"}
    assert table(tmp_path, MACHINE, **varied).resources == {"gpu": ((0.0, 16.0), (8.0, 8.0))}


def test_job_table_reads_pools(tmp_path: Path) -> None:
    text = MACHINE.replace("processors,holds", "pools,holds").replace(",2,,1", ",2,cpu;gpu,1")
    pools = {"processors": None, "capacity": None, "pool:cpu": "18:00=4,02:00=2", "pool:gpu": 3}
    asked = CHANGES | pools
    night = table(tmp_path, text.replace(",2,\n", ",,\n"), **asked)
    assert night.pools == {"cpu": ((0.0, 4), (8.0, 2)), "gpu": 3}
    assert [job.pools for job in night.jobs] == [("cpu", "gpu"), None, None]


WRONG: list[tuple[str | bytes, str]] = [
    ("", "expected a header"),
    (HEADER, "found none; expected a row for each job, below the titles"),
    (b"name\n\x81", "found bytes that are not; expected a table of text in UTF-8"),
    ("name,demand,critical_path\n", "line 1: found 'name', 'demand', 'critical_path'; expected a"),
    (HEADER.replace("demand", "demnd"), "line 1: found 'demnd'; expected a column 'demand'"),
    (HEADER.replace("team", "Name"), "line 1: found 'name' twice; expected each column once"),
    (HEADER.replace("team", "") + LINE, "line 1, cell 6: found none; expected a title"),
    (HEADER + LINE + "b,5\n", "line 3: found 2; expected 6 cells"),
    (HEADER + LINE + "\n" + LINE, "line 4, column 'name': found 'a'; expected a name of its own:"),
    (HEADER + '"a,5,1,1,1,fx\n', "line 2: found unexpected end of data; expected CSV"),
    ('name,demand,critical_path,reward\na,"1,5",1,1\n', "1.5h or 1:30:00, with a decimal point"),
    (HEADER + '"a\nb",1,1,1,1,fx\nc,x,1,1,1,fx\n', "line 4, column 'reward': found 'x'; expected"),
    ("name,reward,tasks,must\na,1,1h,maybe\n", "column 'must': found 'maybe'; expected yes or no"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=range(len(WRONG)))
def test_job_table_refuses_bad_tables(text: str | bytes, says: str, tmp_path: Path) -> None:
    said = str(refusal(table, tmp_path, text))
    assert said.startswith(f"{tmp_path / 'jobs.csv'}: ")
    assert says in said


def test_job_table_reports_a_wrong_cell_once(tmp_path: Path) -> None:
    text = "name,reward,frames,frame_time\na,1,1e9,45:30\nb,1,2,5:00\n"
    said = str(refusal(table, tmp_path, text))
    assert said.count("line 2, column 'frames': found '1e9'") == 1


NUMBERS = ["", "x", "nan", "inf", "1e999", "1,5", "0x10", "--1", "1 2"]


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("column", ["reward", "demand", "critical_path"])
def test_job_table_refuses_bad_numbers(tmp_path: Path, text: str, column: str) -> None:
    cells = {"name": "a", "reward": "1", "demand": "1", "critical_path": "1", column: f'"{text}"'}
    lines = [",".join(cells), "b,1,1,1", ",".join(cells.values())]
    error = refusal(table, tmp_path, "\n".join(lines))
    assert error.place == f"line 3, column {column!r}"
    assert error.found == (repr(text) if text else "an empty cell")
    assert error.expected.startswith("a finite number >= 0")


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("release", "25:00", "06:00 (a time of day)"),
        ("deadline", "30m 1h", "06:00 (a time of day)"),
        ("deadline", "2026-13-01", "2026-11-23T06:00"),
        ("tasks", "12", "stages such as 12x0.5h; 1x2h"),
        ("tasks", "0x1h", "from 1 to 1000000 tasks"),
        ("tasks", "2x1h;;1h", "stages such as"),
        ("tasks", "1x-1h", "stages such as"),
        ("spread", "1.1", "lognormal 0.5"),
        ("seats:houdini", "1.5", "a whole number"),
    ],
)
def test_job_table_refuses_bad_times_and_seats(
    tmp_path: Path, column: str, text: str, expected: str
) -> None:
    cells = {"name": "a", "reward": "1", "tasks": "1h", column: text}
    lines = "\n".join([",".join(cells), ",".join(cells.values())])
    asked: dict[str, Any] = {"start": "2026-11-22T20:00"}
    asked |= {"seats:houdini": 2} if "seats" in column else {}
    error = refusal(table, tmp_path, lines, **asked)
    assert error.place == f"line 2, column {column!r}"
    assert expected in error.expected


OPTIONS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (PLAIN, {}, {"processors": None}, "expected --option processors=16, which"),
    (PLAIN, {}, {"deadline": float("nan")}, "option deadline: found nan; expected a number above"),
    (PLAIN, {}, {"reward": "cubic"}, "option reward: found 'cubic'; expected priority, strict"),
    (HEADER + "a,1,,1,1,fx\n", {}, {"reward": "strict"}, "line 2, column 'priority'"),
    (HEADER + "a,1,-2,1,1,fx\n", {}, {"reward": "priority"}, "found '-2'; expected a number >= 0"),
    (MIXED, {}, {"groups": "taem"}, "option groups: found 'taem'; expected a title of the table"),
    (FARM, EVENING, {"start": "8pm"}, "option start: found '8pm'; expected a time of day such as"),
    (FARM, EVENING, {"deadline": "06:00", "start": None}, "deadline: found the time of day"),
    (FARM, EVENING, {"deadline": "0h"}, "found '0h'; expected a time after the start"),
    (FARM, EVENING, {"unit": "fortnight"}, "unit: found 'fortnight'; expected one of s, m, h, d"),
    (FARM, EVENING, {"seats:houdini": None}, "expected --option seats:houdini=N, since a table"),
    (FARM, EVENING, {"seats:nuke": 2}, "option seats:nuke: found none; expected a column"),
    (MACHINE, CHANGES, {"pool:cpu": 2}, "processors: found 2; expected `pools` or `processors`"),
    (MACHINE, CHANGES, {"pool:cpu": 1.5}, "option pool:cpu: found 1.5; expected a whole number"),
    (
        MACHINE,
        CHANGES,
        {"holds:gpu": "noon"},
        "found 'noon'; expected a time = a number",
    ),
    (MACHINE, CHANGES, {"priority": "lower"}, "priority: found none; expected a column 'priority'"),
    (MACHINE, CHANGES, {"capacity": "20:00=4,19:00=2"}, "capacity[1][0]: found 1.0; expected a"),
    (MACHINE, CHANGES, {"end": "soon"}, "option end: found 'soon'; expected a finite number >= 0"),
    (
        MACHINE.replace("a;b", "a;x"),
        CHANGES,
        {},
        "line 4, column 'after': found 'x'",
    ),
]


@pytest.mark.parametrize(("text", "own", "more", "says"), OPTIONS)
def test_job_table_refuses_wrong_options(
    text: str, own: dict[str, Any], more: dict[str, Any], says: str, tmp_path: Path
) -> None:
    assert says in str(refusal(table, tmp_path, text, **own | more))


# --- clocks that are put forward and back -----------------------------------------------------


@pytest.mark.parametrize(
    ("start", "until", "hours"),
    [
        ("2026-03-28T20:00", "06:00", 9),
        ("2026-10-24T20:00", "06:00", 11),
        ("2026-10-24T20:00", "2026-10-25T02:30", 6.5),
        ("2026-03-28T20:00", "2026-03-29T03:00", 6),
    ],
)
def test_job_table_deadline_follows_clock_changes(
    start: str, until: str, hours: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "name,reward,tasks\na,5,1h\n"
    zoned = table(tmp_path, text, start=f"{start}[Europe/Berlin]", deadline=until, unit="h")
    assert zoned.deadline == hours
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert table(tmp_path, text, start=start, deadline=until, unit="h") == zoned


def test_job_table_refuses_a_time_that_clocks_skip(tmp_path: Path) -> None:
    text = "name,reward,tasks,deadline\na,1,1x1h,02:30\n"
    skipped = "found '02:30'; expected a time that exists: clocks in Europe/Berlin are put forward"
    start = "2027-03-28T02:30[Europe/Berlin]"
    said = str(refusal(table, tmp_path, text, start=start, deadline="9h"))
    assert said.startswith(f"option start: {skipped}")
    start = "2027-03-27T20:00[Europe/Berlin]"
    said = str(refusal(table, tmp_path, text, start=start, deadline="9h"))
    assert f"line 2, column 'deadline': {skipped}" in said
    said = str(refusal(table, tmp_path, PLAIN, start=start, deadline="02:30"))
    assert said.startswith(f"option deadline: {skipped}")
