"""CSV tables of jobs: what is read, and where and how it is refused."""

import gzip
from pathlib import Path
from typing import Any

import pytest
from builders.jobtable import HEADER, table, told
from builders.refusals import refusal

from schedopt.instances import files
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.jobtable import convert
from schedopt.instances.errors import InputError


def test_a_table(tmp_path: Path) -> None:
    text = HEADER + "a,5,120,9,7,lighting\nb,4.5,,1e1,.5,\n"
    assert table(tmp_path, text) == Instance(
        name="jobs",
        processors=2,
        deadline=10.0,
        jobs=(
            Job(
                name="a",
                reward=5.0,
                priority=120.0,
                groups={"team": "lighting"},
                demand=9.0,
                critical_path=7.0,
            ),
            Job(name="b", reward=4.5, demand=10.0, critical_path=0.5),
        ),
    )


PLAIN = "name,reward,demand,critical_path\na,1,2,3\n"


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
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
    ids=str.split(
        "plain crlf job semicolons tabs spaces unended blank-lines bom spelling quotes order gzip"
    ),
)
def test_the_same_table_in_other_dress(tmp_path: Path, text: str | bytes) -> None:
    (job,) = table(tmp_path, text).jobs
    assert job == Job(name="a", reward=1.0, demand=2.0, critical_path=3.0)


def test_a_delimiter_inside_of_quotes_is_text(tmp_path: Path) -> None:
    text = 'name;reward;demand;critical_path;"a, b, c, d, e, f"\n"x;y";1;2;3;"p,q"\n'
    (job,) = table(tmp_path, text).jobs
    assert job.name == "x;y"
    assert job.groups == {"a, b, c, d, e, f": "p,q"}


def test_every_other_column_of_text_is_a_grouping(tmp_path: Path) -> None:
    text = "Team,name,show,reward,demand,critical_path\nfx,a,s1,1,1,1\n,b,s1,1,1,1\n"
    assert table(tmp_path, text).groups == {"Team": {"fx": [0]}, "show": {"s1": [0, 1]}}


MIXED = (
    "name,reward,demand,critical_path,team,frames,due,Arrival,empty,code,weight\n"
    "a,5,1,1,fx,100,06:00,2026-01-01,,1,heavy\n"
    "b,4,1,1,,200,07:00,2026-01-02,,x2,light\n"
)


def test_what_is_no_text_or_named_like_a_field_is_no_grouping(tmp_path: Path) -> None:
    night, lines = told(tmp_path, MIXED)
    assert night.groups == {"team": {"fx": [0]}, "code": {"1": [0], "x2": [1]}}
    asks = "; --option groups=... makes it a grouping"
    meant = "left out: call it '{}' if that is what it says" + asks
    assert lines == [
        "columns 'name', 'reward', 'demand', 'critical_path': fields of the jobs",
        "column 'team': a grouping of 1 group; 1 of 2 jobs in none",
        "column 'code': a grouping of 2 groups",
        f"column 'frames': left out: numbers{asks}",
        f"column 'due': {meant.format('deadline')}",
        f"column 'Arrival': {meant.format('release')}",
        "column 'empty': left out: empty",
        f"column 'weight': left out: no field of a job's own{asks}",
        "2 jobs read, none left out",
    ]


@pytest.mark.parametrize(
    "field",
    [
        "due",
        "DUE",
        "end",
        "late",
        "stages",
        "groups",
        "constraints",
        "arrival",
        "size",
        "weight",
        "Due Date",
        "description",
    ],
)
@pytest.mark.parametrize("cell", ["5", "tonight"])
def test_a_field_of_any_name_is_a_grouping_only_if_asked(
    tmp_path: Path, field: str, cell: str
) -> None:
    text = f"name,reward,demand,critical_path,{field}\na,5,1,1,{cell}\n"
    assert table(tmp_path, text).groups == {}
    assert table(tmp_path, text, groups=field).groups == {field: {cell: [0]}}


