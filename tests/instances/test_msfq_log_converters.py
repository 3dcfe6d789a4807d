"""Logs of other formats as jobs: what is taken, and what is left out or changed, counted."""

from pathlib import Path
from typing import Any

import pytest
from builders.effort import tried
from builders.refusals import refusal
from builders.swf import line, said, saved
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, load
from schedopt.instances.msfq import swf
from schedopt.instances.msfq.log_converters import convert
from schedopt.instances.msfq.swf import convert as convert_swf

REAL = Path(files.__file__).resolve().parents[1].parent / "shared" / "data" / "swf"


def test_every_job_of_a_log(tmp_path: Path) -> None:
    path = saved(
        tmp_path,
        line(1, 0, 60, 2, planned=100, user=3, group=1, queue=0),
        line(2, 10, 30, -1, asked=4, user=4, planned=20),
        line(3, 10, 5, 1, status=2),
        line(4, 10, 5, 0),
        line(5, 11, -1),
        line(6, 12, 0),
        name="toy.swf.gz",
    )
    queue = convert(path)
    assert (queue.name, queue.servers, queue.log) == ("toy", 8, "toy.parquet")
    assert queue.jobs.submit.tolist() == [0, 10]
    assert queue.jobs.need.tolist() == [2, 4]
    assert queue.jobs.estimate.tolist() == [100, 30]
    assert (queue.jobs.user.names, queue.jobs.user.codes.tolist()) == (("3", "4"), [0, 1])
    assert (queue.jobs.queue.names, queue.jobs.queue.codes.tolist()) == (("0",), [0, -1])
    assert queue.jobs.name.tolist() == ["1", "2"]
    assert (queue.description or "").startswith("2 of 6 jobs of toy (Toy); ")
    assert said(queue) == [
        "1 left out, a part of another",
        "1 with the processors asked for, since those used are unknown",
        "1 left out, of unknown run time",
        "1 left out, of unknown processors",
        "1 left out, of no run time",
        "1 that ran longer than their estimate, which was raised",
    ]
    dump(queue, tmp_path / "toy.json")
    assert load(tmp_path / "toy.json").jobs.run.tolist() == [60, 30]


RULES: list[tuple[dict[str, Any], list[float], list[float], list[float], str]] = [
    ({}, [5, 8], [2, 1], [9, 4], "1 left out, wider than the machine's 8 processors"),
    ({"wide": "clip"}, [4, 5, 8], [8, 2, 1], [3, 9, 4], "taken to need all of them"),
    (
        {},
        [5, 8],
        [2, 1],
        [9, 4],
        "1 submitted before a job above (1 times the log goes back by an "
        "hour or less, as clocks may in autumn), put in order",
    ),
    ({"unordered": "raise"}, [8, 8], [1, 2], [4, 9], "taken to come with that one"),
    ({"zero": "one"}, [5, 8, 9], [2, 1, 1], [9, 4, 1], "1 of no run time, taken to be 1"),
    ({"overrun": "clip"}, [5, 8], [2, 1], [9, 3], "longer than their estimate, cut off there"),
    ({"overrun": "drop"}, [5], [2], [9], "1 left out, that ran longer than their estimate"),
    ({"overrun": "keep"}, [5, 8], [2, 1], [9, 4], "1 that ran longer than their estimate"),
    ({"unestimated": "drop"}, [8], [1], [4], "1 left out, of unknown estimate"),
    ({"unestimated": "run"}, [5, 8], [2, 1], [9, 4], "taken to be the run time"),
    ({"jobs": 1}, [5], [2], [9], "1 left out, of a run time below 0"),
    ({"start": 6, "end": 9}, [8], [1], [4], "1 left out, wider"),
    ({"processors": 9}, [4, 5, 8], [9, 2, 1], [3, 9, 4], "1 left out, of a run time below 0"),
]


@pytest.mark.parametrize(("options", "submit", "need", "run", "words"), RULES)
def test_a_rule_does_what_it_says(  # noqa: PLR0917
    tmp_path: Path,
    options: dict[str, Any],
    submit: list[float],
    need: list[float],
    run: list[float],
    words: str,
) -> None:
    rows = ["submit,need,run,estimate", "8,1,4,3", "4,9,3,3", "5,2,9,", "9,1,0,1", "7,1,-4,1"]
    if "start" in options:
        rows[2] = "8,9,3,3"
    path = tmp_path / "log.csv"
    path.write_text("\n".join(rows))
    queue = convert(path, **{"processors": 8, "log": "other.csv"} | options)
    assert queue.jobs.submit.tolist() == submit
    assert queue.jobs.need.tolist() == need
    assert queue.jobs.run.tolist() == run
    assert any(words in note for note in said(queue)), said(queue)


