"""Exports of Slurm's sacct as logs: states, steps, components, arrays, resources."""

from pathlib import Path
from typing import Any

import pytest
from builders.refusals import refusal
from builders.swf import said

from schedopt.instances.files import dump, load
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert
from schedopt.instances.msfq.log_files import write_jobs

STEPS = """JobID,User,Account,Partition,Submit,ElapsedRaw,AllocCPUS,Timelimit
1043166,ann,phys,long,2026-03-02T10:00:00,3600,4,02:00:00
1043166.batch,,phys,,2026-03-02T10:00:00,3600,4,
1043166.extern,,phys,,2026-03-02T10:00:00,3600,4,
1043166.0,,phys,,2026-03-02T10:00:05,3590,4,
"""
MIXED = """JobID,User,Account,Partition,Submit,ElapsedRaw,AllocCPUS,Timelimit
1043074_91,ann,phys,long,2026-03-02T10:00:00,3600,4,1-00:00:00
1043075+0,bob,bio,long,2026-03-02T10:00:05,1800,2,02:00:00
1043075+1,bob,bio,long,2026-03-02T10:00:05,1800,2,02:00:00
123456_[9201-10000%500],cy,bio,long,2026-03-02T10:01:00,0,0,05:00:00
1043080,dee,phys,long,2026-03-02T10:02:00,600,1,UNLIMITED
1043081,dee,phys,long,2026-03-02T10:03:00,600,1,Partition_Limit
1043082,eve,phys,long,2026-03-02T10:04:00,-16,1,01:00:00
"""
NOW = """JobID|User|Account|Partition|Submit|Start|ElapsedRaw|AllocCPUS|ReqCPUS|Timelimit|State
1|ada|phys|batch|2026-11-28T08:00:00|2026-11-28T08:00:00|3600|8|8|04:00:00|RUNNING
2|ben|phys|batch|2026-11-28T08:30:00|Unknown|0|0|8|02:00:00|PENDING
3|cleo|chem|batch|2026-11-28T08:45:00|Unknown|0|0|4|01:00:00|PENDING
"""


def converted(folder: Path, text: str, **options: Any) -> Instance:
    """Return the log of an export."""
    path = folder / "sacct.txt"
    path.write_text(text)
    return convert(path, **{"processors": 16} | options)


ARRAYS = "JobID|Submit|ElapsedRaw|AllocCPUS|ReqCPUS|State|Timelimit\n"
AT = "2026-01-01T00:00:00"
CASES: list[tuple[str, dict[str, list[Any]], str]] = [
    (STEPS, {"name": ["1043166"], "need": [4]}, "3 left out, steps of other jobs"),
    (
        MIXED,
        {
            "name": ["1043074_91", "1043075", "1043080", "1043081"],
            "need": [4, 4, 1, 1],
            "run": [3600, 1800, 600, 600],
            "planned": [86400, 7200, 600, 600],
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
    assert "1 that run, taken to run for their time limits" in said(queue)
    error = refusal(convert, tmp_path / "sacct.txt", processors=16, unfinished="drop")
    assert "2 left out, that have not ended" not in str(error)
    assert "3 left out, that have not ended" in str(error)


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
    assert queue.jobs.name.tolist() == ["1", "4_3", "5", "6"]
    assert queue.jobs.submit.tolist() == [0, 2, 3, 4]
    assert queue.jobs.release.tolist() == [0, 15, 20, 4]
    assert queue.jobs.start.tolist() == [0, 15, 20, 20]
    assert "2 eligible after their submit, by 15 s on average, and released then" in said(queue)
    released, rows = queue.as_released()
    assert released.jobs.name.tolist() == ["1", "6", "4_3", "5"]
    assert (released.jobs.submit.tolist(), rows.tolist()) == ([0, 4, 15, 20], [0, 3, 1, 2])
    dump(queue, tmp_path / "log.json")
    assert load(tmp_path / "log.json").jobs.release.tolist() == [0, 15, 20, 4]
    write_jobs(queue.jobs, tmp_path / "again.csv")
    again = convert(tmp_path / "again.csv", processors=16)
    assert again.jobs.release.tolist() == [0, 15, 20, 4]


def test_convert_sacct_leaves_out_ineligible_jobs(tmp_path: Path) -> None:
    text = NOW.replace("ReqCPUS", "ReqCPUS|Eligible")
    lines = text.splitlines()
    eligible = ["", "2026-11-28T08:00:00", "Unknown", "2026-11-28T08:45:00"]
    rows = [lines[0]]
    for line, time in zip(lines[1:], eligible[1:], strict=True):
        cells = line.split("|")
        rows.append("|".join([*cells[:9], time, *cells[9:]]))
    queue = converted(tmp_path, "\n".join(rows))
    assert queue.jobs.name.tolist() == ["1", "3"]
    assert "1 that wait and are not eligible yet" in said(queue)


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
    queue = converted(tmp_path, head + "\n".join(rows), **machine)
    needs = queue.jobs.needs.columns()
    assert needs["need:gpu"].tolist() == [4, 1, 0, 0, 0]
    assert needs["need:memory"].tolist() == [131072, 2048, 16384, 2048, 1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (NOW.splitlines()[0], "line 2: found nothing: the table has no rows"),
        (NOW.replace("|8|8|", "|8|"), "line 2: found 10; expected 11 cells"),
        (NOW.replace("RUNNING", "RUNNING|9"), "line 2: found 12; expected 11 cells"),
        (NOW[:-20], "line 4: found 8; expected 11 cells"),
        (NOW.replace("RUNNING", "WALKING"), "line 2, column 'State': found 'WALKING'"),
        (NOW.replace("Submit", "Submitted"), "a column 'submit', or option submit=TITLE"),
        (NOW.replace("User", "ReqTRES"), "line 2, column 'ReqTRES': found 'ada'"),
    ],
)
def test_convert_sacct_refuses_damaged_exports(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "sacct.txt"
    path.write_text(text)
    error = str(refusal(convert, path, processors=16))
    assert words in error
    assert "\n" not in error


def test_convert_sacct_takes_the_last_state_of_a_repeated_job(tmp_path: Path) -> None:
    later = NOW.replace("|3600|8|8|04:00:00|RUNNING", "|5400|8|8|04:00:00|COMPLETED")
    later = later.replace(
        "Unknown|0|0|8|02:00:00|PENDING", "2026-11-28T09:30:00|600|8|8|02:00:00|RUNNING"
    )
    for text in (NOW + later, later + NOW):
        queue = converted(tmp_path, text)
        assert queue.jobs.name.tolist() == ["1", "2", "3"]
        assert queue.jobs.run.tolist() == [5400, 7200, 3600]
        assert "2 left out, an earlier state of a job that another row has" in said(queue)
        assert "1 that run, taken to run for their time limits" in said(queue)
