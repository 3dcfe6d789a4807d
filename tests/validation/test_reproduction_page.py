"""REPRODUCTION.md: it leaves out nothing of the papers, and says what the ledger says."""

import json
import re

import pytest
from builders.cli import ROOT
from typer.testing import CliRunner

from schedopt.cli import app
from schedopt.validation.reproduce import record
from schedopt.validation.reproduce.ledger import Outcome, ledger, run, runner
from schedopt.verbs.reproduce import recorded

TEXTS = ROOT.parent / "shared" / "papers"
PAPERS = record.papers()
NUMBERED = r"\b(?i:(figure|table|theorem|lemma|remark|definition|corollary|algorithm)) (\d+)\b"


def test_every_item_has_an_entry_and_every_entry_an_item() -> None:
    items = [name for paper in PAPERS.values() for name in paper.items.values()]
    assert set(items) == set(ledger())
    for paper in PAPERS.values():
        assert all(name.startswith(f"{paper.problem}/") for name in paper.items.values())


@pytest.mark.skipif(not TEXTS.exists(), reason="the papers' text is not here")
@pytest.mark.parametrize("file", PAPERS)
def test_no_numbered_item_of_a_paper_is_missing(file: str) -> None:
    text = (TEXTS / f"{file}.txt").read_text(encoding="utf-8").partition("REFERENCES")[0]
    lines = [line.lstrip("*_ ") for line in text.splitlines()]
    heads = [match for line in lines if (match := re.match(NUMBERED, line))]
    found = {f"{match[1].capitalize()} {match[2]}" for match in heads}
    # Running text also begins lines with "Theorem 3 now follows": all the more names to look for.
    assert len(found) >= 8
    assert found <= set(PAPERS[file].items)


@pytest.mark.skipif(not TEXTS.exists(), reason="the papers' text is not here")
def test_no_unnumbered_theorem_of_the_msfq_paper_is_missing() -> None:
    text = (TEXTS / "msfq-2025.txt").read_text(encoding="utf-8")
    stated = set(re.findall(r"(?:\]|\}|^)((?:lemma|theorem|remark)[a-z0-9]+) ", text, re.M))
    unnumbered = [item for item in PAPERS["msfq-2025"].items if "(" in item]
    assert len(stated) == len(unnumbered) == 13, stated


def test_the_record_has_every_entry_in_full() -> None:
    entries = recorded()
    assert [entry["name"] for entry in entries] == list(ledger())
    assert all(runner(entry["name"]) for entry in entries)
    assert not any(entry["quick"] for entry in entries)
    assert all(entry["claims"] for entry in entries)


def test_the_page_is_what_the_record_makes() -> None:
    page = (ROOT / "REPRODUCTION.md").read_text(encoding="utf-8")
    assert page == record.page(ledger()), "run python -m benchmarks.reproduction"
    headings = re.findall(r"^### (.*)$", page, re.M)
    anchors = {heading.replace("/", "").replace(".", "") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]*)\)", page)) == anchors


@pytest.mark.parametrize(
    ("held", "words"),
    [
        ([True, True], "holds"),
        ([True, False, None], "differs in 1 of 3"),
        ([False], "differs"),
        ([None, None], "cannot be checked"),
        ([True, None], "holds as far as it can be checked"),
    ],
)
def test_a_verdict_is_the_worst_of_the_claims(held: list[bool | None], words: str) -> None:
    assert record.verdict(held) == words


def test_every_claim_is_answered_and_nothing_else() -> None:
    entry = ledger()["dssp/theorem-1"]
    answers = run(entry.name, True).answers
    assert [claim.id for claim in entry.claims] == list(answers) == ["halved"]
    for wrong in ({}, answers | {"more": ("1", True)}):
        with pytest.raises(KeyError, match="dssp/theorem-1: claims and answers differ"):
            entry.answered(Outcome(wrong))


def test_ids_are_unique_in_an_entry() -> None:
    for entry in ledger().values():
        assert len({claim.id for claim in entry.claims}) == len(entry.claims)


def test_the_verb_without_names_prints_the_table() -> None:
    done = CliRunner().invoke(app, ["reproduce", "--json"])
    assert done.exit_code == 0
    table = json.loads(done.stdout)
    assert {entry["name"] for entry in table} == set(ledger())
    assert {entry["verdict"].split()[0] for entry in table} <= {"holds", "differs", "cannot"}
    shown = CliRunner().invoke(app, ["reproduce"])
    assert shown.exit_code == 0
    assert "msfq/lemma-phase-4" in shown.output


@pytest.mark.parametrize("words", [["all"], ["--quick"]])
def test_all_are_run_where_all_are_asked_for(
    words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []

    def run(names: object, **_: object) -> list[object]:
        asked.append(names)
        return []

    monkeypatch.setattr("schedopt.verbs.reproduce.reproduce", run)
    assert CliRunner().invoke(app, ["reproduce", *words]).exit_code == 0
    assert asked == [()]
