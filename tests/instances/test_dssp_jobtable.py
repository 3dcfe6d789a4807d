"""Tables of jobs, as CSV, frames and Parquet files: what is read, and what is told."""

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


def test_a_table(tmp_path: Path) -> None:
    night = table(tmp_path, HEADER + "ä,5,-120,9,7,lighting\nb,4.5,,1e1,.5,\n")
    given = {"reward": 5.0, "priority": -120.0, "demand": 9.0, "critical_path": 7.0}
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
        PLAIN.replace("\n", "\r\n"),
        PLAIN.replace("name", "job"),
        PLAIN.replace(",", ";"),
        PLAIN.replace(",", "\t"),
        PLAIN.replace(",", " , "),
        PLAIN.strip(),
        "\n" + PLAIN + "\n\n",
        "\ufeff" + PLAIN,
        PLAIN.replace("critical_path", "Critical Path").replace("name", "NAME"),
        PLAIN.replace("a,", '"a",').replace("demand", '"demand"'),
        "critical_path,demand,name,reward\n3,2,a,1\n",
        gzip.compress(PLAIN.encode(), mtime=0),
    ],
    ids=range(12),
)
def test_the_same_table_in_other_dress(tmp_path: Path, text: str | bytes) -> None:
    (job,) = table(tmp_path, text).jobs
    assert job == Job(name="a", reward=1.0, demand=2.0, critical_path=3.0)


def test_what_is_no_text_or_named_like_a_field_is_no_grouping(tmp_path: Path) -> None:
    night, lines = told(tmp_path, MIXED)
    assert night.groups == {"team": {"fx": [0]}, "code": {"1": [0], "x2": [1]}}
    asks = "; --option groups=... makes it a grouping"
    meant = "left out: call it '{}' if that is what it says" + asks
    assert lines == [
        "columns 'name', 'reward', 'demand', 'critical_path': fields of the jobs",
        "column 'team': a grouping of 1 group",
        "column 'code': a grouping of 2 groups",
        f"column 'frames': left out: numbers{asks}",
        f"column 'due': {meant.format('deadline')}",
        f"column 'Arrival': {meant.format('release')}",
        "column 'empty': left out: empty",
        f"column 'weight': left out: no field of a job's own{asks}",
        "2 jobs read, none left out",
    ]
    night, lines = told(tmp_path, MIXED, groups="frames, team")
    assert night.groups == {"frames": {"100": [0], "200": [1]}, "team": {"fx": [0]}}
    assert "column 'frames': a grouping of 2 groups" in lines
    assert f"column 'code': left out: not asked for{asks}" in lines


@pytest.mark.parametrize(
    "field", ["due", "end", "late", "stages", "constraints", "arrival", "Due Date", "description"]
)
def test_a_field_of_any_name_is_a_grouping_only_if_asked(tmp_path: Path, field: str) -> None:
    for cell in ("5", "tonight"):
        text = f"name,reward,demand,critical_path,{field}\na,5,1,1,{cell}\n"
        assert table(tmp_path, text).groups == {}
        assert table(tmp_path, text, groups=field).groups == {field: {cell: [0]}}


@pytest.mark.parametrize(("reward", "is_worth"), [("linear", 380), ("size", 9), ("banded", 1000)])
def test_a_reward_function_replaces_the_column(
    tmp_path: Path, reward: str, is_worth: float
) -> None:
    for text in (HEADER + LINE, "name,priority,demand,critical_path\na,120,9,7\n"):
        night, lines = told(tmp_path, text, reward=reward)
        assert night.rewards.tolist() == [is_worth]
        left_out = f"column 'reward': left out: the reward is {reward}, as asked"
        assert (lines[0] == left_out) == ("reward" in text)


# --- times, seats and machines ----------------------------------------------------------------


def test_tasks_times_and_seats(tmp_path: Path) -> None:
    night, lines = told(tmp_path, FARM, **EVENING)
    a, b, c = night.jobs
    assert (a.stages, a.deadline) == (((1800.0,) * 12, (7200.0,)), 36000.0)
    assert (b.stages, b.release) == (((7200.0, 1200.0, 1200.0, 1200.0),), 9000.0)
    assert (c.stages, c.release, c.deadline) == (((2700.0,),), 0.0, 9000.0)
    assert (night.deadline, night.processors) == (36000.0, 2)
    assert night.description == "Times are seconds after 2026-11-22T20:00."
    assert night.constraints == (Seats(name="houdini", capacity=2, use={"a": 1, "c": 2}),)
    assert lines == [
        "columns 'name', 'reward', 'tasks', 'release', 'deadline': fields of the jobs",
        "column 'seats:houdini': what each running task holds",
        "column 'team': a grouping of 2 groups",
        "times, and plain numbers, are in seconds after 2026-11-22T20:00; with a date and an "
        "offset, start=2026-11-22T20:00+01:00, plans tell the time",
        "1 job released before the start: there from the start",
        "3 jobs read, none left out",
    ]


