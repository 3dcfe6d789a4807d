"""Tables of jobs for machines that change."""

from pathlib import Path
from typing import Any

import pytest
from builders.refusals import refusal

from schedopt.instances.dssp import Down, Instance
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


def test_pools_reservations_and_amounts_that_change(tmp_path: Path) -> None:
    text = TABLE.replace("processors,holds", "pools,holds").replace(",2,,1", ",2,cpu;gpu,1")
    pools = {"processors": None, "capacity": None, "pool:cpu": "18:00=4,02:00=2", "pool:gpu": 3}
    text = text.replace(",2,\n", ",,\n")
    night = table(tmp_path, text, **pools, down="20:00..22:00=gpu:2,23:00..1d=cpu:1")
    assert night.pools == {"cpu": ((0.0, 4), (8.0, 2)), "gpu": 3}
    assert night.down == (
        Down(start=2, end=4, processors=2, pool="gpu"),
        Down(start=5, end=24, processors=1, pool="cpu"),
    )
    assert [job.pools for job in night.jobs] == [("cpu", "gpu"), None, None]
    night = table(tmp_path, **{"holds:gpu": "18:00=16,02:00=8"})
    assert night.resources == {"gpu": ((0.0, 16.0), (8.0, 8.0))}


def test_priorities_that_are_higher_are_counted_down(tmp_path: Path) -> None:
    text = "name,priority,tasks\na,100,1h\nb,1,1h\nc,99.5,1h\n"
    told: list[str] = []
    options = {"capacity": None, "end": None, "holds:gpu": None, "tell": told.append}
    night = table(tmp_path, text, priority="higher", **options)
    assert [job.priority for job in night.jobs] == [0.0, 99.0, 0.5]
    assert [job.reward for job in night.jobs] == [500.0, 401.0, 499.5]
    assert any("higher is more important, as asked" in line for line in told)
    assert table(tmp_path, text, **options).jobs[0].priority == 100.0
    assert any("--option priority=higher" in line for line in told)


@pytest.mark.parametrize(
    ("changes", "place", "words"),
    [
        ({"down": "20:00..22:00"}, "option down", "start..end = a whole number"),
        ({"down": "20:00..19:00=1"}, "down[0].end", "a time after 2"),
        ({"down": "20:00..21:00=x:1"}, "down[0].pool", "`pools`"),
        ({"pool:cpu": 2}, "processors", "`pools` or `processors`, not both"),
        ({"pool:cpu": 1.5}, "option pool:cpu", "a whole number"),
        ({"holds:gpu": "noon"}, "option holds:gpu", "a time = a number"),
        ({"priority": "higher"}, "", "a column 'priority'"),
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
