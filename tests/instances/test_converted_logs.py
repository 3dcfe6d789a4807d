"""Logs of other formats (SWF, sacct, CSV): what is taken, and what is left out, counted."""

from pathlib import Path
from typing import Any

import pytest
from builders.effort import tried
from builders.refusals import refusal
from builders.swf import LINES, line, said, saved
from hypothesis import strategies as st

from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, load
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert


def accounted(queue: Instance, lines: int) -> list[str]:
    """Return the notes of a description which accounts for every line of a log."""
    kept, _, of = (queue.description or "").split(" jobs")[0].split(" ")
    gone = sum(int(note.split()[0]) for note in said(queue) if " left out, " in note)
    assert (int(kept), int(of), int(kept) + gone) == (len(queue.jobs), lines, lines)
    return said(queue)


# --- the Standard Workload Format -------------------------------------------------------------


@pytest.mark.parametrize("name", ["toy.swf.gz", "TOY.SWF"])
def test_convert_swf_takes_jobs_that_ran_and_counts_the_others(tmp_path: Path, name: str) -> None:
    queue = convert(saved(tmp_path, *LINES, name=name))
    jobs = queue.jobs
    assert (queue.name, queue.servers) == (name.split(".", maxsplit=1)[0], 8)
    assert jobs.name.tolist() == ["1", "2", "6", "7"]
    assert (jobs.submit.tolist(), jobs.run.tolist()) == ([0, 10, 40, 100], [60, 30, 25, 10])
    assert (jobs.need.tolist(), jobs.planned().tolist()) == ([2, 4, 3, 2], [100, 30, 25, 10])
    assert (jobs.user.names, jobs.user.codes.tolist()) == (("3", "4"), [0, 1, 0, 1])
    assert (jobs.group.codes.tolist(), jobs.queue) == ([0, 0, 1, -1], None)
    assert (queue.description or "").startswith(f"4 of 8 jobs of {queue.name} (Toy); ")
    assert accounted(queue, 8) == [
        "1 left out, a part of another",
        "1 with the processors requested, since those used are unknown",
        "1 left out, of unknown run time",
        "1 left out, of unknown processors",
        "1 left out, of no run time",
        "2 without an estimate",
        "1 that ran longer than their estimate, which was raised",
    ]
    dump(queue, tmp_path / "toy.json")
    assert load(tmp_path / "toy.json").jobs.run.tolist() == [60, 30, 25, 10]


@pytest.mark.parametrize(
    ("bad", "found", "expected"),
    [
        ("1 2 3", "3: '1 2 3'", "the 18 fields"),
        (LINES[1] + " 7", "19: ", "the 18 fields"),
        (LINES[1] + " -1 -1 4", "21: ", "the 18 fields"),
        (line(1, 0, 1).replace("1", "x", 1), "'x'", "a number (field 1)"),
        (line(1, 0, 1) + "e", "'-1e'", "a number (field 18)"),
        (line(1, 0, 1).replace(" -1", " nan", 1), "'nan'", "a number (field 3)"),
        (line(1, 0, 1).replace(" -1", " 1_0", 1), "'1_0'", "a number (field 3)"),
    ],
)
def test_convert_swf_names_a_broken_line(
    tmp_path: Path, bad: str, found: str, expected: str
) -> None:
    path = saved(tmp_path, LINES[0], bad)
    error = refusal(convert, path)
    assert (error.file, error.place) == (str(path), "line 7")
    assert (error.found or "").startswith(found)
    assert expected in error.expected


# --- rules ------------------------------------------------------------------------------------

RULES: list[tuple[dict[str, Any], list[float], list[float], list[float], str]] = [
    ({}, [5, 8], [2, 1], [9, 4], "1 left out, wider than the machine's 8 processors"),
    ({}, [5, 8], [2, 1], [9, 4], "1 submitted before a job above, sorted"),
    ({"zero": "one"}, [5, 8, 9], [2, 1, 1], [9, 4, 1], "1 without a run time, set to 1"),
    ({"overrun": "keep"}, [5, 8], [2, 1], [9, 4], "1 that ran longer than their estimate"),
    ({"jobs": 1}, [5], [2], [9], "1 left out, of a run time below 0"),
    ({"start": 6, "end": 9}, [8], [1], [4], "1 left out, wider"),
    ({"processors": 9}, [4, 5, 8], [9, 2, 1], [3, 9, 4], "1 left out, of a run time below 0"),
]


