"""Logs of other formats (SWF, sacct, CSV): what is taken, and what is left out, counted."""

from pathlib import Path
from typing import Any

import pytest
from builders.refusals import refusal
from builders.swf import LINES, line, said, saved

from schedopt.instances.files import dump, load
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert
from schedopt.instances.msfq.log_files import write_jobs


def converted(folder: Path, text: str, name: str = "sacct.txt", **options: Any) -> Instance:
    """Return the log of a table or, by its name, of a log in SWF."""
    path = folder / name
    path.write_text(text)
    return convert(path, **options if name.endswith(".swf") else {"processors": 16} | options)


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
        (LINES[1] + " -1 -1 4", "21: ", "the 18 fields"),
        (line(1, 0, 1).replace("1", "x", 1), "'x'", "a number (field 1)"),
        (line(1, 0, 1).replace(" -1", " nan", 1), "'nan'", "a number (field 3)"),
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


FRONTIER = """; Version: 2.2
; Computer: Frontier
; MaxNodes: 9408
; UnixStartTime: 1704067200
1 0 100 3600 2500 -1 -1 2500 7200 -1 1 3 1 -1 2 1 -1 -1 20000 -1 frontier:excl:2500x112
2 60 0 600 589824 -1 -1 4 1200 -1 1 4 1 -1 2 1 -1 -1 32 -1 frontier:excl:4x112
"""


@pytest.mark.parametrize(
    ("options", "needs"),
    [
        ({}, [2500, 4]),  # the nodes of the descriptors
        ({"need": "asked", "processors": 10**6}, [2500, 4]),
    ],
)
def test_convert_swf_reads_nodes_after_the_fields(
    tmp_path: Path, options: dict[str, Any], needs: list[int]
) -> None:
    queue = converted(tmp_path, FRONTIER, "log.swf", **options)
    assert (queue.servers, queue.jobs.need.tolist()) == (options.get("processors", 9408), needs)
    error = refusal(converted, tmp_path, "; MaxNodes: 4\n" + line(1, 0, 5), "log.swf")
    assert "MaxNodes: 4, but no MaxProcs" in str(error)


# --- rules and options ------------------------------------------------------------------------

