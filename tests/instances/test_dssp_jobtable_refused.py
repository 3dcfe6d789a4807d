"""Tables of jobs that are refused: each in a line that names the place."""

from pathlib import Path
from typing import Any

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
)
from builders.refusals import refusal

WRONG: list[tuple[str | bytes, str]] = [
    ("", "expected a header"),
    (HEADER, "found none; expected a row for each job, below the titles"),
    (b"name\n\xff", "line 2, column 1: found bytes that are not; expected text in"),
    ("name,demand,critical_path\n", "line 1: found 'name', 'demand', 'critical_path'; expected a"),
    ("name\n", "') and a column 'tasks' such as 12x0.5h (or"),
    (HEADER.replace("demand", "demnd"), "line 1: found 'demnd'; expected a column 'demand'"),
    (HEADER.replace("priority", "priorty"), "line 1: found 'priorty'; expected a column"),
    (HEADER.replace("team", "Name"), "line 1: found 'name' twice; expected each column once"),
    (HEADER.replace("team", ""), "line 1, cell 6: found none; expected a title"),
    (HEADER + LINE + "b,5\n", "line 3: found 2; expected 6 cells"),
    (HEADER + ",5,1,1,1,fx\n", "line 2, column 'name': found an empty cell; expected a name"),
    (HEADER + LINE + "\n" + LINE, "line 4, column 'name': found 'a'; expected a name of its own:"),
    (HEADER + '"a,5,1,1,1,fx\n', "line 2: found unexpected end of data; expected CSV"),
    (PLAIN.replace("2", "-1"), "line 2, column 'demand': found '-1'; expected a finite number >="),
    ("name;demand;critical_path;reward\na;1,5;1;1\n", "1.5h or 1:30:00, with a decimal point"),
    (HEADER + "a,1,high,1,1,\n", "line 2, column 'priority': found 'high'; expected a finite"),
    (HEADER + '"a\nb",1,1,1,1,fx\nc,x,1,1,1,fx\n', "line 4, column 'reward': found 'x'; expected"),
    (HEADER + "x" * 200_000 + ",1,1,1,1,fx\n", "line 2: found field larger than field limit"),
    (HEADER + "a,1e308,1,1,1,fx\nb,1e308,1,1,1,fx\n", "jobs: found an overflow; expected finite"),
]


@pytest.mark.parametrize(("text", "says"), WRONG, ids=range(len(WRONG)))
def test_refused(text: str | bytes, says: str, tmp_path: Path) -> None:
    said = str(refusal(table, tmp_path, text))
    assert said.startswith(f"{tmp_path / 'jobs.csv'}: ")
    assert says in said


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


@pytest.mark.parametrize(
    ("column", "text", "expected"),
    [
        ("release", "25:00", "06:00 (a time of day)"),
        ("release", "-5m", "06:00 (a time of day)"),
        ("deadline", "30m 1h", "06:00 (a time of day)"),
        ("deadline", "2026-13-01", "2026-11-23T06:00"),
        ("deadline", "2026-11-23T06:00+01:00", "no offset"),
        ("tasks", "12", "stages such as 12x0.5h; 1x2h"),
        ("spread", "0.9", None),
        ("spread", "1.1", "lognormal 0.5"),
        ("spread", "lognormal x", "lognormal 0.5"),
        ("tasks", "0x1h", "from 1 to 1000000 tasks"),
        *[
            ("tasks", text, "stages such as")
            for text in ("2x", "1h;;1h", "1x06:00", "1x-1h", "2x..1h")
        ],
        ("seats:houdini", "1.5", "a whole number"),
    ],
)
def test_times_and_seats(tmp_path: Path, column: str, text: str, expected: str | None) -> None:
    cells = {"name": "a", "reward": "1", "tasks": "1h", column: text}
    lines = "\n".join([",".join(cells), ",".join(cells.values())])
    asked: dict[str, Any] = {"start": "2026-11-22T20:00"}
    asked |= {"seats:houdini": 2} if "seats" in column else {}
    if expected is None:
        table(tmp_path, lines, **asked)
        return
    error = refusal(table, tmp_path, lines, **asked)
    assert error.place == f"line 2, column {column!r}"
    assert expected in error.expected
    assert error.file == str(tmp_path / "jobs.csv")


OPTIONS: list[tuple[str, dict[str, Any], list[tuple[dict[str, Any], str]]]] = [
    (
        PLAIN,
        {},
        [
            ({"processors": None}, "option: expected option 'processors'"),
            ({"deadline": None}, "option: expected option 'deadline'"),
            ({"processors": 0}, "option processors: found 0; expected a whole number"),
            ({"deadline": float("nan")}, "option deadline: found nan; expected a number above 0"),
            ({"reward": "cubic"}, "option reward: found 'cubic'; expected one of linear, size"),
        ],
    ),
    (
        HEADER + "a,1,,1,1,fx\n",
        {},
        [({"reward": "banded"}, "line 2: found none; expected a priority for each job")],
    ),
    (
        MIXED,
        {},
        [
            ({"groups": "taem"}, "option groups: found 'taem'; expected a column that is no"),
            ({"groups": "team,name"}, "option groups: found 'name'; expected a column that is no"),
        ],
    ),
    (
        FARM,
        EVENING,
        [
            ({"start": "8pm"}, "option start: found '8pm'; expected a time of day such as 20:00"),
            ({"start": "20:00", "deadline": "2026-11-23T06:00"}, "option deadline: found"),
            ({"deadline": "06:00", "start": None}, "option deadline: found the time of day"),
            ({"deadline": "0h"}, "option deadline: found '0h'; expected a time after the start"),
            ({"unit": "fortnight"}, "option unit: found 'fortnight'; expected one of s, m, h, d"),
            ({"seats:houdini": None}, "option: expected option 'seats:houdini', how many there"),
            ({"seats:nuke": 2}, "option seats:nuke: found none; expected a column seats:nuke"),
        ],
    ),
    (
        MACHINE,
        CHANGES,
        [
            ({"pool:cpu": 2}, "processors: found 2; expected `pools` or `processors`, not both"),
            ({"pool:cpu": 1.5}, "option pool:cpu: found 1.5; expected a whole number"),
            ({"holds:gpu": "noon"}, "option holds:gpu: found 'noon'; expected a time = a number"),
            ({"priority": "higher"}, "expected a column 'priority'"),
            ({"holds:gpu": None}, "option: expected option 'holds:gpu', how many there are"),
            ({"holds:ram": 2}, "option holds:ram: found none; expected a column holds:ram"),
            ({"capacity": "20:00"}, "option capacity: found '20:00'; expected a time = a whole"),
            ({"capacity": "20:00=4,19:00=2"}, "capacity[1][0]: found 1.0; expected a time after 2"),
            ({"end": "soon"}, "option end: found 'soon'; expected a finite number >= 0, or a"),
            ({"text": MACHINE.replace("a;b", "a;x")}, "jobs[2].after[1]: found 'x'; expected a"),
            ({"text": MACHINE.replace(",2,,1", ",none,,1")}, "column 'max_processors': found"),
        ],
    ),
]


@pytest.mark.parametrize(
    ("asked", "says"),
    [({"text": text} | own | more, says) for text, own, rows in OPTIONS for more, says in rows],
    ids=[says for _, _, rows in OPTIONS for _, says in rows],
)
def test_wrong_options(tmp_path: Path, asked: dict[str, Any], says: str) -> None:
    assert says in str(refusal(table, tmp_path, **asked))
