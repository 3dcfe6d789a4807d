"""Every verb on epoch, as users call it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from schedopt.cli import app

BUNDLED = Path(__file__).parent.parent.parent / "instances" / "epoch"


def run(*words: object) -> Any:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_solve_check_and_plot(tmp_path: Path) -> None:
    for formulation, objective in (("partition", 48), ("rectangles", 36)):
        result, picture = tmp_path / f"{formulation}.json", tmp_path / f"{formulation}.svg"
        file = BUNDLED / "fig3.json"
        done = run("solve", file, "--formulation", formulation, "--output", result)
        assert done.exit_code == 0, done.output
        assert json.loads(result.read_text())["objective"] == objective
        assert run("check", file, result).exit_code == 0
        assert run("plot", result, "--instance", file, "--output", picture).exit_code == 0
        assert b"j8" in picture.read_bytes() or b"svg" in picture.read_bytes()
        assert run("check", BUNDLED / "fig3.json", tmp_path / "none").exit_code != 0


def test_a_plot_of_an_instance_and_of_policies(tmp_path: Path) -> None:
    results = tmp_path / "runs.json"
    names = "buddy-star,equi-epoch,paper-search,dp"
    assert run("evaluate", BUNDLED / "fig8.json", "--policy", names, "-o", results).exit_code == 0
    for what in (results, BUNDLED / "fig8.json"):
        assert run("plot", what, "--output", tmp_path / "p.png").exit_code == 0
        assert (tmp_path / "p.png").read_bytes().startswith(b"\x89PNG")


def test_a_policy_that_does_not_apply() -> None:
    done = run("evaluate", BUNDLED / "fig7.json", "--policy", "buddy", "--json")
    assert done.exit_code == 2
    document = json.loads(done.stdout)
    assert (document["termination"], document["objective"]) == ("not-applicable", None)
    assert "no power of two" in document["message"]


def test_bench_gives_rectangles_no_gap(tmp_path: Path) -> None:
    done = run("bench", BUNDLED / "fig3.json", BUNDLED / "fig8.json", "--json")
    assert done.exit_code == 0, done.output
    rows = {(r["instance"], r["policy"]): r for r in map(json.loads, done.stdout.splitlines())}
    assert rows["fig8", "heuristic-epoch"]["gap"] == 0.5
    assert rows["fig8", "paper-search"]["gap"] == 0
    assert rows["fig3", "buddy"]["gap"] is None
    assert rows["fig3", "buddy"]["objective"] == 36


def test_generate_then_solve(tmp_path: Path) -> None:
    file = tmp_path / "some.json"
    words = ("--generator", "planted", "--option", "nodes=32", "--option", "epochs=4")
    assert run("generate", "epoch", *words, "--seed", 2, "--output", file).exit_code == 0
    done = run("solve", file, "--json")
    assert json.loads(done.stdout)["objective"] == 4 * 32


def test_a_conflict_exits_3_and_is_named() -> None:
    done = run("solve", BUNDLED / "cannot-share.json", "--json")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["conflict"] == ["both large"]


@pytest.mark.parametrize("option", ["model=none", "colour=red"])
def test_options_are_checked(option: str) -> None:
    done = run("solve", BUNDLED / "fig3.json", "--option", option)
    assert done.exit_code != 0