@pytest.mark.parametrize(
    "rule", ["wide", "negative", "missing", "zero", "unordered", "overrun", "unestimated"]
)
def test_a_rule_may_refuse(tmp_path: Path, rule: str) -> None:
    rows = {
        "wide": "9,9,1,1",
        "negative": "9,1,-1,1",
        "missing": "9,1,,1",
        "zero": "9,1,0,1",
        "unordered": "0,1,1,1",
        "overrun": "9,1,2,1",
        "unestimated": "9,1,1,",
    }
    path = tmp_path / "log.csv"
    path.write_text(f"submit,need,run,estimate\n5,1,1,1\n{rows[rule]}\n")
    convert(path, processors=8)
    with pytest.raises(InputError, match=r"log\.csv: line 3: found 1; expected no job"):
        convert(path, processors=8, **{rule: "refuse"})


def test_a_log_of_no_usable_job_says_why(tmp_path: Path) -> None:
    path = saved(tmp_path, line(1, 0, -1), line(2, 5, 10, 9), line(3, -4, 1))
    error = refusal(convert, path)
    assert str(error) == (
        f"{path}: found none of 3: 1 left out, of unknown run time; 1 left out, of a submit time "
        "below 0; 1 left out, wider than the machine's 8 processors; expected a job or more that "
        "can be replayed"
    )


def test_the_longer_form_tells_of_nodes(tmp_path: Path) -> None:
    lines = [line(1, 0, 10, 8, nodes=2), line(2, 1, 10, 4, nodes=1)]
    assert convert(saved(tmp_path, *lines)).jobs.need.tolist() == [8, 4]
    queue = convert(saved(tmp_path, *lines), unit="nodes")
    assert (queue.servers, queue.jobs.need.tolist()) == (4, [2, 1])
    classes = convert_swf(saved(tmp_path, *lines))
    assert [job.need for job in classes.classes] == [4, 8]
    with pytest.raises(InputError, match="a log of 21 fields, the last of which is nodes"):
        convert(saved(tmp_path, line(1, 0, 10)), unit="nodes")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ("1 2 3", "line 7: found 3: '1 2 3'; expected the 18 fields"),
        (line(1, 0, 1).replace("1", "x", 1), "line 7: found 'x'; expected a number (field 1)"),
        (line(1, 0, 1) + "e", "line 7: found '-1e'; expected a number (field 18)"),
        (line(1, 0, 1).replace(" -1", " nan", 1), "found 'nan'"),
    ],
)
def test_a_broken_line_is_named(tmp_path: Path, bad: str, words: str) -> None:
    error = refusal(convert, saved(tmp_path, line(0, 0, 1), bad))
    assert words in str(error)


SACCT = """JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|AllocCPUS|NNodes|Timelimit
10|a|ann|phys|main|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:05|2024-03-01T11:00:05|01:00:00|16|1|02:00:00
10.batch|batch||phys||COMPLETED|2024-03-01T10:00:05|2024-03-01T10:00:05|2024-03-01T11:00:05|01:00:00|16|1|
11_1|b|bob|chem|main|CANCELLED by 7|2024-03-01T10:00:10|2024-03-01T10:01:00|2024-03-03T10:01:01|2-00:00:01|8|1|UNLIMITED
11_[2-9]|b|bob|chem|main|PENDING|2024-03-01T10:00:10|Unknown|Unknown|00:00:00|0|1|UNLIMITED
12|c|bob|chem|fast|RUNNING|2024-03-01T10:00:12|2024-03-01T10:01:00|Unknown|00:10:00|8|1|10:00
13|d|cy|chem|fast|CANCELLED|2024-03-01T10:00:20|Unknown|2024-03-01T10:00:25|00:00:00|0|1|10:00
14|e|x|cy|chem|fast|COMPLETED|2024-03-01T10:00:20|2024-03-01T10:00:20|2024-03-01T10:00:25|00:00:05|1|1|10:00
15+0|f|cy|chem|fast|TIMEOUT|2024-03-01T10:00:30|2024-03-01T10:00:30|2024-03-01T10:10:31|10:01.500|0|2|10:00
"""  # noqa: E501


