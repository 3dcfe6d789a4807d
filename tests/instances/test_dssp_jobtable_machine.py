"""Tables of jobs for machines that change."""

from pathlib import Path
from typing import Any

import pytest
from builders.refusals import refusal

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.jobtable import convert

TABLE = """name,reward,tasks,after,max_processors,processors,holds:gpu
a,5,2x1h;1x2h,,2,,1
b,4,3x30m,a,,2,
c,2,2x1h,a;b,,,0.5
"""
OPTIONS: dict[str, Any] = {
    "processors": 2,
    "deadline": "08:00",
    "start": "2026-11-22T18:00+01:00",
    "unit": "h",
    "capacity": "20:00=4,06:00=1",
    "end": "07:30",
    "holds:gpu": 1.5,
}


def table(tmp_path: Path, text: str = TABLE, **changes: Any) -> Instance:
    path = tmp_path / "jobs.csv"
    path.write_text(text)
    given = {key: value for key, value in (OPTIONS | changes).items() if value is not None}
    return convert(path, **given)


def test_a_machine_that_changes(tmp_path: Path) -> None:
    night = table(tmp_path)
    assert (night.changes, night.end, night.deadline) == (((2.0, 4), (12.0, 1)), 13.5, 14.0)
    assert (night.start, night.unit) == ("2026-11-22T18:00:00+01:00", "h")
    assert night.resources == {"gpu": 1.5}
    a, b, c = night.jobs
    assert (a.after, b.after, c.after) == ((), ("a",), ("a", "b"))
    assert (a.max_processors, b.processors, c.processors) == (2, 2, 1)
    assert (a.holds, b.holds, c.holds) == ({"gpu": 1.0}, {}, {"gpu": 0.5})
    assert night.groups == {}


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"holds:gpu": None}, "option", "option 'holds:gpu', how many there are"),
        ({"holds:ram": 2}, "option holds:ram", "a column holds:ram"),
        ({"capacity": "20:00"}, "option capacity", "a time = a whole number"),
        ({"capacity": "20:00=4,19:00=2"}, "capacity[1][0]", "a time after"),
        ({"end": "soon"}, "option end", "a time such as"),
        ({"text": TABLE.replace("a;b", "a;x")}, "jobs[2].after[1]", "a job"),
        ({"text": TABLE.replace(",2,,1", ",none,,1")}, "column 'max_processors'", "finite number"),
    ],
    ids=str,
)
def test_what_cannot_be_is_told(
    tmp_path: Path, changes: dict[str, Any], place: str, words: str
) -> None:
    told = str(refusal(table, tmp_path, **changes))
    assert place in told
    assert words in told
