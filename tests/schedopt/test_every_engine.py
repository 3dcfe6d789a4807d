"""Every engine and every policy on every bundled example, with every output: no traceback."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import run
from builders.effort import ALL

import schedopt
from schedopt.instances.errors import InputError
from schedopt.instances.examples import examples
from schedopt.problems import problem
from schedopt.solvers.door import engines
from schedopt.solvers.result import better
from schedopt.verbs.solve import build_formulation

FORMULATIONS = [
    (name, kind)
    for name, example in examples().items()
    for kind in problem(example.problem).formulation_homes
]
LONG = {("fig7", "rectangles"), ("night", "schedule"), ("teams", "allocation")}
LONG |= {("fig3", "rectangles"), ("greedy-trap", "schedule")}
LONG |= {(name, kind) for name, kind in FORMULATIONS if examples()[name].problem == "msfq"}
"""Those of which some engine, or the second method, takes all the time that there is."""
SECONDS = 20


@cache
def model_of(name: str, kind: str) -> Any:
    """Return the formulation of an example; None where it is refused."""
    try:
        return build_formulation(schedopt.example(name), kind, None)
    except InputError:
        return None


@cache
def optimum(name: str, kind: str) -> Any:
    """Return the proven optimum of an example; None where there is none to be had quickly."""
    if (name, kind) in LONG or model_of(name, kind) is None:
        return None
    best = schedopt.solve(schedopt.example(name), formulation=kind, time_limit=5)
    return best if best.proven else None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param(*each, marks=pytest.mark.slow if each in LONG and not ALL else ())
        for each in FORMULATIONS
        if model_of(*each) is not None
    ],
)
def test_every_engine_says_the_same_of_an_example(name: str, kind: str, tmp_path: Path) -> None:
    model, claims = model_of(name, kind), {}
    for engine in engines(model.problem, kind):
        file = tmp_path / f"{engine.name}.json"
        words = ["solve", f"example:{name}", "--formulation", kind, "--solver", engine.name]
        words += ["--time-limit", SECONDS, "--certificate", "--confirm", "--json"]
        if not (engine.available and engine.accepts(model)):
            assert "solver" in run(*words, status=2).stderr
            continue
        said = run(*words, "--output", file, status=None)
        claim = claims[engine.name] = msgspec.json.decode(said.stdout)
        assert msgspec.json.decode(file.read_bytes()) == claim
        assert claim["termination"] != "error", claim
        report = schedopt.check(model.instance, file)
        assert report.ok, (engine.name, report.violations)
    proven = {who: c for who, c in claims.items() if c["solution_status"] == "optimal"}
    assert proven or "infeasible" in {claim["termination"] for claim in claims.values()}
    for who, claim in claims.items():
        for by, proof in proven.items():
            best = proof["objective"]
            assert claim["termination"] != "infeasible", (who, by)
            if claim["objective"] is not None:
                near = claim["objective"] == pytest.approx(best, rel=1e-6)
                ahead = better(model.sense, claim["objective"], best)
                assert near or not (ahead or who in proven), (who, by)


@pytest.mark.parametrize("name", examples())
def test_every_policy_ends_in_a_document_and_beats_no_proof(name: str, tmp_path: Path) -> None:
    instance, record = schedopt.example(name), problem(examples()[name].problem)
    names = list(record.policies())
    words: list[Any] = ["evaluate", f"example:{name}", "--policy", ",".join(names), "--json"]
    words += ["--output", tmp_path / "all.json"]
    words += ["--option", "arrivals=2000"] if record.name == "msfq" else []
    claims = msgspec.json.decode(run(*words, status=None).stdout)
    assert [claim["policy"] for claim in claims] == names
    assert msgspec.json.decode((tmp_path / "all.json").read_bytes()) == claims
    for claim in claims:
        if claim["objective"] is None or claim["violations"]:
            continue
        parts = claim["solution"].keys()
        kind = {"tasks": "schedule", "rectangles": "rectangles"}
        asked = next((kind[part] for part in kind if part in parts), None)
        best = optimum(name, asked or record.default_formulation(instance))
        if best is not None:
            near = claim["objective"] == pytest.approx(best.objective, rel=1e-6)
            assert near or not better(best.sense, claim["objective"], best.objective), claim
