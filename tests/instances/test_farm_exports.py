"""Tables as farm managers export them: titles, frames, progress, licences, filters, many errors."""

import sys
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from builders.jobtable import table, told
from builders.refusals import refusal

import schedopt
from schedopt.instances.constraints import Seats
from schedopt.instances.dssp.columns import FIELDS, PREFIXED, done_of, frame_count
from schedopt.instances.dssp.jobrows import with_points
from schedopt.instances.dssp.jobtable import convert
from schedopt.instances.errors import InputError, TableError
from schedopt.instances.files import encode, parse

EXPORTS = Path(__file__).parents[2] / "instances" / "dssp"
FRAMES = "name,reward,frames,frame_time,chunk,done\n"
DEADLINE = (
    "\ufeffName;Priority;Pool;Frames;Chunk Size;Task Count;Avg Frame Render Time;Progress;Status;"
    "Limits;Dependencies\n"
    "a;84;kestrel;1001-1144;1;144;00:25:57;12,5 %;Queued;houdini;\n"
    "b;93;nightowl;1001-1024;5;5;00:39:14;87 %;Rendering;nuke:2, houdini;a\n"
    "c;20;tide;1-10;1;10;00:01:00;100 %;Completed;;\n"
)


def stages(text: str, folder: Path, **options: Any) -> Any:
    """Return the stages of the only job of a table."""
    (job,) = table(folder, text, **options).jobs
    return job.stages


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("120", 120),
        ("1001-1144", 144),
        ("1-100x2", 50),
        ("1-100:3", 34),
        ("1-10,20-25", 16),
        ("1001-1100,1150,1160-1180", 122),
        ("1-10,5-15", 15),
        ("10-1", 10),
        ("-5-5", 11),
        ("1, 2;3", 3),
    ],
)
def test_frame_count_counts_each_frame_once(text: str, count: int) -> None:
    assert frame_count(text) == count


@pytest.mark.parametrize("text", ["1-", "a-b", "1,200", "0", "1-9999999", "1-10x0", "1--", "1..5"])
def test_frame_count_refuses_what_is_no_range(text: str) -> None:
    assert repr(text)[:3] in str(refusal(frame_count, text))


def test_export_frames_are_cut_into_chunks_without_done_ones(tmp_path: Path) -> None:
    assert stages(FRAMES + "a,1,1-10,2m,4,\n", tmp_path) == ((480.0, 480.0, 240.0),)
    assert stages(FRAMES + "a,1,1-10,2m,4,50 %\n", tmp_path) == ((480.0, 120.0),)
    assert stages(FRAMES + "a,1,1-10,2m,,9\n", tmp_path) == ((120.0,),)
    assert stages("name,reward,tasks,done\na,1,2x1m; 3x2m,3\n", tmp_path) == ((120.0, 120.0),)


def test_export_numbers_beside_ranges_are_single_frames(tmp_path: Path) -> None:
    night = table(tmp_path, FRAMES + "a,1,1150,2m,,\nb,1,1-3,2m,,\n")
    assert [len(job.stages[0]) for job in night.jobs if job.stages] == [1, 3]
    assert len(table(tmp_path, FRAMES + "a,1,1150,2m,,\n").jobs[0].stages[0]) == 1150  # type: ignore[index]


@pytest.mark.parametrize("text", ["101 %", "-1 %", "12.5", "half", "%", "-3"])
def test_done_of_refuses_bad_progress(text: str) -> None:
    assert "how many frames are done" in refusal(done_of, text).expected


@pytest.mark.parametrize("title", ["AvgFrameSec", "Frame Time (s)", "frame_time_seconds"])
def test_export_title_gives_the_unit_of_numbers(tmp_path: Path, title: str) -> None:
    text = f"Job,Pri,Pend,{title}\na,51,3,90.5\n"
    assert stages(text, tmp_path, unit="h")[0] == pytest.approx((90.5 / 3600,) * 3, rel=1e-15)


def test_export_titles_are_recognized(tmp_path: Path) -> None:
    night, lines = told(tmp_path, DEADLINE, keep="Task Count", **{"seats:houdini": 3})
    a, b = night.jobs
    assert a.stages == ((1557.0,) * 126,)
    assert b.stages == ((2354.0 * 4,),)
    assert (a.after, b.after, b.labels) == ((), ("a",), {"Task Count": "5"})
    assert night.constraints == (Seats(name="houdini", capacity=3, use={"a": 1, "b": 1}),)
    assert night.groups == {"Pool": {"kestrel": [0], "nightowl": [1]}}
    assert parse(encode(night)) == night
    unlimited = "licences without a limit: 'nuke'; to limit them: --option seats:nuke=N"
    assert unlimited in lines
    assert lines[-1] == "1 job left out: done: 'c' (line 4)"


