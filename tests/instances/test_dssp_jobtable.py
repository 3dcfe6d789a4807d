"""Tables of jobs, as CSV, frames and Parquet files: what is read, told and refused."""

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from builders.jobtable import CHANGES, DEADLINE, EVENING, FARM, HEADER, LINE, MACHINE, table, told
from builders.refusals import refusal
from hypothesis import given
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.clock import Clock, stages_of
from schedopt.instances.dssp.columns import FIELDS, PREFIXED, frame_count
from schedopt.instances.dssp.jobtable import convert, with_points
from schedopt.instances.errors import InputError

PLAIN = "name,reward,demand,critical_path\na,1,2,3\n"
TASKS = "name,reward,tasks\na,5,1h\n"


def test_job_table_becomes_an_instance(tmp_path: Path) -> None:
    night = table(tmp_path, HEADER + "ä,5,-120,9,7,lighting\nb,4.5,,1e1,.5,\n")
    given = {"reward": 5.0, "priority": 0.0, "demand": 9.0, "critical_path": 7.0}
    a = Job(name="ä", groups={"team": "lighting"}, **given)
    b = Job(name="b", reward=4.5, demand=10.0, critical_path=0.5)
    assert night == Instance(name="jobs", processors=2, deadline=10.0, jobs=(a, b))
    path = tmp_path / "shots.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert convert(path, processors=1, deadline=1).name == "shots"
    assert table(tmp_path, PLAIN, name="tonight").name == "tonight"


def test_job_table_takes_text_columns_as_groupings(tmp_path: Path) -> None:
    text = "name,reward,demand,critical_path,team,frames,due,code,weight\n"
    text += "a,5,1,1,fx,100,06:00,1,heavy\nb,4,1,1,,200,07:00,x2,light\n"
    night, lines = told(tmp_path, text)
    assert night.groups == {"team": {"fx": [0]}, "code": {"1": [0], "x2": [1]}}
    assert any("columns not used: 'frames', 'due', 'weight'" in line for line in lines)
    night = table(tmp_path, text, groups="frames, team")
    assert night.groups == {"frames": {"100": [0], "200": [1]}, "team": {"fx": [0]}}


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
    assert night.description == "Times are seconds after 2026-11-22T20:00+01:00."
    assert night.constraints == (Seats(name="houdini", capacity=2, use={"a": 1, "c": 2}),)
    assert "1 job released before the start: available from the start" in lines
    assert lines[-1] == "3 jobs read, none left out"


@pytest.mark.parametrize(
    ("text", "options", "field", "expected"),
    [
        ("demand,critical_path\na,1,3,90m", {"unit": "h", "deadline": 9}, "critical_path", 1.5),
        ("Frames,frame time\na,4,4,1.5h", {}, "stages", ((5400.0,) * 4,)),
        ("tasks,task_time\na,1,1x5m;2x1m,", {}, "stages", ((300.0,), (60.0, 60.0))),
        ("tasks,demand,critical_path\na,1,2x1m,3m,1m", {}, "demand", 180.0),
        ("frames,frame_time\na,1,1,1:30:00", {}, "stages", ((5400.0,),)),
    ],
)
def test_job_table_fields_are_read_in_the_unit_of_the_table(
    tmp_path: Path, text: str, options: dict[str, Any], field: str, expected: object
) -> None:
    night = table(tmp_path, f"name,reward,{text}\n", **{"deadline": "1h", **options})
    assert getattr(night.jobs[0], field) == expected


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
        ("2026-03-29T03:00+02:00", "2026-03-29T01:30:00+01:00", 1800.0),
        ("2026-11-23T06:00:00.5Z", "2026-11-22T20:00Z", 36000.5),
        ("23.11.2026 06:00", "2026-11-22T20:00", 36000.0),
        ("2026-11-22T19:00", "2026-11-22T20:00", -3600.0),
        ("1:30:00", "20:00", 19800.0),
        ("1e2", None, 100.0),
    ],
)
def test_clock_reads_points_in_time(text: str, start: str | None, after: float) -> None:
    clock = Clock.of("s", start)
    assert clock.point(text) == after
    assert clock.end(text) == (after or 86400.0)


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
    for read in (frame, tmp_path / "jobs.parquet", pandas.DataFrame(frame.to_dicts())):
        assert convert(read, **asked) == night
    error = refusal(convert, pl.concat([frame, frame]), **asked)
    assert str(error).startswith("the frame: row 4, column 'name': ")


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
    text = "name,reward,tasks,pools\na,1,1h,cpu;gpu\nb,1,1h,\n"
    pools = {"processors": None, "pool:cpu": "18:00=4,02:00=2", "pool:gpu": 3}
    night = table(tmp_path, text, **{"start": "18:00", "unit": "h", **pools})
    assert night.pools == {"cpu": ((0.0, 4), (8.0, 2)), "gpu": 3}
    assert [job.pools for job in night.jobs] == [("cpu", "gpu"), None]