@pytest.mark.parametrize(("options", "submit", "need", "run", "words"), RULES)
def test_convert_options_clean_jobs_as_documented(  # noqa: PLR0917
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
    queue = convert(path, **{"processors": 8} | options)
    assert queue.jobs.submit.tolist() == submit
    assert queue.jobs.need.tolist() == need
    assert queue.jobs.run.tolist() == run
    assert any(words in note for note in said(queue)), said(queue)


@tried(60, st.lists(st.tuples(*[st.integers(-2, 9)] * 4), min_size=1, max_size=12))
def test_convert_swf_takes_or_counts_every_job(
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


# --- any CSV ----------------------------------------------------------------------------------

SACCT = """JobID|User|Account|Partition|Submit|Start|ElapsedRaw|AllocCPUS|Timelimit|ExitCode
10|ann|phys|cpu|2024-03-01T10:00:00|2024-03-01T10:00:05|3600|16|02:00:00|0:0
11_1|bob|chem|gpu|2024-03-01T10:00:10|2024-03-01T10:01:00|172801|8|UNLIMITED|0:0
13|cy|chem|cpu|2024-03-01T10:00:20|Unknown|0|0|10:00|0:0
15+0|cy|chem|gpu|2024-03-01T10:00:30|2024-03-01T10:00:30|601|4|10:00|0:0
17|cy|chem|cpu|2024-03-01T10:00:32|2024-03-01T10:00:32|60|64|1-10:00:00|0:0
19|cy|chem|cpu|Unknown|2024-03-01T10:00:33|60|4|10:00|0:0
"""


def test_convert_sacct_accounts_for_every_line(tmp_path: Path) -> None:
    path, told = tmp_path / "dump.csv", list[str]()
    path.write_text(SACCT)
    queue = convert(path, told.append, processors=32)
    jobs = queue.jobs
    assert accounted(queue, 6) == [
        "times shifted: 0 is 2024-03-01T10:00:00 on its own clock",
        "1 left out, of unknown submit time",
        "1 left out, of no processors",
        "1 left out, wider than the machine's 32 processors",
        "1 without an estimate",
        "1 that ran longer than their estimate, which was raised",
    ]
    assert told[0] == queue.description
    taken = dict(line.split(maxsplit=1) for line in told[1:])
    assert taken["AllocCPUS"] == "need"
    assert (taken["Account"], taken["Partition"], taken["ExitCode"]) == (
        "group",
        "partition",
        "not taken",
    )
    assert jobs.name.tolist() == ["10", "11_1", "15"]
    assert jobs.submit.tolist() == [0, 10, 30]
    assert (jobs.need.tolist(), jobs.planned().tolist()) == ([16, 8, 4], [7200, 172801, 601])
    assert (jobs.user.names, jobs.group.names) == (("ann", "bob", "cy"), ("phys", "chem"))
    dump(queue, tmp_path / "dump.json")
    assert load(tmp_path / "dump.json").jobs.run.tolist() == jobs.run.tolist()


NAMED = {"submit": "When", "need": "Cores", "began": "From", "ended": "To", "user": "Who"}


def test_convert_takes_columns_by_options(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        'Id;When;Cores;From;To;Who\n7;2024-01-01 00:00:00Z;4;10;30.5;"a;b"\n'
        "8;2024-01-01T01:00:01+01:00;1;12;13;c\n"
    )
    queue = convert(path, processors=4, job="Id", **NAMED)
    assert queue.jobs.submit.tolist() == [0, 1]
    assert queue.jobs.run.tolist() == [20.5, 1]
    assert queue.jobs.user.names == ("a;b", "c")
    assert queue.jobs.name.tolist() == ["7", "8"]
    shifted = "times shifted: 0 is 2024-01-01T00:00:00 on its own clock"
    assert said(queue) == [shifted, "no estimates"]
    for options, words in (
        ({"need": None}, "or option need=TITLE"),
        ({"began": None}, "'run' (or began and ended)"),
        ({"run": "Who"}, "line 2, column 'Who': found 'a;b', and 1 more like it"),
    ):
        given = {key: title for key, title in (NAMED | options).items() if title}
        assert words in str(refusal(convert, path, processors=4, **given))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "option processors: found none: the log does not give it"),
        ({"processors": 4, "timezone": "Mars/North"}, "a time zone"),
        ({"partition:a": "4,gpu"}, "option partition:a"),
        ({"processors": 4, "text": "submit,need,run\n1,2,3\nx,1,1\n"}, "line 3, column 'submit'"),
    ],
)
def test_convert_refuses_wrong_options(tmp_path: Path, options: dict[str, Any], words: str) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(options.pop("text", "submit,need,run\n0,1,1\n"))
    with pytest.raises(InputError, match=words):
        convert(path, **options)