RULES: list[tuple[dict[str, Any], list[float], list[float], list[float], str]] = [
    ({}, [5, 8], [2, 1], [9, 4], "1 left out, wider than the machine's 8 processors"),
    ({}, [5, 8], [2, 1], [9, 4], "1 submitted before a job above, sorted"),
    ({"zero": "one"}, [5, 8, 9], [2, 1, 1], [9, 4, 1], "1 without a run time, set to 1"),
    ({"overrun": "keep"}, [5, 8], [2, 1], [9, 4], "1 that ran longer than their estimate"),
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
    queue = converted(tmp_path, "\n".join(rows), **{"processors": 8} | options)
    assert queue.jobs.submit.tolist() == submit
    assert queue.jobs.need.tolist() == need
    assert queue.jobs.run.tolist() == run
    assert any(words in note for note in said(queue)), said(queue)


NAMED = {"submit": "When", "need": "Cores", "began": "From", "ended": "To", "user": "Who"}


def test_convert_takes_columns_by_options(tmp_path: Path) -> None:
    text = (
        'Id;When;Cores;From;To;Who\n7;2024-01-01 00:00:00Z;4;10;30.5;"a;b"\n'
        "8;2024-01-01T01:00:01+01:00;1;12;13;c\n"
    )
    queue = converted(tmp_path, text, job="Id", **NAMED)
    assert queue.jobs.submit.tolist() == [0, 1]
    assert queue.jobs.run.tolist() == [20.5, 1]
    assert queue.jobs.user.names == ("a;b", "c")
    assert queue.jobs.name.tolist() == ["7", "8"]
    shifted = "times shifted: 0 is 2024-01-01T00:00:00 on its own clock"
    assert said(queue) == [shifted, "no estimates"]
    for options, words in (
        ({"need": None}, "or option need=TITLE"),
        ({"run": "Who"}, "line 2, column 'Who': found 'a;b', and 1 more like it"),
        ({"processors": None}, "option processors: found none: the log does not give it"),
    ):
        given = {key: title for key, title in (NAMED | options).items() if title}
        own = {} if "processors" in options else {"processors": 4}
        assert words in str(refusal(convert, tmp_path / "sacct.txt", **own, **given))


def test_convert_takes_resources_and_partitions(tmp_path: Path) -> None:
    text = "submit,need,run,need:gpu,GB,partition\n0,1,5,2,1.5,a\n1,2,5,,1,b\n2,1,5,9,1,a\n"
    given = {"resource:gpu": 8, "resource:memory": 4, "need:memory": "GB"}
    queue = converted(tmp_path, text, **given)
    assert queue.jobs.needs.amounts.tolist() == [[2, 2], [0, 1]]
    assert queue.jobs.partition.names == ("a", "b")
    notes = accounted(queue, 3)
    assert "1 of unknown gpu, assumed to need none" in notes
    assert "1 that need a fraction of a memory, rounded up" in notes
    assert "disk" in str(refusal(converted, tmp_path, text, **given, **{"resource:disk": 1}))
    more = {"asked": 4, "memory": 1000, "partition": 2}
    swf_path = saved(tmp_path, line(1, 0, 60, 2, **more), line(2, 0, 60, 2, **more), name="m.swf")
    from_swf = convert(swf_path, **{"partition:2": "8,memory=4000"})
    assert from_swf.jobs.needs.amounts.tolist() == [[4000], [4000]]
    assert from_swf.partitions["2"].resources == {"memory": 4000}


# --- sacct ------------------------------------------------------------------------------------

SACCT = """JobID|User|Account|Partition|Submit|Start|ElapsedRaw|AllocCPUS|Timelimit|ExitCode
10|ann|phys|cpu|2024-03-01T10:00:00|2024-03-01T10:00:05|3600|16|02:00:00|0:0
11_1|bob|chem|gpu|2024-03-01T10:00:10|2024-03-01T10:01:00|172801|8|UNLIMITED|0:0
13|cy|chem|cpu|2024-03-01T10:00:20|Unknown|0|0|10:00|0:0
15+0|cy|chem|gpu|2024-03-01T10:00:30|2024-03-01T10:00:30|601|4|10:00|0:0
17|cy|chem|cpu|2024-03-01T10:00:32|2024-03-01T10:00:32|60|64|1-10:00:00|0:0
19|cy|chem|cpu|Unknown|2024-03-01T10:00:33|60|4|10:00|0:0
"""


def test_convert_sacct_accounts_for_every_line(tmp_path: Path) -> None:
    told = list[str]()
    queue = converted(tmp_path, SACCT, tell=told.append, processors=32)
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
    assert (taken["AllocCPUS"], taken["Account"]) == ("need", "group")
    assert (taken["Partition"], taken["ExitCode"]) == ("partition", "not taken")
    assert jobs.name.tolist() == ["10", "11_1", "15"]
    assert jobs.submit.tolist() == [0, 10, 30]
    assert (jobs.need.tolist(), jobs.planned().tolist()) == ([16, 8, 4], [7200, 172801, 601])
    assert (jobs.user.names, jobs.group.names) == (("ann", "bob", "cy"), ("phys", "chem"))


STEPS = """JobID,User,Account,Partition,Submit,ElapsedRaw,AllocCPUS,Timelimit
1043166,ann,phys,long,2026-03-02T10:00:00,3600,4,02:00:00
1043166.batch,,phys,,2026-03-02T10:00:00,3600,4,
1043075+0,bob,bio,long,2026-03-02T10:00:05,1800,2,02:00:00
1043075+1,bob,bio,long,2026-03-02T10:00:05,1800,2,02:00:00
1043081,dee,phys,long,2026-03-02T10:03:00,600,1,Partition_Limit
1043082,eve,phys,long,2026-03-02T10:04:00,-16,1,01:00:00
"""
NOW = """JobID|User|Account|Partition|Submit|Start|ElapsedRaw|AllocCPUS|ReqCPUS|Timelimit|State
1|ada|phys|batch|2026-11-28T08:00:00|2026-11-28T08:00:00|3600|8|8|04:00:00|RUNNING
2|ben|phys|batch|2026-11-28T08:30:00|Unknown|0|0|8|02:00:00|PENDING
3|cleo|chem|batch|2026-11-28T08:45:00|Unknown|0|0|4|01:00:00|PENDING
"""
ARRAYS = "JobID|Submit|ElapsedRaw|AllocCPUS|ReqCPUS|State|Timelimit\n"
AT = "2026-01-01T00:00:00"
CASES: list[tuple[str, dict[str, list[Any]], str]] = [
    (
        STEPS,
        {
            "name": ["1043166", "1043075", "1043081"],
            "need": [4, 4, 1],
            "run": [3600, 1800, 600],
            "planned": [7200, 7200, 600],
        },
        "1 left out, components that count with the first of their job",
    ),
    (
        f"{ARRAYS}5_[1-3,7%2]|{AT}|0|0|2|PENDING|10:00\n6_[0-4:2]|{AT}|0|0|1|PENDING|10:00\n",
        {
            "name": ["5_1", "5_2", "5_3", "5_7", "6_0", "6_2", "6_4"],
            "need": [2, 2, 2, 2, 1, 1, 1],
        },
        "2 rows of arrays that wait, counted as their 7 tasks",
    ),
    (  # tasks that ran out of their array
        f"{ARRAYS}5_[1-3]|{AT}|0|0|2|PENDING|10:00\n5_1|{AT}|60|2|2|COMPLETED|10:00\n"
        f"5_2|{AT}|30|2|2|RUNNING|10:00\n",
        {"name": ["5_3", "5_1", "5_2"], "run": [600, 60, 600]},
        "2 left out, an earlier state",
    ),
    (  # attempts of a requeued job
        f"{ARRAYS}1|{AT}|60|2|2|NODE_FAIL|10:00\n1|2026-01-01T00:05:00|9|2|2|RUNNING|10:00\n",
        {"run": [60, 600]},
        "",
    ),
    (
        "JobID|Submit|ElapsedRaw|AllocCPUS|TimelimitRaw\n1|0|60|1|10\n",
        {"planned": [600]},
        "",
    ),
    (NOW + NOW.replace("\n1|", "\n4|"), {"name": ["1", "4", "2", "3"]}, "2 left out, the same as"),
    ("submit,need,run\n0,2,9\n0,2,9\n", {"need": [2, 2]}, ""),  # no ids: not repeated
]


@pytest.mark.parametrize(("text", "columns", "note"), CASES)
def test_convert_sacct_makes_jobs_of_rows(
    tmp_path: Path, text: str, columns: dict[str, list[Any]], note: str
) -> None:
    queue = converted(tmp_path, text)
    for key, values in columns.items():
        column = queue.jobs.planned() if key == "planned" else getattr(queue.jobs, key)
        assert column.tolist() == values, key
    assert note in (queue.description or "")


def test_convert_sacct_takes_time_limits_of_unfinished_jobs(tmp_path: Path) -> None:
    queue = converted(tmp_path, NOW)
    assert queue.jobs.need.tolist() == [8, 8, 4]
    assert queue.jobs.run.tolist() == [4 * 3600, 2 * 3600, 3600]
    assert "2 that wait, taken to run for their time limits" in said(queue)
    eligible = ["Eligible", "2026-11-28T08:00:00", "Unknown", "2026-11-28T08:45:00"]
    rows = (f"{row}|{time}" for row, time in zip(NOW.splitlines(), eligible, strict=True))
    queue = converted(tmp_path, "\n".join(rows))
    assert queue.jobs.name.tolist() == ["1", "3"]
    assert "1 that wait and are not eligible yet" in said(queue)


def test_convert_sacct_releases_jobs_when_eligible(tmp_path: Path) -> None:
    date = "2026-01-01T00:00:"
    rows = [
        f"1|{date}00|{date}00|{date}00|60|1",
        f"4_3|{date}02|{date}15|{date}15|60|1",
        f"5|{date}03|{date}30|{date}20|60|1",  # eligible by its start
        f"6|{date}04|Unknown|{date}20|60|1",
    ]
    text = "\n".join(["JobID|Submit|Eligible|Start|ElapsedRaw|AllocCPUS", *rows])
    queue = converted(tmp_path, text)
    assert queue.jobs.submit.tolist() == [0, 2, 3, 4]
    assert queue.jobs.release.tolist() == [0, 15, 20, 4]
    assert queue.jobs.start.tolist() == [0, 15, 20, 20]
    assert "2 eligible after their submit, by 15 s on average, and released then" in said(queue)
    released, rows = queue.as_released()
    assert released.jobs.name.tolist() == ["1", "6", "4_3", "5"]
    assert (released.jobs.submit.tolist(), rows.tolist()) == ([0, 4, 15, 20], [0, 3, 1, 2])
    write_jobs(queue.jobs, tmp_path / "again.csv")
    again = convert(tmp_path / "again.csv", processors=16)
    assert again.jobs.release.tolist() == [0, 15, 20, 4]


def test_convert_sacct_reads_resources_and_memory(tmp_path: Path) -> None:
    head = "JobID|Submit|ElapsedRaw|AllocCPUS|NNodes|ReqMem|ReqTRES|AllocTRES\n"
    rows = [
        "1|0|60|4|1|1G|cpu=4,mem=1G|billing=4,cpu=4,gres/gpu=4,mem=128G,node=1",
        "2|1|60|4|1|1G|cpu=4,gres/gpu=1,mem=2048M|",
        "3|2|60|4|2|4096Mc||",
        "4|3|60|4|2|1Gn||",
        "5|4|60|4|2|512K||",
    ]
    machine = {"resource:gpu": 8, "resource:memory": 10**6}
    needs = converted(tmp_path, head + "\n".join(rows), **machine).jobs.needs.columns()
    assert needs["need:gpu"].tolist() == [4, 1, 0, 0, 0]
    assert needs["need:memory"].tolist() == [131072, 2048, 16384, 2048, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NOW.splitlines()[0], "line 2: found nothing: the table has no rows"),
        (NOW.replace("|8|8|", "|8|"), "line 2: found 10; expected 11 cells"),
        (NOW.replace("RUNNING", "WALKING"), "line 2, column 'State': found 'WALKING'"),
        (NOW.replace("Submit", "Submitted"), "a column 'submit', or option submit=TITLE"),
    ],
)
def test_convert_sacct_refuses_damaged_exports(tmp_path: Path, text: str, words: str) -> None:
    error = str(refusal(converted, tmp_path, text))
    assert words in error
    assert "\n" not in error
