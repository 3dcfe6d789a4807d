"""Pictures: written in each format, safe whatever a job is called, refused in one line."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from typer.testing import CliRunner

from instances.dssp import Instance, Job
from instances.errors import InputError
from instances.files import dump, encode, load
from schedopt import evaluate, plot, solve
from schedopt.cli import app
from schedopt.verbs.plot import save

NIGHT = Path("instances/dssp/night.json.gz")


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    """Write an instance whose names are markup, mathematics, and very long."""
    names = ("<script>alert(1)</script>", r"$\frac{1}{0}$", "x" * 500, "&amp; $")
    jobs = tuple(
        Job(name=name, reward=1, groups={f"<b>{i}": name}, stages=((1.0, 2.0), (1.0,)))
        for i, name in enumerate(names)
    )
    dump(Instance(name="<i>$_^$", processors=2, deadline=5, jobs=jobs), tmp_path / "evil.json")
    return tmp_path / "evil.json"


@pytest.mark.parametrize("suffix", [".png", ".svg", ".html"])
def test_every_sort_of_file_in_every_format(suffix: str, tmp_path: Path, evil: Path) -> None:
    results = {
        "selection": solve(evil),
        "schedule": evaluate(evil, "lcpf"),
        "several": evaluate(evil, ["lcpf", "cpa", "random"]),
    }
    for name, result in results.items():
        (tmp_path / f"{name}.json").write_bytes(encode(result))
    for name in (*results, "evil"):
        for instance in (None, evil):
            target = tmp_path / f"{name}{suffix}"
            save(plot(tmp_path / f"{name}.json", instance=instance), target)
            data = target.read_bytes()
            assert len(data) > 2_000
            assert b"<script" not in data


def test_a_night_of_thousands_of_tasks_is_pixels(tmp_path: Path) -> None:
    night = load(NIGHT)
    save(plot(evaluate(night, "lcpf"), instance=night), tmp_path / "night.svg")
    assert (tmp_path / "night.svg").stat().st_size < 1_000_000


def test_the_verb(tmp_path: Path) -> None:
    target = tmp_path / "night.png"
    done = CliRunner().invoke(app, ["plot", str(NIGHT), "--output", str(target)])
    assert done.exit_code == 0
    assert target.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["picture.pdf", "picture", "nowhere/picture.png"])
def test_what_cannot_be_written_is_refused_and_nothing_is_left(name: str, tmp_path: Path) -> None:
    with pytest.raises(InputError):
        save(plot(load(NIGHT)), tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_drawn_is_refused(tmp_path: Path) -> None:
    nothing = solve("instances/dssp/conflict.json")
    (tmp_path / "nothing.json").write_bytes(encode(nothing))
    (tmp_path / "other.json").write_bytes(msgspec.json.encode({"a": 1}))
    for name in ("nothing.json", "other.json", "missing.json"):
        with pytest.raises(InputError):
            plot(tmp_path / name)