@pytest.mark.parametrize(
    ("start", "until", "hours"),
    [
        ("2026-03-28T20:00", "06:00", 9),
        ("2026-10-24T20:00", "06:00", 11),
        ("2026-10-24T20:00", "2026-10-25T02:30", 6.5),
    ],
)
def test_job_table_deadline_follows_clock_changes(
    start: str, until: str, hours: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zoned = table(tmp_path, TASKS, start=f"{start}[Europe/Berlin]", deadline=until, unit="h")
    assert zoned.deadline == hours
    monkeypatch.setenv("TZ", "Europe/Berlin")
    assert table(tmp_path, TASKS, start=start, deadline=until, unit="h") == zoned


# --- exports of farm managers -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("120", 120),
        ("1001-1144", 144),
        ("1-100x2", 50),
        ("1001-1100,1150,1160-1180", 122),
        ("1-10,5-15", 15),
        ("1, 2;3", 3),
    ],
)
def test_frame_count_counts_each_frame_once(text: str, count: int) -> None:
    assert frame_count(text) == count


@pytest.mark.parametrize(
    ("row", "stage"),
    [
        ("1-10,2m,4,", (480.0, 480.0, 240.0)),
        ("1-10,2m,4,50 %", (480.0, 120.0)),
        ("1-10,2m,,9", (120.0,)),
        ("3,2m,,\nb,1,1-2,1m,,", (120.0,)),  # among ranges, a number is one frame
    ],
)
def test_export_frames_are_cut_into_chunks_without_done_ones(
    tmp_path: Path, row: str, stage: tuple[float, ...]
) -> None:
    text = f"name,reward,frames,frame_time,chunk,done\na,1,{row}\n"
    assert table(tmp_path, text).jobs[0].stages == (stage,)


def test_export_titles_are_recognized(tmp_path: Path) -> None:
    night, lines = told(tmp_path, DEADLINE, keep="Task Count", **{"seats:houdini": 3})
    a, b = night.jobs
    assert a.stages == ((1557.0,) * 126,)
    assert b.stages == ((2354.0 * 4,),)
    assert (a.after, b.after, b.labels) == ((), ("a",), {"Task Count": "5"})
    assert night.constraints == (Seats(name="houdini", capacity=3, use={"a": 1, "b": 1}),)
    assert night.groups == {"Pool": {"kestrel": [0], "nightowl": [1]}}
    assert files.parse(files.encode(night)) == night
    unlimited = "licences without a limit: 'nuke'; to limit them: --option seats:nuke=N"
    assert unlimited in lines
    assert lines[-1] == "1 job left out: done: 'c' (line 4)"


def test_export_where_drops_dependent_jobs(tmp_path: Path) -> None:
    night, lines = told(tmp_path, DEADLINE, **{"where:status": "rendering,completed"})
    assert night.jobs == ()
    assert "1 job left out: they wait for a job that is left out: 'b' (line 3)" in lines
    night = table(tmp_path, DEADLINE, **{"where:Pool": "Kestrel"})
    assert [job.name for job in night.jobs] == ["a"]