def test_convert_takes_resources_and_partitions(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        "submit,need,run,need:gpu,GB,partition\n0,1,5,2,1.5,a\n1,2,5,,1,b\n2,1,5,9,1,a\n"
    )
    given = {"processors": 4, "resource:gpu": 8, "resource:memory": 4, "need:memory": "GB"}
    queue = convert(path, **given)
    assert queue.jobs.needs.amounts.tolist() == [[2, 2], [0, 1]]
    assert queue.jobs.partition.names == ("a", "b")
    notes = accounted(queue, 3)
    assert "1 of unknown gpu, assumed to need none" in notes
    assert "1 that need a fraction of a memory, rounded up" in notes
    with pytest.raises(InputError, match="disk"):
        convert(path, **given | {"resource:disk": 1})
    more = {"asked": 4, "memory": 1000, "partition": 2}
    swf_path = saved(tmp_path, line(1, 0, 60, 2, **more), line(2, 0, 60, 2, **more), name="m.swf")
    from_swf = convert(swf_path, **{"partition:2": "8,memory=4000"})
    assert from_swf.jobs.needs.amounts.tolist() == [[4000], [4000]]
    assert from_swf.partitions["2"].resources == {"memory": 4000}


# --- SWF with more than 18 fields, nodes, dependencies ----------------------------------------

FRONTIER = """; Version: 2.2
; Computer: Frontier
; MaxNodes: 9408
; UnixStartTime: 1704067200
1 0 100 3600 2500 -1 -1 2500 7200 -1 1 3 1 -1 2 1 -1 -1 20000 -1 frontier:excl:2500x112
2 60 0 600 589824 -1 -1 4 1200 -1 1 4 1 -1 2 1 -1 -1 32 -1 frontier:excl:4x112
"""
NODES_ALONE = """; Version: 2.2
; MaxNodes: 4
; UnixStartTime: 1000000000
1 0 5 60 2 -1 -1 2 100 -1 1 3 1 -1 -1 -1 -1 -1
; a comment in the middle
3\t20\t0\t-1\t1\t-1\t-1\t1\t50\t-1\t0\t3\t1\t-1\t-1\t-1\t-1\t-1
2 10 5 30 4 -1 -1 4 60 -1 1 4 1 -1 -1 -1 -1 -1
"""


def swf_of(folder: Path, text: str) -> Path:
    """Write a log with its own header."""
    path = folder / "log.swf"
    path.write_text(text)
    return path


@pytest.mark.parametrize("options", [{}, {"processors": 9408}, {"need": "nodes"}])
def test_convert_swf_reads_descriptors_of_nodes(tmp_path: Path, options: dict[str, Any]) -> None:
    queue = convert(swf_of(tmp_path, FRONTIER), **options)
    assert (queue.servers, queue.jobs.need.tolist()) == (9408, [2500, 4])
    words = "fields after the 18 of the format, up to 21: '20000', '-1', 'frontier:excl:2500x112'"
    assert any(words in note for note in said(queue))


@pytest.mark.parametrize(("need", "expected"), [("used", [2500, 589824]), ("asked", [2500, 4])])
def test_convert_swf_option_need_selects_processors(
    tmp_path: Path, need: str, expected: list[int]
) -> None:
    queue = convert(swf_of(tmp_path, FRONTIER), need=need, processors=10**6)
    assert queue.jobs.need.tolist() == expected


def test_convert_swf_does_not_take_nodes_for_processors(tmp_path: Path) -> None:
    path = swf_of(tmp_path, NODES_ALONE)
    assert "MaxNodes: 4, but no MaxProcs" in str(refusal(convert, path))
    assert convert(path, processors=64).jobs.need.tolist() == [2, 4]
    words = "a descriptor of nodes after the 18 fields"
    assert words in str(refusal(convert, path, processors=64, need="nodes"))


def test_convert_swf_releases_jobs_after_think_times(tmp_path: Path) -> None:
    first = line(1, 0, 60, 2, wait=5).split()
    second, third = line(2, 10, 30, 2, wait=100).split(), line(3, 20, 30, 2).split()
    second[16:], third[16:] = ["1", "7"], ["9", "-1"]  # 9 is not in the log
    queue = convert(saved(tmp_path, *map(" ".join, (first, second, third))))
    assert queue.jobs.name.tolist() == ["1", "2", "3"]
    assert queue.jobs.submit.tolist() == [0, 10, 20]
    assert queue.jobs.release.tolist() == [0, 72, 20]
    assert queue.jobs.start.tolist()[:2] == [5, 110]
    assert "1 eligible after their submit, by 62 on average, and released then" in said(queue)