def test_a_dump_of_sacct(tmp_path: Path) -> None:
    path = tmp_path / "dump.txt"
    path.write_text(SACCT)
    queue = convert(path, processors=64)
    jobs = queue.jobs
    assert jobs.name.tolist() == ["10", "11_1"]
    assert (queue.description or "").startswith("2 of 8 jobs of dump; ")
    assert jobs.submit.tolist() == [0, 10]
    assert jobs.run.tolist() == [3600, 2 * 86400 + 1]
    assert jobs.need.tolist() == [16, 8]
    assert jobs.planned().tolist() == [7200, 2 * 86400 + 1]
    assert jobs.user.names == ("ann", "bob")
    assert jobs.group.names == ("phys", "chem")
    assert jobs.queue.names == ("main",)
    assert said(queue) == [
        "1 left out, of another number of cells than the header's 13 (first: line 8)",
        "1 left out, a step of a job",
        "1 left out, of an array that has not begun",
        "1 components of heterogeneous jobs, each taken as a job",
        "1 left out, that had not ended",
        "1 left out, that never ran",
        "times shifted: 0 is 2024-03-01T10:00:00 on the local clock",
        "columns not taken: jobname, nnodes",
        "1 left out, of unknown processors",
        "1 of unknown estimate",
    ]
    nodes = convert(path, processors=64, unit="nodes", states="timeout,completed")
    assert nodes.jobs.name.tolist() == ["10", "15+0"]
    assert nodes.jobs.need.tolist() == [1, 2]
    assert nodes.jobs.run.tolist() == [3600, 601.5]
    assert nodes.jobs.planned().tolist() == [7200, 601.5]
    assert "2 left out, in no state of timeout,completed" in said(nodes)


def test_minutes_of_a_raw_limit_and_the_epoch(tmp_path: Path) -> None:
    path = tmp_path / "dump"
    path.write_text("JobIDRaw|Submit|ElapsedRaw|ReqCPUS|TimelimitRaw\n1|1709287200|60|2|30\n")
    jobs = convert(path, processors=4, format="sacct").jobs
    assert (jobs.submit[0], jobs.run[0], jobs.planned()[0]) == (1709287200, 60, 1800)


def test_clocks_that_change_are_counted(tmp_path: Path) -> None:
    rows = [
        "Submit|ElapsedRaw|NCPUS|JobID|Start|End",
        "2024-03-31T01:30:00|60|1|1|2024-03-31T01:30:00|2024-03-31T01:31:00",
        "2024-03-31T02:30:00|60|1|2|2024-03-31T02:30:00|2024-03-31T02:31:00",
        "2024-03-31T03:30:00|60|1|3|2024-03-31T01:59:30|2024-03-31T03:00:30",
        "2024-10-27T02:30:00|60|1|4|2024-10-27T02:30:00|2024-10-27T02:31:00",
        "2024-10-27T03:30:00|60|1|5|2024-10-27T03:30:00|2024-10-27T03:31:00",
    ]
    path = tmp_path / "dump.txt"
    path.write_text("\n".join(rows))
    plain = convert(path, processors=4)
    assert plain.jobs.submit.tolist()[:3] == [0, 3600, 7200]
    assert any("1 that ran while clocks changed" in note for note in said(plain))
    placed = convert(path, processors=4, timezone="Europe/Stockholm")
    # 01:30 winter time; 02:30, which there was not, is 03:30 summer time; so is 03:30.
    assert placed.jobs.submit.tolist()[:3] == [0, 3600, 3600]
    assert placed.jobs.submit[4] - placed.jobs.submit[3] == 7200
    assert said(placed) == [
        "1 submit times in an hour that the clock skips in spring, taken to be the hour after",
        "1 submit times in an hour that the clock has twice in autumn, taken to be its first",
        "times shifted: 0 is 2024-03-31T00:30:00 UTC",
        "no estimates",
    ]