def test_export_job_does_not_wait_for_a_completed_one(tmp_path: Path) -> None:
    text = "name,reward,tasks,status,after,seats\na,1,1m,Completed,,\nb,1,1m,queued,a,x\n"
    text += "c,1,1m,paused,,x\nd,1,1m,queued,c,x\n"
    night = table(tmp_path, text, **{"where:status": "queued", "seats:x": 2})
    assert [(job.name, job.after) for job in night.jobs] == [("b", ())]
    assert night.constraints == (Seats(name="x", capacity=2, use={"b": 1}),)


def test_export_duplicates_are_numbered(tmp_path: Path) -> None:
    text = "name,reward,tasks,after\na,1,1m,\na,1,1m,\na_2,1,1m,\nb,1,1m,a\n"
    assert "--option duplicates=number numbers them" in str(refusal(table, tmp_path, text))
    night, lines = told(tmp_path, text, duplicates="number")
    assert [job.name for job in night.jobs] == ["a", "a_3", "a_2", "b"]
    assert night.jobs[-1].after == ("a", "a_3")
    assert "1 job renamed: 'a_3'" in lines


def test_export_missing_cells_have_a_value_or_drop_the_job(tmp_path: Path) -> None:
    text = "name,reward,frames,frame_time\na,1,2,-\nb,1,2,1m\n"
    said = str(refusal(table, tmp_path, text))
    assert "line 2, column 'frame_time': found an empty cell" in said
    night = table(tmp_path, text, **{"missing:frame_time": "15m"})
    assert night.jobs[0].stages == ((900.0, 900.0),)
    night, lines = told(tmp_path, text, **{"missing:frame_time": "leave-out"})
    assert [job.name for job in night.jobs] == ["b"]
    assert lines[-1] == "1 job left out: no frame_time: 'a' (line 2)"


@pytest.mark.parametrize(
    ("text", "delimiter", "read"),
    [
        ("1.234,5", ";", "1234.5"),
        ("1,5h", ";", "1.5h"),
        ("1'234.5", ",", "1234.5"),
        ("1,5", ",", "1,5"),
    ],
)
def test_with_points_reads_numbers_by_the_delimiter(text: str, delimiter: str, read: str) -> None:
    assert with_points([text], delimiter) == [read]


@pytest.mark.parametrize(("encoding", "name"), [("cp1252", "cp1252"), ("utf-16", "UTF-16")])
def test_export_of_excel_is_read_with_a_note(encoding: str, name: str, tmp_path: Path) -> None:
    text = "sep=;\r\nname;reward;tasks;team\nStür,misch;1,5;4x1h;fx\n"
    night, lines = told(tmp_path, text.encode(encoding), deadline="9h")
    assert (night.jobs[0].name, night.jobs[0].reward) == ("Stür,misch", 1.5)
    assert f"the file is not in UTF-8: it is read as {name}" in lines


@pytest.mark.parametrize("field", [*FIELDS.values(), *PREFIXED.values()], ids=lambda f: f.name)
def test_export_reads_the_documented_example_of_each_field(field: Any, tmp_path: Path) -> None:
    name = field.name.replace("NAME", "gpu")
    cells = {"name": "a", "reward": "1", "tasks": "1h", name: field.example}
    if name in ("frames", "frame_time", "chunk", "done"):
        cells |= {"frames": "1-12", "frame_time": "1m", name: field.example}
        del cells["tasks"]
    if name == "after":
        cells["after"] = ""
    text = "\n".join(";".join(f'"{cell}"' for cell in row) for row in (cells, cells.values()))
    held = {f"{name}": 3} if ":" in name else {}
    pools = {"pool:cpu": 2, "pool:gpu": 2, "processors": None} if name == "pools" else {}
    asked = {"processors": 4, "deadline": "10h", "start": "20:00", **held, **pools}
    assert len(table(tmp_path, text, **asked).jobs) == 1