@pytest.mark.parametrize("name", ["export-deadline", "export-opencue"])
def test_export_examples_are_read(name: str, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"missing:frame_time": "15m", "duplicates": "number"}
    path, at = EXPORTS / f"{name}.csv", {"processors": 60, "deadline": "10h"}
    night = convert(path, **at, **asked)
    assert len(night.jobs) == 60
    frame = pl.read_csv(path, separator=";" if "deadline" in name else ",", infer_schema=False)
    if name == "export-opencue":
        assert convert(frame, name=name, **at, **asked) == night
        frame.write_parquet(tmp_path / f"{name}.parquet")
        assert convert(tmp_path / f"{name}.parquet", **at, **asked) == night


def test_export_where_drops_dependent_jobs(tmp_path: Path) -> None:
    night, lines = told(tmp_path, DEADLINE, **{"where:status": "rendering,completed"})
    assert night.jobs == ()
    assert "1 job left out: they wait for a job that is left out: 'b' (line 3)" in lines
    night = table(tmp_path, DEADLINE, **{"where:Pool": "Kestrel"})
    assert [job.name for job in night.jobs] == ["a"]
    said = str(refusal(table, tmp_path, DEADLINE, **{"where:status": "queud"}))
    assert "found 'queud'; expected a value of the column (one of 'Queued', " in said


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
    said = str(refusal(table, tmp_path, text.replace("-", "")))
    assert "line 2, column 'frame_time': found an empty cell" in said
    night = table(tmp_path, text, **{"missing:frame_time": "15m"})
    assert night.jobs[0].stages == ((900.0, 900.0),)
    night, lines = told(tmp_path, text, **{"missing:frame_time": "leave-out"})
    assert [job.name for job in night.jobs] == ["b"]
    assert lines[-1] == "1 job left out: no frame_time: 'a' (line 2)"
    asked = {"missing:frame_time": "2m", "missing:reward": "3"}
    assert table(tmp_path, "name,frames\na,2\n", **asked).jobs[0].reward == 3


def test_export_reports_all_wrong_cells_at_once(tmp_path: Path) -> None:
    rows = "".join(f"j{n};x{n};1001-;0:61:00\n" for n in range(6)) + "ok;1;3;00:01:00\n"
    error = refusal(table, tmp_path, f"Job Name;Prio;Frame List;Avg Frame Time\n{rows}")
    assert isinstance(error, TableError)
    assert len(error.errors) == 18
    lines = str(error).splitlines()
    assert len(lines) == 11
    path = tmp_path / "jobs.csv"
    assert lines[0].startswith(f"{path}: line 2, column 'Frame List': found '1001-'; expected fra")
    assert lines[1].startswith(f"{path}: line 2, column 'Avg Frame Time': found '0:61:00'")
    assert lines[2].startswith(f"{path}: line 2, column 'Prio': found 'x0'; expected a finite num")
    assert lines[-1] == "... and 8 more like these"
    said = str(refusal(table, tmp_path, "name,reward,tasks\na,1\nb,1,1h\nc\n"))
    assert [line.split(": ")[1] for line in said.splitlines()] == ["line 2", "line 4"]


@pytest.mark.parametrize(
    ("text", "delimiter", "read"),
    [
        ("3,5", ";", "3.5"),
        ("1.234,5", ";", "1234.5"),
        ("12,5 %", ";", "12.5 %"),
        ("1,5h", ";", "1.5h"),
        ("1 234", ";", "1234"),
        ("1'234.5", ",", "1234.5"),
        ("1,234", ",", "1234"),
        ("1,234,567.25", ",", "1234567.25"),
        ("1,5", ",", "1,5"),
    ],
)
def test_with_points_reads_numbers_by_the_delimiter(text: str, delimiter: str, read: str) -> None:
    assert with_points([text], delimiter) == [read]


def test_export_of_squeue_is_read(tmp_path: Path) -> None:
    text = "NAME|CPUS|TIME_LIMIT|PRIORITY|STATE\nsim|2|1-02:00:00|4294|PENDING\n"
    text += "mesh|1|00:30:00|17|RUNNING\n"
    sim, mesh = table(tmp_path, text, unit="h", deadline="2d").jobs
    assert (sim.stages, sim.processors) == (((26.0,),), 2)
    assert (mesh.stages, mesh.reward) == (((0.5,),), 17.0)


@pytest.mark.parametrize(
    ("times", "seconds"),
    [
        (("45:30", "12:30"), (2730.0, 750.0)),
        (("90:00", "1:00:00"), (5400.0, 3600.0)),
        (("1:30:00", "90m"), (5400.0, 5400.0)),
    ],
)
def test_export_frame_times_are_minutes_where_one_cannot_be_hours(
    times: tuple[str, str], seconds: tuple[float, float], tmp_path: Path
) -> None:
    text = "name,reward,frames,frame_time\n"
    text += "".join(f"j{i},1,1,{time}\n" for i, time in enumerate(times))
    assert tuple(job.stages for job in table(tmp_path, text).jobs) == tuple(
        ((length,),) for length in seconds
    )


