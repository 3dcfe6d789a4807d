"""msfq through the verbs: documents, exit codes, references, pictures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from builders.msfq import at_load, one_or_all
from typer.testing import CliRunner

from schedopt import bench, evaluate, plot, solve
from schedopt.cli import app
from schedopt.instances.files import dump
from schedopt.instances.msfq.generators import GENERATORS
from schedopt.sweep.rows import read_rows

BUNDLED = Path(__file__).parent.parent.parent / "instances" / "msfq"
FEW = ["--option", "arrivals=20000"]


def run(*words: Any, status: int = 0) -> Any:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == status, done.output + done.stderr
    return done


@pytest.fixture
def queue(tmp_path: Path) -> Path:
    dump(at_load(3, 0.6), tmp_path / "q.json")
    return tmp_path / "q.json"


def test_solve_and_check(queue: Path, tmp_path: Path) -> None:
    for words in ([], ["--option", "method=area"], ["--option", "variant=lazy"]):
        document = json.loads(
            run("solve", queue, "--json", "-o", tmp_path / "r.json", *words).stdout
        )
        assert document["termination"] == "optimal"
        solution = document["solution"]
        assert {"threshold", "mean_response_time", "weighted_response_time", "classes", "curve",
                "method", "variant", "assumption_ok"} <= solution.keys()  # fmt: skip
        assert len(solution["curve"]) == 3
        assert "holds" in run("check", queue, tmp_path / "r.json").stdout


def test_an_impossible_target_exits_3_and_names_the_rule(queue: Path, tmp_path: Path) -> None:
    rule = {"kind": "response-time", "need": 3, "at_most": 1.1, "name": "large"}
    (tmp_path / "c.json").write_text(json.dumps(rule))
    words = ("--constraints", tmp_path / "c.json", "--json")
    document = json.loads(run("solve", queue, *words, status=3).stdout)
    assert document["conflict"] == ["large"]


def test_evaluate_tells_how_sure_it_is(queue: Path) -> None:
    document = json.loads(run("evaluate", queue, "--policy", "msf", "--json", *FEW).stdout)
    assert document["confidence"] == document["solution"]["confidence"] > 0
    assert document["bound"] is None
    assert document["termination"] == "completed"
    several = json.loads(run("evaluate", queue, "--policy", "msf,nmsr", "--json", *FEW).stdout)
    assert [d["policy"] for d in several] == ["msf", "nmsr"]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--policy", "msfq", "--option", "threshold=3"], "from 0 to 2"),
        (["--policy", "msfq", "--option", "threshold=1.5"], "from 0 to k - 1"),
        (["--policy", "msf", "--option", "trace=no-such.csv"], "no-such.csv"),
        (["--policy", "no-such"], "a policy of msfq"),
    ],
)
def test_bad_usage_exits_2(queue: Path, words: list[str], says: str) -> None:
    done = CliRunner().invoke(app, ["evaluate", str(queue), *words])
    assert done.exit_code != 0
    assert says in str(done.exception)


def test_unstable_is_2_from_evaluate_and_0_from_bench(tmp_path: Path) -> None:
    path = tmp_path / "u.json"
    dump(one_or_all(2, 1.5, 0.5), path)
    done = run("evaluate", path, "--policy", "msf", status=2)
    assert "need 1: 0.75, need 2: 0.5" in done.stderr
    rows = [json.loads(line) for line in run("bench", path, "--json").stdout.splitlines()]
    assert {row["objective"] for row in rows} == {None}
    unstable = [row for row in rows if row["termination"] == "unstable"]
    assert len(unstable) >= 5
    assert all("need 2: 0.5" in row["message"] for row in unstable)
    others = {row["termination"] for row in rows} - {"unstable"}
    assert others <= {"not-applicable"}, "policies for logs"


def test_bench_says_which_reference_it_used(tmp_path: Path) -> None:
    dump(at_load(2, 0.6), tmp_path / "q2.json")
    dump(at_load(2, 0.6, objective="weighted"), tmp_path / "q2w.json")
    dump(at_load(8, 0.9), tmp_path / "q8.json")
    dump(GENERATORS["multi-class"](1, load=0.5), tmp_path / "several.json")
    output = tmp_path / "rows.parquet"
    files = sorted(tmp_path.glob("*.json"))
    rows = bench(files, policies=["msf"], options={"arrivals": 200_000}, output=output)
    best = "optimal-policy"
    assert [row.reference_formulation for row in rows] == [best, best, "threshold", None]
    assert all(row.gap is not None and row.gap > -0.1 for row in rows[:3])
    assert rows[3].gap is None
    assert rows[3].objective is not None
    assert [row.reference_proven for row in rows] == [True, True, False, False]
    assert read_rows(output) == rows


def test_the_best_threshold_is_a_proven_reference_for_msfq_alone(tmp_path: Path) -> None:
    dump(at_load(8, 0.85), tmp_path / "q.json")
    few = {"arrivals": 20_000}
    rows = bench(tmp_path / "q.json", policies=["msf", "msfq", "first-fit"], options=few)
    assert [row.reference_proven for row in rows] == [False, True, False]
    assert [row.reference_bound is None for row in rows] == [True, False, True]
    assert len({row.reference for row in rows}) == 1
    (row,) = bench(tmp_path / "q.json", policies=["msfq"], options={**few, "method": "area"})
    assert not row.reference_proven, "an approximation proves nothing"
    (lazy,) = bench(tmp_path / "q.json", policies=["msfq"], options={**few, "variant": "lazy"})
    assert lazy.reference_proven
    assert lazy.reference != row.reference


def test_every_document_has_a_picture(tmp_path: Path) -> None:
    two, three = at_load(2, 0.5), at_load(3, 0.5)
    results = [
        solve(three),
        solve(two, formulation="optimal-policy"),
        evaluate(three, "msf", options={"arrivals": 20_000}),
    ]
    for what in (three, BUNDLED / "borg-cell-b.json", *results):
        figure = plot(what)
        assert figure.axes
        assert figure.axes[0].get_title() or figure.get_suptitle()


def test_generate_makes_what_solve_takes(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    run("generate", "msfq", "--option", "k=4", "--option", "load=0.5", "-o", path)
    run("solve", path)
    run("generate", "msfq", "--generator", "multi-class", "--seed", 3, "-o", path)
    done = CliRunner().invoke(app, ["solve", str(path)])
    assert "one-or-all" in str(done.exception)


def test_who_knows_sizes_is_not_measured_against_those_who_do_not() -> None:
    options = {"arrivals": 20_000}
    found = bench(["example:small"], policies=["backfilling", "msf"], options=options)
    gaps = {row.policy: row.gap for row in found}
    assert {row.reference_formulation for row in found} == {"optimal-policy"}
    assert gaps["backfilling"] is None
    assert gaps["msf"] is not None
