"""Files: round trips byte for byte, cells that run nothing, and what is no file or too large."""

import gzip
import tracemalloc
from functools import partial
from pathlib import Path

import msgspec
import polars as pl
import pytest
from builders.effort import examples
from builders.refusals import raising, refusal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedopt import example
from schedopt.instances import files
from schedopt.instances.constraints import Imply, Resource
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.errors import printable
from schedopt.instances.files import MOST_READ, load, read_bytes
from schedopt.instances.msfq.log_files import read_jobs
from schedopt.instances.protocol import identity
from schedopt.instances.tables import TextTable, escape_cell, unescape_cell

# Bounded so that no sum of them overflows; all the digits of a double may occur.
lengths = st.floats(0, 1e15, allow_subnormal=True)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
equal = st.builds(lambda length, tasks: [length] * tasks, lengths, st.integers(1, 9))
stage = st.lists(lengths, min_size=1, max_size=4) | equal
jobs = st.builds(
    Job,
    name=names,
    reward=lengths,
    priority=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    groups=st.dictionaries(st.sampled_from(["team", "show"]), names),
    stages=st.lists(stage, min_size=1, max_size=3),
    demand=st.none() | lengths,
)


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    members = draw(st.lists(jobs, min_size=1, max_size=5, unique_by=lambda job: job.name))
    first, last = members[0].name, members[-1].name
    rules = (
        Resource(name="disk", capacity=draw(lengths), use={first: draw(lengths)}),
        Imply(if_=first, then=last),
    )
    return Instance(
        name=draw(names),
        description=draw(st.none() | names),
        processors=draw(st.integers(1, 10**9)),
        deadline=draw(st.floats(1e-290, 1e200)),
        jobs=tuple(members),
        constraints=rules,
    )


@given(instances(), st.sampled_from([".json", ".json.gz"]), st.sampled_from([0, 2]))
@settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_files_round_trip_byte_for_byte(
    tmp_path: Path, instance: Instance, ending: str, indent: int
) -> None:
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    files.dump(instance, first, indent=indent)
    back = files.load(first)
    assert back == instance
    assert identity(back) == identity(instance)
    assert back == files.parse(msgspec.json.encode(instance))  # task by task
    files.dump(back, second, indent=indent)
    assert first.read_bytes() == second.read_bytes()


def small() -> Instance:
    job = Job(name="a", reward=1.0, stages=((1.0,),))
    return Instance(name="n", processors=1, deadline=1.0, jobs=(job,))


def test_failed_write_is_undone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.json"
    files.dump(small(), path)
    before = path.read_bytes()
    monkeypatch.setattr(Path, "replace", raising(OSError(28, "No space left on device")))
    assert "No space left on device" in str(refusal(files.write_bytes, path, b"half"))
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


ODD = "=+-@\t\r'a1 \\\x1b\x07\u202e\u2028\uff1d"


@given(st.text(ODD, max_size=8) | st.text(max_size=6))
def test_escape_cell_round_trip(text: str) -> None:
    cell = escape_cell(text)
    assert unescape_cell(cell) == text or printable(text) != text
    assert not cell.strip().startswith((*"=+-@\t\r", "\uff1d"))
    assert printable(cell) == cell


def test_readers_measure_parquet_before_unpacking(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    pl.select(submit=pl.repeat(0, 500_000), need=1, run=1).write_parquet(path)
    assert path.stat().st_size < 50_000
    monkeypatch.setenv(MOST_READ, "10")

    for read in (partial(read_jobs, servers=4), TextTable.read):
        assert "10 MiB" in str(refusal(read, path))


def test_read_bytes_of_a_bomb_takes_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 2**19) * 128)  # pieces, of which only the last is told
    tracemalloc.start()
    try:
        assert "1 MiB" in str(refusal(read_bytes, path, 2**20))
        assert tracemalloc.get_traced_memory()[1] < 2**22
    finally:
        tracemalloc.stop()


def test_load_limit_is_an_environment_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "n.json"
    path.write_bytes(files.encode(example("two-shots")) + b" " * 2**21)
    assert load(path) == example("two-shots")
    monkeypatch.setenv(MOST_READ, "1")
    assert "more" in str(refusal(load, path))
    monkeypatch.setenv(MOST_READ, "3")
    assert isinstance(load(path), Instance)
    monkeypatch.setenv(MOST_READ, "much")
    assert "MiB" in str(refusal(load, path))


PLAIN = b"name,priority,note\nalign,5,a;b\nsort,0,\n"


@pytest.mark.parametrize(
    "saved",
    [
        b'\xef\xbb\xbfname;priority;note\r\nalign;5;"a;b"\r\nsort;0;\r\n',
        b"sep=;\nname;priority;note\nalign;5;'a;b'\nsort;0;\n".replace(b"'", b'"'),
        b"name\tpriority\tnote\nalign\t5\ta;b\nsort\t0\t",
        b'"name","priority","note"\n"align","5","a;b"\n"sort","0",""\n\n',
        PLAIN.decode().encode("utf-16"),
    ],
    ids=["Windows", "Excel", "tabs", "quotes", "UTF-16"],
)
def test_tables_are_read_the_same_in_every_dialect(saved: bytes, tmp_path: Path) -> None:
    tables = []
    for text in (PLAIN, saved):
        (tmp_path / "table.csv").write_bytes(text)
        tables.append(TextTable.read(tmp_path / "table.csv"))
    plain, other = tables
    assert [cells for _, cells in other.rows] == [cells for _, cells in plain.rows]
    assert other.positions() == plain.positions()
