"""Every policy on every bundled example, with every output: a document, and none beats a proof."""

from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from builders.cli import run

import schedopt
from schedopt.instances.examples import examples
from schedopt.problems import problem
from schedopt.solvers.result import better


@cache
def optimum(name: str, kind: str) -> Any:
    """Return the proven optimum of an example; None where there is none to be had quickly."""
    if examples()[name].problem == "msfq":  # simulated numbers lie on both sides of it
        return None
    try:
        best = schedopt.solve(schedopt.example(name), formulation=kind, time_limit=1)
    except schedopt.InputError:
        return None
    return best if best.proven else None


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
        kind = {"tasks": "schedule", "rectangles": "rectangles"}
        asked = next((kind[part] for part in kind if part in claim["solution"]), None)
        best = optimum(name, asked or record.default_formulation(instance))
        if best is not None:
            near = claim["objective"] == pytest.approx(best.objective, rel=1e-6)
            assert near or not better(best.sense, claim["objective"], best.objective), claim
