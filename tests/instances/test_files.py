"""Reading and writing: the round trip, byte for byte, and files that are whole or absent."""

import gzip
import os
import stat
from pathlib import Path

import pytest
from builders.effort import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from schedopt.instances import files
from schedopt.instances.constraints import AtLeast, FairShare, Imply, Resource
from schedopt.instances.dssp import Instance, Job
from schedopt.instances.dssp.generators import GENERATORS
from schedopt.instances.errors import InputError

# Bounded so that no sum of them overflows; all the digits of a double may occur.
lengths = st.floats(0, 1e15, allow_subnormal=True)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8)
stages = st.lists(st.lists(lengths, min_size=1, max_size=4), min_size=1, max_size=3).map(
    lambda found: tuple(map(tuple, found))
)


@st.composite
def jobs(draw: st.DrawFn, name: str) -> Job:
    real = draw(st.none() | stages)
    predicted = lengths if real is None else st.none() | lengths
    return Job(
        name=name,
        reward=draw(lengths),
        priority=draw(st.none() | st.floats(allow_nan=False, allow_infinity=False)),
        groups=draw(st.dictionaries(st.sampled_from(["team", "show"]), names)),
        stages=real,
        demand=draw(predicted),
        critical_path=draw(predicted),
    )


@st.composite
def instances(draw: st.DrawFn) -> Instance:
    called = draw(st.lists(names, unique=True, max_size=5))
    members = tuple(draw(jobs(name)) for name in called)
    rules: list[FairShare | Imply | AtLeast | Resource] = []
    if called:
        use = draw(st.dictionaries(st.sampled_from(called), lengths))
        rules += [
            Resource(name="disk", capacity=draw(lengths), use=use),
            Imply(if_=called[0], then=called[-1]),
            AtLeast(jobs=tuple(called), count=draw(st.integers(0, 9))),
        ]
        if teams := {job.groups["team"] for job in members if "team" in job.groups}:
            shares = draw(st.dictionaries(st.sampled_from(sorted(teams)), st.floats(0, 1)))
            if shares:
                rules.append(FairShare(by="team", at_most=shares))
    return Instance(
        name=draw(names),
        description=draw(st.none() | names),
        processors=draw(st.integers(1, 10**9)),
        deadline=draw(st.floats(1e-290, 1e200)),
        jobs=members,
        constraints=tuple(rules),
    )


@given(instances(), st.sampled_from([".json", ".json.gz"]), st.sampled_from([0, 2]))
@settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_round_trip_is_equal_and_the_same_bytes(
    tmp_path: Path, instance: Instance, ending: str, indent: int
) -> None:
    first, second = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    files.dump(instance, first, indent=indent)
    back = files.load(first)
    assert back == instance
    files.dump(back, second, indent=indent)
    assert first.read_bytes() == second.read_bytes()


def small() -> Instance:
    job = Job(name="a", reward=1.0, stages=((1.0,),))
    return Instance(name="n", processors=1, deadline=1.0, jobs=(job,))


def test_gzip_is_told_by_its_first_bytes_not_by_its_name(tmp_path: Path) -> None:
    path = tmp_path / "packed.json"
    path.write_bytes(gzip.compress(files.encode(small())))
    assert files.load(path) == small()


def test_a_byte_order_mark_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xef\xbb\xbf" + files.encode(small()))
    assert files.load(path) == small()


@pytest.mark.parametrize("broken", ["fsync", "fdopen", "replace"])
def test_a_failed_write_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    path = tmp_path / "a.json"
    files.dump(small(), path)
    before = path.read_bytes()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    target: object = Path if broken == "replace" else os
    monkeypatch.setattr(target, broken, full)
    with pytest.raises(InputError, match="No space left on device"):
        files.write_bytes(path, b"half")
    monkeypatch.undo()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["a.json"]


def test_an_interrupted_write_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(_: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", stop)
    with pytest.raises(KeyboardInterrupt):
        files.write_bytes(tmp_path / "a.json", b"half")
    assert list(tmp_path.iterdir()) == []


def test_writing_where_there_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="a place to write to"):
        files.dump(small(), tmp_path / "nowhere" / "a.json")


def test_writing_keeps_a_file_private(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old")
    path.chmod(0o600)
    files.dump(small(), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_season_of_280_000_tasks_loads(tmp_path: Path) -> None:
    season = GENERATORS["render-night"](1, nights=56)
    path = tmp_path / "season.json.gz"
    files.dump(season, path)
    loaded = files.load(path)
    assert len(loaded.jobs) == 2388
    assert sum(len(stage) for job in loaded.jobs for stage in job.stages) > 250_000
    assert loaded == season
