"""Reproductions: what holds goes on holding, what differs is known to, and the page says so."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from builders.cli import ROOT, started
from builders.effort import ALL
from builders.refusals import refusal
from typer.testing import CliRunner

from benchmarks import reproduction as record
from schedopt import reproduce
from schedopt.cli import app
from schedopt.validation.reproduce.ledger import ledger, runner
from schedopt.verbs.reproduce import last_recorded

LONG = (
    "dssp/figure-5",
    "epoch/table-2",
    "hesrpt/figure-4",
    "msfq/figure-6",
    *(f"epoch/figure-{n}" for n in (10, 11, 13, 15, 16, 17, 18)),  # as 9 and 14, over other axes
)
"""Entries that take most of the time: `make test-all`, and `reproduce --quick`."""
DRAWN = ("dssp/figure-3", "epoch/figure-9", "msfq/figure-2")
"""Entries of which plots are looked at."""
LEDGER = [pytest.param(n, marks=[pytest.mark.slow] if n in LONG else []) for n in ledger()]


@pytest.mark.parametrize("name", LEDGER)
def test_reproduce_judges_every_claim_as_recorded(name: str, tmp_path: Path) -> None:
    plotted = ALL or name in DRAWN
    (entry,) = reproduce([name], quick=True, output=tmp_path if plotted else None)
    judged = {claim["id"]: claim["holds"] for claim in entry["claims"]}
    assert judged == {claim.id: claim.holds for claim in ledger()[name].claims}
    assert not (plotted and entry["plot"]) or Path(entry["plot"]).read_bytes()[1:4] == b"PNG"


def test_reproduce_suggests_names() -> None:
    assert "dssp/figure-3" in str(refusal(reproduce, ["dssp/figure3"]))


def test_reproduce_in_a_wheel_asks_for_a_clone(installed: Path, tmp_path: Path) -> None:
    assert (installed / "schedopt" / "validation" / "documents.py").is_file()
    assert not (installed / "schedopt" / "validation" / "reproduce").exists()
    where: Any = {"directory": tmp_path, "env": {"PYTHONPATH": str(installed)}}
    refused = started("reproduce", "all", "--json", status=2, **where)
    assert refused.stdout == ""
    assert "a clone of the repository" in refused.stderr
    assert len(refused.stderr.splitlines()) == 1
    assert json.loads(started("list", "--json", **where).stdout)["reproductions"] == []


PAPERS = record.papers()


def test_ledger_has_an_entry_for_every_item() -> None:
    items = [name for paper in PAPERS.values() for name in paper.items.values()]
    assert set(items) == set(ledger())
    for paper in PAPERS.values():
        assert all(name.startswith(f"{paper.problem}/") for name in paper.items.values())


def test_ledger_record_has_every_entry_in_full() -> None:
    entries = last_recorded()
    assert [entry["name"] for entry in entries] == list(ledger())
    assert all(runner(entry["name"]) for entry in entries)
    assert not any(entry["quick"] for entry in entries)
    assert all(entry["claims"] for entry in entries)


def test_ledger_page_equals_the_record() -> None:
    page = (ROOT / "docs" / "reproduction.md").read_text(encoding="utf-8")
    assert page == record.page(ledger()), "run python -m benchmarks.reproduction"
    headings = re.findall(r"^### (.*)$", page, re.M)
    anchors = {heading.replace("/", "").replace(".", "") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) == anchors


def test_reproduce_without_names_prints_the_table() -> None:
    done = CliRunner().invoke(app, ["reproduce", "--json"])
    assert done.exit_code == 0
    table = json.loads(done.stdout)
    assert {entry["name"] for entry in table} == set(ledger())
    assert {entry["verdict"].split()[0] for entry in table} <= {"holds", "differs", "cannot"}
    assert "msfq/lemma-phase-4" in CliRunner().invoke(app, ["reproduce"]).output
