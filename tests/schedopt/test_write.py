"""Models written as LP and MPS files, and read by HiGHS alone."""

from pathlib import Path

import highspy
import pytest
from builders.cli import run

import schedopt
from schedopt.verbs.write import Labels


def read(path: Path) -> highspy.Highs:
    engine = highspy.Highs()
    engine.silent()
    assert engine.readModel(str(path)) == highspy.HighsStatus.kOk
    return engine


@pytest.mark.parametrize("ending", [".lp", ".mps"])
def test_highs_alone_finds_the_same_optimum(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"model{ending}"
    rule = schedopt.FairShare(by="team", at_most={"fx": 0.2})
    schedopt.write(schedopt.example("night"), path, constraints=[rule])
    engine = read(path)
    engine.run()
    expected = schedopt.solve(schedopt.example("night"), constraints=[rule]).objective
    assert engine.getInfo().objective_function_value == pytest.approx(expected, rel=1e-9)
    assert "x(job_01)" in engine.getLp().col_names_


def test_hostile_names_stay_apart(tmp_path: Path) -> None:
    names = ["a b", "a_b", "é", "=x", "e5", "st", "a" * 300, "x(1)", "x[1]", "-", "3", "A B"]
    night = schedopt.dssp.Instance(
        name="names",
        processors=1,
        deadline=10,
        jobs=tuple(
            schedopt.dssp.Job(name=name, reward=i + 1.5, demand=i + 1.25, critical_path=1)
            for i, name in enumerate(names)
        ),
    )
    optima = []
    for ending in (".lp", ".mps"):
        schedopt.write(night, tmp_path / f"m{ending}")
        engine = read(tmp_path / f"m{ending}")
        engine.run()
        assert len(set(engine.getLp().col_names_)) >= len(names)
        optima.append(engine.getInfo().objective_function_value)
    assert optima == pytest.approx([schedopt.solve(night).objective] * 2)


def test_labels_are_given_out_once() -> None:
    class Named:
        name = "x[a b]"

    labels = Labels()
    assert [labels(Named()) for _ in range(3)] == ["x(a_b)", "x(a_b)_2", "x(a_b)_3"]


def test_solve_writes_the_model_and_solves(tmp_path: Path) -> None:
    path = tmp_path / "model.mps"
    run("solve", "example:night", "--write", path)
    assert read(path).getNumCol() > 0
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("what", "name", "said"),
    [
        ("example:night", "model.txt", "a name ending in .lp, .mps"),
        ("example:fig3", "model.lp", "a linear formulation"),
        ("example:night", "no/model.lp", "a folder that exists"),
    ],
)
def test_what_cannot_be_written_is_refused(tmp_path: Path, what: str, name: str, said: str) -> None:
    done = run("solve", what, "--write", tmp_path / name, status=2)
    assert said in done.stderr
    assert list(tmp_path.iterdir()) == []
