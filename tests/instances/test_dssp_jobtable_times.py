"""CSV tables of jobs: tasks, times and seats, and frames and Parquet files of them."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from builders.jobtable import table, told
from builders.refusals import refusal
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.clock import Clock, planned_of, stages_of, start_of
from schedopt.instances.dssp.jobs import History
from schedopt.instances.dssp.jobtable import convert
from schedopt.instances.dssp.scenarios import DECIDING, MILLION, factors, longest
from schedopt.instances.errors import InputError

FARM = """name,reward,team,tasks,release,deadline,seats:houdini
a,5,fx,12x0.5h; 1x2h,,06:00,1
b,4,light,2h+3x20m,22:30,,
c,3,,45m,2026-11-22T19:00,2h 30m,2
"""


def farm(tmp_path: Path, text: str = FARM, **options: Any) -> tuple[Instance, list[str]]:
    given = {"start": "2026-11-22T20:00", "deadline": "10h", "seats:houdini": 2}
    return told(tmp_path, text, **{**given, **options})


def test_tasks_times_and_seats(tmp_path: Path) -> None:
    night, lines = farm(tmp_path)
    assert night == Instance(
        name="jobs",
        description="Times are seconds after 2026-11-22T20:00.",
        processors=2,
        deadline=36000.0,
        jobs=(
            Job(
                name="a",
                reward=5.0,
                groups={"team": "fx"},
                deadline=36000.0,
                stages=((1800.0,) * 12, (7200.0,)),
            ),
            Job(
                name="b",
                reward=4.0,
                groups={"team": "light"},
                release=9000.0,
                stages=((7200.0, 1200.0, 1200.0, 1200.0),),
            ),
            Job(name="c", reward=3.0, deadline=9000.0, stages=((2700.0,),)),
        ),
        constraints=(Seats(name="houdini", capacity=2, use={"a": 1, "c": 2}),),
    )
    assert lines == [
        "columns 'name', 'reward', 'tasks', 'release', 'deadline': fields of the jobs",
        "column 'seats:houdini': a side constraint of seats; 2 of 3 jobs hold some",
        "column 'team': a grouping of 2 groups; 1 of 3 jobs in none",
        "times are in seconds after 2026-11-22T20:00; with a date and an offset, "
        "start=2026-11-22T20:00+01:00, plans tell the time",
        "1 job released before the start: there from the start",
        "3 jobs read, none left out",
    ]


def test_the_unit_is_that_of_plain_numbers(tmp_path: Path) -> None:
    text = "name,reward,demand,critical_path\na,1,3,90m\nb,1,0.5,30\n"
    night, lines = told(tmp_path, text, unit="h", deadline="1d")
    assert night.deadline == 24.0
    assert [(job.demand, job.critical_path) for job in night.jobs] == [(3.0, 1.5), (0.5, 30.0)]
    assert (
        "times are in hours; plain numbers (critical_path, demand) are taken in them too" in lines
    )


def test_a_column_of_counts_and_one_of_lengths(tmp_path: Path) -> None:
    text = "name,priority,tasks,task_time\na,100,3,10m\nb,200,1x5m;2x1m,\n"
    night, lines = told(tmp_path, text, deadline="1h")
    assert [job.stages for job in night.jobs] == [((600.0,) * 3,), ((300.0,), (60.0, 60.0))]
    assert night.rewards.tolist() == [400.0, 300.0]
    assert lines[0].startswith("no column 'reward': rewards are linear in the priority")


def test_predictions_beside_tasks(tmp_path: Path) -> None:
    text = "name,reward,tasks,demand,critical_path\na,1,2x1m,3m,1m\nb,1,2x1m,,\nc,1,,3m,1m\n"
    night, _ = told(tmp_path, text, deadline="1h")
    assert [(job.demand, job.stages) for job in night.jobs] == [
        (180.0, ((60.0, 60.0),)),
        (None, ((60.0, 60.0),)),
        (180.0, None),
    ]


def test_times_of_day_are_those_of_the_zone(tmp_path: Path) -> None:
    start = "2026-03-28T22:00[Europe/Berlin]"  # clocks go forward at two
    text = "name,reward,tasks,release\na,1,1h,04:00\n"
    night, _ = told(tmp_path, text, start=start, deadline="2026-03-29T08:00+02:00", unit="h")
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
    clock = Clock("s", None if start is None else start_of(start))
    assert clock.point(text, "release") == after
    assert clock.end(text, "deadline") == (after or 86400.0)


TIMES = [
    ("release", "25:00", "06:00 (a time of day)"),
    ("release", "-5m", "06:00 (a time of day)"),
    ("release", "90", None),
    ("deadline", "30m 1h", "06:00 (a time of day)"),
    ("deadline", "0", None),
    ("deadline", "2026-13-01", "2026-11-23T06:00"),
    ("deadline", "2026-11-23T06:00+01:00", "no offset"),
    ("tasks", "12", "stages such as 12x0.5h; 1x2h"),
    ("spread", "0.9;1.1; 1.6", None),
    ("spread", "0.9;x", "ratios such as"),
    ("spread", "scenarios 1;two", "ratios such as"),
    ("tasks", "0x1h", "from 1 to 1000000 tasks"),
    ("tasks", "9999999999x1h", "from 1 to 1000000 tasks"),
    ("tasks", "2x", "stages such as"),
    ("tasks", "1h;;1h", "stages such as"),
    ("tasks", "1x06:00", "stages such as"),
    ("tasks", "1x-1h", "stages such as"),
    ("tasks", "2x2h..1h", "ranges from above 0"),
    ("tasks", "2x0..1h", "ranges from above 0"),
    ("tasks", "2x..1h", "stages such as"),
    ("tasks", "2x1h..2h ±20%", "a range or ±"),
    ("tasks", "1h ±100%", "less than ±100%"),
    ("seats:houdini", "1.5", "a whole number"),
    ("seats:houdini", "-1", "a finite number >= 0"),
    ("seats:houdini", "two", "a finite number >= 0"),
]


@pytest.mark.parametrize(
    ("text", "stages", "spread"),
    [
        ("12x20m..50m", ((2100.0,) * 12,), 3 / 7),
        ("12x20..50m", ((2100.0,) * 12,), 3 / 7),
        ("2x0.5h..1h 30m+1x1h; 1h", ((3600.0,) * 3, (3600.0,)), 0.25),
        ("1m..1m", ((60.0,),), 0.0),
        ("2x1h;1m ±30%", ((3600.0,) * 2, (60.0,)), 0.3),
        ("2x1h", ((3600.0,) * 2,), None),
    ],
)
def test_tasks_that_are_guesses(
    text: str, stages: tuple[tuple[float, ...], ...], spread: float | None
) -> None:
    found, by = planned_of(text, Clock("s", None))
    assert found == stages
    assert by == (None if spread is None else pytest.approx(spread, rel=1e-15))


def test_a_history_says_how_far_estimates_are_off(tmp_path: Path) -> None:
    past = tmp_path / "past.csv"
    past.write_text("team,estimate,actual\nfx,1h,90m\nfx,2h,2h\nart,1h,3h\n")
    text = "name,reward,team,estimate,spread\na,5,fx,2h,\nb,4,,30m,\nc,3,art,1h,scenarios 1;2\n"
    night, _ = told(tmp_path, text, deadline="10h", history=str(past))
    assert [job.stages for job in night.jobs] == [((7200.0,),), ((1800.0,),), ((3600.0,),)]
    assert [job.spread for job in night.jobs] == [
        History(ratios=(1.5, 1.0)),
        History(ratios=(1.5, 1.0, 3.0)),
        History(ratios=(1.0, 2.0), joint=True),
    ]
    drawn = factors(night, 0, DECIDING, 50) / MILLION
    assert set(drawn[:, 0]) == {1.0, 1.5} and set(drawn[:, 1]) == {1.0, 1.5, 3.0}
    assert drawn[:, 2].tolist() == [1.0, 2.0] * 25
    assert longest(night) >= 3 * MILLION
    past.write_text("estimate,actual\n0h,90m\n")
    error = refusal(told, tmp_path, text, deadline="10h", history=str(past))
    assert (error.file, error.place) == (str(past), "line 2, column 'actual'")


@pytest.mark.parametrize(("column", "text", "expected"), TIMES)
def test_cells_of_times_and_seats(
    tmp_path: Path, column: str, text: str, expected: str | None
) -> None:
    cells = {"name": "a", "reward": "1", "tasks": "1h", column: text}
    lines = "\n".join([",".join(cells), ",".join(cells.values())])
    given: dict[str, Any] = {"seats:houdini": 2} if "seats" in column else {}
    if expected is None:
        table(tmp_path, lines, start="2026-11-22T20:00")
        return
    error = refusal(table, tmp_path, lines, start="2026-11-22T20:00", **given)
    assert error.place == f"line 2, column {column!r}"
    assert expected in error.expected
    assert error.file == str(tmp_path / "jobs.csv")


@pytest.mark.parametrize(
    ("options", "place", "words"),
    [
        ({"start": "8pm"}, "option start", "a time of day such as 20:00"),
        ({"start": "20:00", "deadline": "2026-11-23T06:00"}, "option deadline", "with a date"),
        ({"deadline": "06:00", "start": None}, "option deadline", "option start"),
        ({"deadline": "0h"}, "option deadline", "after the start"),
        ({"unit": "fortnight"}, "option unit", "one of s, m, h, d"),
        ({"seats:houdini": None}, "option", "option 'seats:houdini', how many there are"),
        ({"seats:nuke": 2}, "option seats:nuke", "a column seats:nuke"),
        ({"seats:": 2}, "option", "an option of table"),
    ],
)
def test_wrong_options_of_times_and_seats(
    tmp_path: Path, options: dict[str, Any], place: str, words: str
) -> None:
    given = {"start": "2026-11-22T20:00", "deadline": "10h", "seats:houdini": 2, **options}
    with pytest.raises(InputError, match=words) as caught:
        table(tmp_path, FARM, **{key: value for key, value in given.items() if value is not None})
    assert caught.value.place == place


def test_a_frame_and_a_parquet_file_say_what_the_csv_says(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(FARM.replace("22:30", "2026-11-22T22:30").replace("06:00", "10h"))
    given: dict[str, Any] = {
        "processors": 2,
        "deadline": "10h",
        "start": "2026-11-22T20:00",
        "seats:houdini": 2,
    }
    night = convert(path, **given)
    stamps = {"release": pl.String, "deadline": pl.String}
    frame = pl.read_csv(path, schema_overrides=stamps).with_columns(
        pl.col("release").str.to_datetime("%Y-%m-%dT%H:%M")
    )
    frame.write_parquet(tmp_path / "jobs.parquet")
    assert convert(frame, **given) == night
    assert convert(tmp_path / "jobs.parquet", **given) == night
    pandas = pytest.importorskip("pandas")
    same = pandas.DataFrame(frame.to_dicts())
    assert convert(same, **given) == night
    same.to_excel(tmp_path / "jobs.xlsx", index=False)
    assert convert(tmp_path / "jobs.xlsx", **given) == night
    with pytest.raises(InputError, match="a name of its own: row 1 has it already") as caught:
        convert(pl.concat([frame, frame]), **given)
    assert (caught.value.file, caught.value.place) == ("the frame", "row 4, column 'name'")


@given(st.binary(max_size=80) | st.text("0123456789:-+TZxhmsd.; eE,×", max_size=30).map(str.encode))
def test_no_cell_does_more_than_be_refused(cell: bytes) -> None:
    text = cell.decode("utf-8", "replace")
    clock = Clock("h", start_of("2026-11-22T20:00"))
    for read in (
        lambda: clock.end(text, "deadline"),
        lambda: clock.point(text, "release"),
        lambda: sum(map(sum, stages_of(text, clock))),
    ):
        try:
            assert np.isfinite(read())
        except InputError:
            continue
