"""The verbs on hesrpt: solve, evaluate, bench, check, plot, as a user types them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from schedopt.cli import app

FOLDER = Path(__file__).parents[2] / "instances" / "hesrpt"


def run(*words: Any, status: int = 0) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == status, (done.output, done.exception)
    return done.stdout


def test_solve_check_and_plot(tmp_path: Path) -> None:
    file, result = FOLDER / "teams.json", tmp_path / "r.json"
    shown = run("solve", file, "--output", result)
    assert "over all completion orders" in shown
    document = json.loads(result.read_text())
    assert document["solution"]["certified"] == "all"
    assert document["solution"]["order"][0] == "tune"
    assert set(document["solution"]["epochs"][0]) == {"start", "end", "share"}
    assert "holds" in run("check", file, result)
    run("plot", result, "--instance", file, "--output", tmp_path / "r.png")
    run("plot", file, "--output", tmp_path / "i.svg")
    assert (tmp_path / "r.png").read_bytes().startswith(b"\x89PNG")


def test_floors_that_cannot_hold_are_exit_3_with_their_name() -> None:
    document = json.loads(run("solve", FOLDER / "floors.json", "--json", status=3))
    assert document["conflict"] == ["a fifth each"]


def test_one_order_is_certified_for_itself_alone() -> None:
    words = ["solve", FOLDER / "not-shortest-first.json", "--json"]
    order = "order=short-but-serial,long-but-parallel"
    document = json.loads(run(*words, "--option", order))
    assert document["solution"]["certified"] == "given"
    assert document["objective"] > json.loads(run(*words))["objective"]


def test_every_policy_is_evaluated_and_benched() -> None:
    names = "hesrpt,helrpt,srpt,equi,hell,knee,replan"
    found = json.loads(run("evaluate", FOLDER / "twins.json", "--policy", names, "--json"))
    assert [entry["policy"] for entry in found] == names.split(",")
    assert all(entry["checked"] and not entry["violations"] for entry in found)
    lines = run("bench", FOLDER / "twins.json", FOLDER / "mixed.json", "--json").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 14
    twins = {row["policy"]: row for row in rows if row["instance"] == "twins"}
    assert twins["hesrpt"]["gap"] == pytest.approx(0, abs=1e-9)
    assert all(row["reference_proven"] for row in rows)
    not_applicable = next(r for r in rows if (r["instance"], r["policy"]) == ("mixed", "hesrpt"))
    assert not_applicable["objective"] is None
    assert "option p" in not_applicable["message"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--option", "order=a"], "names of all jobs"),
        (["--solver", "highs"], "a solver of allocation"),
        (["--option", "fill=1"], "an option of allocation"),
    ],
)
def test_wrong_usage_is_refused(words: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["solve", str(FOLDER / "twins.json"), *words])
    assert says in str(done.exception)


def test_constraints_of_another_problem_are_refused(tmp_path: Path) -> None:
    rules = tmp_path / "c.json"
    rules.write_text('{"kind": "require", "jobs": ["a"]}')
    done = CliRunner().invoke(
        app, ["solve", str(FOLDER / "twins.json"), "--constraints", str(rules)]
    )
    assert "require" in str(done.exception)