@pytest.mark.parametrize("first", ["sep=;\n", '"sep=;"\r\n', "SEP=;\n\n"])
def test_export_first_line_of_excel_names_the_delimiter(first: str, tmp_path: Path) -> None:
    rows = "name;reward;tasks\na,b;1,5;2x1h\n"
    (job,) = table(tmp_path, first + rows).jobs
    assert (job.name, job.reward) == ("a,b", 1.5)
    assert table(tmp_path, "sep=,\nname,reward,tasks\na,1,1h\n").jobs[0].name == "a"
    wrong = str(refusal(table, tmp_path, f"{first}{rows}b;x;1h\n"))
    assert f"line {4 + first.count(chr(10)) - 1}, column 'reward'" in wrong


def test_plan_never_runs_a_job_that_is_too_wide(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    file.write_text("name,reward,tasks,processors\na,2,1h,2\nwide,9,1h,3\n")
    plan = schedopt.plan(file, processors=2, until="2h")
    rows = {row["job"]: (row["run"], row["reason"]) for row in plan.rows}
    assert rows == {"a": (True, ""), "wide": (False, "never")}
    again = schedopt.replan(plan, at=60, state=pl.DataFrame({"job": [""], "processors": ["-1"]}))
    assert not any(row["run"] and row["job"] == "wide" for row in again.rows)


def test_export_names_the_row_of_a_job_that_is_too_wide(tmp_path: Path) -> None:
    text = "NAME,CPUS,TIME_LIMIT,PRIORITY\na,2,1h,1\na,9,1h,1\n"
    said = str(refusal(table, tmp_path, text, duplicates="number"))
    assert "line 3, column 'CPUS': found 9; expected at most 2" in said


def test_export_is_read_without_polars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    night = table(tmp_path, DEADLINE, **{"seats:houdini": 3})
    monkeypatch.setitem(sys.modules, "polars", None)
    assert table(tmp_path, DEADLINE, **{"seats:houdini": 3}) == night


@pytest.mark.parametrize(("encoding", "name"), [("cp1252", "cp1252"), ("utf-16", "UTF-16")])
def test_export_in_an_encoding_of_windows_is_read_with_a_note(
    tmp_path: Path, encoding: str, name: str
) -> None:
    path = tmp_path / "jobs.csv"
    path.write_bytes("name;reward;tasks;team\nStürmisch;5;4x1h;fx\n".encode(encoding))
    lines: list[str] = []
    night = convert(path, processors=2, deadline="9h", tell=lines.append)
    assert night.jobs[0].name == "Stürmisch"
    assert f"the file is not in UTF-8: it is read as {name}" in lines


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"column:fraems": "N"}, "option column:fraems: found 'fraems'; expected a field (did you"),
        ({"where:Stat": "x"}, "option where:Stat: found 'Stat'; expected a title of the table"),
        ({"missing:time": "1"}, "option missing:time: found 'time'; expected a field"),
        (
            {"missing:frame_time": "soon"},
            "option missing:frame_time, column 'frame_time': found 's",
        ),
        ({"duplicates": "drop"}, "option duplicates: found 'drop'; expected one of refuse, number"),
    ],
    ids=str,
)
def test_export_refuses_wrong_options(options: dict[str, str], said: str, tmp_path: Path) -> None:
    text = "name,reward,Frames,frame_time\na,1,2,\n"
    assert said in str(refusal(table, tmp_path, text, **options))


@pytest.mark.parametrize("field", [*FIELDS.values(), *PREFIXED.values()], ids=lambda f: f.name)
def test_export_reads_the_documented_example_of_each_field(field: Any, tmp_path: Path) -> None:
    name = field.name.replace("NAME", "gpu")
    cells = {"name": "a", "reward": "1", "tasks": "1h", name: field.example}
    if name in ("frames", "frame_time", "chunk", "done"):
        cells |= {"frames": "1-12", "frame_time": "1m", name: field.example}
        del cells["tasks"]
    if name == "after":
        cells["after"] = "a" if field.example == "a" else ""
    text = "\n".join(";".join(f'"{cell}"' for cell in row) for row in (cells, cells.values()))
    held = {f"{name}": 3} if ":" in name else {}
    pools = {"pool:cpu": 2, "pool:gpu": 2, "processors": None} if name == "pools" else {}
    try:
        asked = {"processors": 4, "deadline": "10h", "start": "20:00", **held, **pools}
        night = table(tmp_path, text, **asked)
    except InputError as error:
        pytest.fail(str(error))
    assert field.without
    assert field.unit
    assert len(night.jobs) == 1