# --- what is refused --------------------------------------------------------------------------

WRONG: list[tuple[str | bytes, str]] = [
    ("", "expected a header"),
    (b"name\n\x81", "found bytes that are not; expected a table of text in UTF-8"),
    ("name,demand,critical_path\n", "line 1: found 'name', 'demand', 'critical_path'; expected a"),
    (HEADER.replace("demand", "demnd"), "line 1: found 'demnd'; expected a column 'demand'"),
    (HEADER + LINE + "b,5\n", "line 3: found 2; expected 6 cells"),
    (HEADER + LINE + "\n" + LINE, "line 4, column 'name': found 'a'; expected a name of its own:"),
    ('name,demand,critical_path,reward\na,"1,5",1,1\n', "1.5h or 1:30:00, with a decimal point"),
    (HEADER + '"a\nb",1,1,1,1,fx\nc,x,1,1,1,fx\n', "line 4, column 'reward': found 'x'; expected"),
    (HEADER + "a,-1,1,1,1,fx\n", "column 'reward': found '-1'; expected a finite number >= 0"),
    ("name,reward,tasks,release\na,1,1h,25:00\n", "column 'release': found '25:00'; expected"),
    ("name,reward,tasks\na,1,12\n", "expected stages such as 12x0.5h; 1x2h"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=range(len(WRONG)))
def test_job_table_refuses_bad_tables(text: str | bytes, says: str, tmp_path: Path) -> None:
    said = str(refusal(table, tmp_path, text))
    assert said.startswith(f"{tmp_path / 'jobs.csv'}: ")
    assert says in said


def test_job_table_reports_the_first_ten_wrong_cells(tmp_path: Path) -> None:
    rows = "".join(f"j{n};x{n};1001-;0:61:00\n" for n in range(6)) + "ok;1;3;00:01:00\n"
    text = f"Job Name;Prio;Frame List;Avg Frame Time\n{rows}"
    lines = str(refusal(table, tmp_path, text)).splitlines()
    path = tmp_path / "jobs.csv"
    assert lines[0].startswith(f"{path}: line 2, column 'Frame List': found '1001-'; expected fra")
    assert lines[1].startswith(f"{path}: line 2, column 'Avg Frame Time': found '0:61:00'")
    assert lines[2].startswith(f"{path}: line 2, column 'Prio': found 'x0'; expected a finite num")
    assert lines[10:] == ["... and 8 more like these"]


OPTIONS: list[tuple[str, dict[str, Any], dict[str, Any], str]] = [
    (PLAIN, {}, {"processors": None}, "expected --option processors=16, which"),
    (HEADER + "a,1,-2,1,1,fx\n", {}, {"reward": "priority"}, "found '-2'; expected a number >= 0"),
    (HEADER + LINE, {}, {"groups": "taem"}, "option groups: found 'taem'; expected a title of the"),
    (FARM, EVENING, {"deadline": "06:00", "start": None}, "deadline: found the time of day"),
    (FARM, EVENING, {"seats:houdini": None}, "expected --option seats:houdini=N, since a table"),
    (MACHINE.replace("a;b", "a;x"), CHANGES, {}, "line 4, column 'after': found 'x'"),
    (PLAIN, {}, {"column:fraems": "N"}, "option column:fraems: found 'fraems'; expected a field"),
    (PLAIN, {}, {"where:name": "x"}, "found 'x'; expected a value of the column (one of 'a')"),
]


@pytest.mark.parametrize(("text", "own", "more", "says"), OPTIONS)
def test_job_table_refuses_wrong_options(
    text: str, own: dict[str, Any], more: dict[str, Any], says: str, tmp_path: Path
) -> None:
    assert says in str(refusal(table, tmp_path, text, **own | more))