def test_columns_are_named_by_options(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        'Id;When;Cores;From;To;Who\n7;2024-01-01 00:00:00Z;4;10;30.5;"a;b"\n'
        "8;2024-01-01T01:00:01+01:00;1;12;13;c\n"
    )
    named = {"submit": "When", "need": "Cores", "began": "From", "ended": "To", "user": "Who"}
    queue = convert(path, processors=4, job="Id", **named)
    assert queue.jobs.submit.tolist() == [0, 1]
    assert queue.jobs.run.tolist() == [20.5, 1]
    assert queue.jobs.user.names == ("a;b", "c")
    assert queue.jobs.name.tolist() == ["7", "8"]
    assert said(queue) == [
        "times shifted: 0 is 2024-01-01T00:00:00 on its own clock",
        "no estimates",
    ]
    for options, words in (
        ({"submit": "Wen"}, "option submit: found 'Wen'; expected the title of a column"),
        ({"need": None}, "or option need=TITLE"),
        ({"began": None}, "'run' (or began and ended)"),
        ({"user": "Id", "queu": "Id"}, "option"),
        ({"run": "Who"}, "line 2, column 'Who': found 'a;b', and 1 more like it"),
    ):
        given = {key: title for key, title in (named | options).items() if title}
        assert words in str(refusal(convert, path, processors=4, **given))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "this log does not say what the machine has"),
        ({"processors": 0}, "a whole number from 1"),
        ({"processors": 4, "wide": "maybe"}, "one of drop, clip, refuse"),
        ({"processors": 4, "log": "jobs.csv"}, "another name than the log's own"),
        ({"processors": 4, "log": "x.xls"}, "a name that ends in .parquet"),
        ({"processors": 4, "timezone": "Mars/North"}, "a time zone"),
        ({"processors": 4, "unit": "nodes"}, "an option of convert of csv to jobs"),
    ],
)
def test_options_are_checked(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("submit,need,run\n0,1,1\n")
    with pytest.raises(InputError, match=words):
        convert(path, **options)


def test_a_log_becomes_classes_or_jobs(tmp_path: Path) -> None:
    path = saved(tmp_path, line(1, 0, 60, 2), line(2, 10, 30, 1))
    assert len(convert_swf(path).classes) == 2
    assert len(convert_swf(path, **{"as": "jobs"}).jobs) == 2
    assert {"as", "needs", "wide", "unit", "submit"} <= set(swf.OPTIONS)
    assert "one of classes, jobs" in str(refusal(convert_swf, path, **{"as": "tasks"}))
    assert "an option of convert to msfq classes" in str(refusal(convert_swf, path, wide="clip"))
    with pytest.raises(InputError, match="an option of convert of swf to jobs"):
        convert_swf(path, **{"as": "jobs", "needs": "exact"})


@tried(60, st.lists(st.tuples(*[st.integers(-2, 9)] * 4), min_size=1, max_size=12))
def test_every_job_is_taken_or_counted(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[int, int, int, int]]
) -> None:
    lines = [
        line(i, submit, run, used, planned=planned)
        for i, (submit, run, used, planned) in enumerate(rows)
    ]
    path = saved(tmp_path_factory.mktemp("log"), *lines)
    try:
        queue = convert(path)
        taken, notes = len(queue.jobs), said(queue)
    except InputError as error:
        taken, notes = 0, str(error).partition("none of ")[2].partition(": ")[2].split("; ")[:-1]
    left = sum(int(note.split(" ")[0]) for note in notes if "left out" in note)
    assert taken + left == len(rows)


@pytest.mark.skipif(not REAL.is_dir(), reason="the archive's logs are not here")
def test_logs_of_the_archive(tmp_path: Path) -> None:
    queue = convert(REAL / "hpc2n-2002-part.swf.gz")
    assert (len(queue.jobs), queue.servers) == (3145, 240)
    assert said(queue) == [
        "25 left out, of unknown run time",
        "needs not taken, for want of resource:NAME=AMOUNT: memory",
        "320 that ran longer than their estimate, which was raised",
    ]
    nasa = convert(REAL / "nasa-ipsc-1993.swf.gz")
    assert (len(nasa.jobs), nasa.servers, nasa.jobs.estimated) == (18_066, 128, False)
    dump(nasa, tmp_path / "nasa.json")
    assert len(load(tmp_path / "nasa.json").jobs) == 18_066


def test_what_is_no_time_among_numbers_is_named(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("submit,need,run\n1,2,3\n2,2,1\nx,1,1\n")
    error = refusal(convert, tmp_path / "log.csv", processors=4)
    assert (error.place, error.found) == ("line 4, column 'submit'", "'x'")