def test_groupings_are_those_asked_for(tmp_path: Path) -> None:
    night, lines = told(tmp_path, MIXED, groups="frames, team")
    assert night.groups == {"frames": {"100": [0], "200": [1]}, "team": {"fx": [0]}}
    assert "column 'frames': a grouping of 2 groups" in lines
    assert (
        "column 'code': left out: not asked for; --option groups=... makes it a grouping" in lines
    )


@pytest.mark.parametrize(
    ("groups", "says"),
    [
        ("taem", "did you mean 'team'"),
        ("team,name", "a column that is no field"),
        ("reward", "a column that is no field"),
        ("team,,code", "titles of columns"),
        (" ", "titles of columns"),
    ],
)
def test_groupings_that_there_are_not(tmp_path: Path, groups: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        table(tmp_path, MIXED, groups=groups)
    assert caught.value.place == "option groups"


def test_a_reward_column_that_is_not_used_is_said_to_be_left_out(tmp_path: Path) -> None:
    _, lines = told(tmp_path, HEADER + "a,5,120,9,7,lighting\n", reward="size")
    assert lines[0] == "column 'reward': left out: the reward is size, as asked"


def test_the_name_is_the_option_s_or_the_stem(tmp_path: Path) -> None:
    assert table(tmp_path, PLAIN, name="tonight").name == "tonight"
    path = tmp_path / "shots.csv.gz"
    path.write_bytes(gzip.compress(PLAIN.encode()))
    assert convert(path, processors=1, deadline=1).name == "shots"


def test_a_table_without_jobs(tmp_path: Path) -> None:
    error = refusal(table, tmp_path, HEADER)
    assert error.expected == "a row for each job, below the titles"


@pytest.mark.parametrize(("reward", "is_worth"), [("linear", 380), ("size", 9), ("banded", 1000)])
def test_a_reward_function_stands_in_for_the_column(
    tmp_path: Path, reward: str, is_worth: float
) -> None:
    with_column = HEADER + "a,5,120,9,7,lighting\n"
    without = "name,priority,demand,critical_path\na,120,9,7\n"
    for text in (with_column, without):
        assert table(tmp_path, text, reward=reward).rewards.tolist() == [is_worth]


def test_what_is_read_can_be_written_and_read_back(tmp_path: Path) -> None:
    instance = table(tmp_path, HEADER + "ä,5,-3,9,7,fx\n")
    assert files.parse(files.encode(instance)) == instance


LINE = "a,5,120,9,7,fx\n"
WRONG: dict[str, tuple[str | bytes, str, str | None, str]] = {
    "empty": ("", "", None, "a header"),
    "blank": ("\n , \n", "", None, "a header"),
    "not utf-8": (b"name\n\xff", "line 2", "bytes that are not", "UTF-8"),
    "no reward": (
        "name,demand,critical_path\n",
        "line 1",
        "'name', 'demand', 'critical_path'",
        "a column 'reward' (or option 'reward'",
    ),
    "all at once": ("name\n", "line 1", "'name'", "') and a column 'tasks' such as 12x0.5h (or"),
    "no demand": ("name,reward,critical_path\n", "line 1", None, "a column 'demand'"),
    "misspelt": (HEADER.replace("demand", "demnd"), "line 1", "'demnd'", "a column 'demand'"),
    "misspelt priority": (
        HEADER.replace("priority", "Priorty".lower()),
        "line 1",
        "'priorty'",
        "a column 'priority'",
    ),
    "column twice": (
        HEADER.replace("team", "Name"),
        "line 1",
        "'name' twice",
        "each column once",
    ),
    "column without title": (HEADER.replace("team", ""), "line 1, cell 6", "none", "a title"),
    "too few cells": (HEADER + LINE + "b,5\n", "line 3", "2", "6 cells"),
    "too many cells": (HEADER + "b,5,1,1,1,fx,2\n", "line 2", "7", "6 cells"),
    "no name": (HEADER + ",5,1,1,1,fx\n", "line 2, column 'name'", "an empty cell", "a name"),
    "name twice": (
        HEADER + LINE + "\n" + LINE,
        "line 4, column 'name'",
        "'a'",
        "line 2 has it already",
    ),
    "open quote": (HEADER + '"a,5,1,1,1,fx\n', "line 2", None, "CSV"),
    "text after a quote": (HEADER + '"a"b,5,1,1,1,fx\n', "line 2", None, "CSV"),
    "below 0": (
        PLAIN.replace("2", "-1"),
        "line 2, column 'demand'",
        "'-1'",
        "a finite number >= 0",
    ),
    "a decimal comma": (
        "name;demand;critical_path;reward\na;1,5;1;1\n",
        "line 2, column 'demand'",
        "'1,5'",
        "with a decimal point",
    ),
    "a priority in words": (
        HEADER + "a,1,high,1,1,\n",
        "line 2, column 'priority'",
        "'high'",
        "a finite number",
    ),
    "after a quoted break": (
        HEADER + '"a\nb",1,1,1,1,fx\nc,x,1,1,1,fx\n',
        "line 4, column 'reward'",
        "'x'",
        "a finite",
    ),
    "a huge cell": (
        HEADER + "x" * 200_000 + ",1,1,1,1,fx\n",
        "line 2",
        "field larger than field limit (131072)",
        "CSV",
    ),
    "overflow": (
        HEADER + "a,1e308,1,1,1,fx\nb,1e308,1,1,1,fx\n",
        "jobs",
        "an overflow",
        "finite sums",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_refused(case: str, tmp_path: Path) -> None:
    text, place, found, expected = WRONG[case]
    error = refusal(table, tmp_path, text)
    assert error.file == str(tmp_path / "jobs.csv")
    assert error.place == place
    if found is not None:
        assert error.found == found
    assert expected in error.expected


NUMBERS = ["", "x", "nan", "inf", "-Infinity", "1e999", "1_000", "1,5", "0x10", "٣", "--1", "1 2"]


@pytest.mark.parametrize("text", NUMBERS)
@pytest.mark.parametrize("column", ["reward", "demand", "critical_path"])
def test_strict_numbers(tmp_path: Path, text: str, column: str) -> None:
    cells = {"name": "a", "reward": "1", "demand": "1", "critical_path": "1", column: f'"{text}"'}
    lines = [",".join(cells), "b,1,1,1", ",".join(cells.values())]
    error = refusal(table, tmp_path, "\n".join(lines))
    assert error.place == f"line 3, column {column!r}"
    assert error.found == (repr(text) if text else "an empty cell")
    assert error.expected.startswith("a finite number >= 0")


def test_a_priority_may_be_negative(tmp_path: Path) -> None:
    assert table(tmp_path, HEADER + "a,1,-5,1,1,\n").jobs[0].priority == -5.0


def test_a_reward_function_without_a_priority(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a priority for each job") as caught:
        table(tmp_path, HEADER + "a,1,,1,1,fx\n", reward="banded")
    assert caught.value.place == "line 2"


@pytest.mark.parametrize(
    ("options", "place", "words"),
    [
        ({"processors": None}, "option", "option 'processors'"),
        ({"deadline": None}, "option", "option 'deadline'"),
        ({"processors": 0}, "option processors", "a whole number"),
        ({"deadline": float("nan")}, "option deadline", "above 0"),
        ({"reward": "cubic"}, "option reward", "one of linear, size, banded"),
        ({"name": ""}, "option name", "a name"),
    ],
)
def test_wrong_options(tmp_path: Path, options: dict[str, Any], place: str, words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        table(tmp_path, PLAIN, **options)
    assert caught.value.place == place


def test_a_missing_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a file that exists"):
        convert(tmp_path / "none.csv", processors=1, deadline=1)


def test_frames_and_their_time_are_tasks(tmp_path: Path) -> None:
    (job,) = table(tmp_path, "name,Frames,frame time,reward\na,4,1.5h,3\n").jobs
    assert job.stages == ((5400.0,) * 4,)