TWO_AT_ONCE = ((60.0, 60.0),)


@pytest.mark.parametrize(
    ("text", "options", "fields", "expected"),
    [
        ("a,1,3,90m\nb,1,0.5,30", {"unit": "h", "deadline": "1d"}, "demand", [3.0, 0.5]),
        ("a,1,3,90m\nb,1,0.5,30", {"unit": "h", "deadline": "1d"}, "critical_path", [1.5, 30.0]),
        ("name,reward,Frames,frame time\na,4,4,1.5h", {}, "stages", [((5400.0,) * 4,)]),
        ("name,reward,tasks,task_time\na,1,3,10m", {}, "stages", [((600.0,) * 3,)]),
        ("name,reward,tasks,task_time\na,1,1x5m;2x1m,", {}, "stages", [((300.0,), (60.0, 60.0))]),
        (",2x1m,3m,1m\nb,1,2x1m,,\nc,1,,3m,1m", {}, "demand", [180.0, None, 180.0]),
        (",2x1m,3m,1m\nb,1,2x1m,,\nc,1,,3m,1m", {}, "stages", [TWO_AT_ONCE, TWO_AT_ONCE, None]),
    ],
)
def test_what_is_read(
    tmp_path: Path, text: str, options: dict[str, Any], fields: str, expected: list[Any]
) -> None:
    heads = {
        "a": "name,reward,demand,critical_path\n",
        ",": "name,reward,tasks,demand,critical_path\na,1",
    }
    night, lines = told(tmp_path, heads.get(text[0], "") + text, **{"deadline": "1h", **options})
    assert [getattr(job, fields) for job in night.jobs] == expected
    taken = "times, and plain numbers, are in hours"
    assert (taken in lines) == ("unit" in options)


def test_rewards_are_linear_in_priorities_that_may_be_counted_down(tmp_path: Path) -> None:
    text = "name,priority,tasks\na,100,1h\nb,1,1h\nc,99.5,1h\n"
    night, lines = told(tmp_path, text, deadline="9h", priority="higher")
    assert [job.priority for job in night.jobs] == [0.0, 99.0, 0.5]
    assert [job.reward for job in night.jobs] == [500.0, 401.0, 499.5]
    assert lines[0].startswith("no column 'reward': rewards are linear in the priority")
    assert any("higher is more important, as asked" in line for line in lines)
    night, lines = told(tmp_path, text, deadline="9h")
    assert night.jobs[0].priority == 100.0
    assert any("--option priority=higher" in line for line in lines)


def test_times_of_day_are_those_of_the_zone(tmp_path: Path) -> None:
    start = "2026-03-28T22:00[Europe/Berlin]"  # clocks go forward at two
    text = "name,reward,tasks,release\na,1,1h,04:00\n"
    night = table(tmp_path, text, start=start, deadline="2026-03-29T08:00+02:00", unit="h")
    assert (night.jobs[0].release, night.deadline) == (5, 9)
    assert night.start == "2026-03-28T22:00:00+01:00[Europe/Berlin]"


def test_a_job_whose_deadline_is_over_is_left_out_and_said_to_be(tmp_path: Path) -> None:
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
def test_points_in_time(text: str, start: str | None, after: float) -> None:
    clock = Clock.of("s", start)
    assert clock.point(text) == after
    assert clock.end(text) == (after or 86400.0)


def test_a_spread_is_a_number_or_a_distribution(tmp_path: Path) -> None:
    text = "name,reward,estimate,spread\na,5,2h,0.5\nb,4,30m,\nc,3,1h,lognormal 0.5\n"
    night = table(tmp_path, text, deadline="10h")
    assert [job.stages for job in night.jobs] == [((7200.0,),), ((1800.0,),), ((3600.0,),)]
    assert [job.spread for job in night.jobs] == [0.5, None, Lognormal(sigma=0.5)]


def test_a_frame_and_a_parquet_file_say_what_the_csv_says(tmp_path: Path) -> None:
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
def test_no_cell_does_more_than_be_refused(cell: bytes) -> None:
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


def test_a_machine_that_changes(tmp_path: Path) -> None:
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


def test_pools(tmp_path: Path) -> None:
    text = MACHINE.replace("processors,holds", "pools,holds").replace(",2,,1", ",2,cpu;gpu,1")
    pools = {"processors": None, "capacity": None, "pool:cpu": "18:00=4,02:00=2", "pool:gpu": 3}
    asked = CHANGES | pools
    night = table(tmp_path, text.replace(",2,\n", ",,\n"), **asked)
    assert night.pools == {"cpu": ((0.0, 4), (8.0, 2)), "gpu": 3}
    assert [job.pools for job in night.jobs] == [("cpu", "gpu"), None, None]
