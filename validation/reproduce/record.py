"""The record: what the last full run of the ledger found, and the page that is made of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from schedopt.validation.reproduce.ledger import ledger
from schedopt.validation.reproduce.papers import PAPERS

FILE = Path(__file__).with_name("recorded.json")
KEPT = ("name", "title", "source", "quick", "seconds", "claims")


def recorded() -> list[dict[str, Any]]:
    """Return the entries of the last recorded run, in the ledger's order."""
    entries: list[dict[str, Any]] = msgspec.json.decode(FILE.read_bytes())
    return entries


def titles() -> dict[str, str]:
    """Return the titles of all reproductions by name, as recorded: nothing is imported for them."""
    return {entry["name"]: entry["title"] for entry in recorded()}


def record(found: Sequence[Mapping[str, Any]]) -> bytes:
    """Return the record of a run as a file holds it."""
    kept = [{key: entry[key] for key in KEPT} for entry in found]
    for entry in kept:
        entry["seconds"] = round(entry["seconds"], 1)
    return msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n"


def verdict(claims: Sequence[Mapping[str, Any]]) -> str:
    """Return an entry's verdict: the worst of its claims."""
    held = [claim["holds"] for claim in claims]
    if False in held:
        return "differs" if not any(held) else f"differs in {held.count(False)} of {len(held)}"
    if None in held:
        return "cannot be checked" if not any(held) else "holds as far as it can be checked"
    return "holds"


WORDS = {True: "holds", False: "differs", None: "cannot be checked"}

HEAD = """\
# What the papers claim, and what is found here

Every figure, table, theorem, lemma and worked example of the five papers, with the claim in our
words, the paper's number, ours, and a verdict. It is written from a full run, not by hand, by
`python -m benchmarks.reproduction`; the same table for a terminal is
`schedopt reproduce`. One entry is run anew, its plot included, by its name:
`schedopt reproduce dssp/figure-3 --output plots` (`--quick`: on fewer instances).

"""


def page(entries: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of REPRODUCTION.md."""
    found = {entry["name"]: entry for entry in entries}
    claims = [claim["holds"] for entry in entries for claim in entry["claims"]]
    minutes = sum(entry["seconds"] for entry in entries) / 60
    quick = " A part of it was run quickly." if any(e["quick"] for e in entries) else ""
    lines = [
        HEAD,
        f"{len(entries)} entries, {len(claims)} claims: {claims.count(True)} hold, "
        f"{claims.count(False)} differ, {claims.count(None)} cannot be checked. The run took "
        f"{minutes:.0f} minutes.{quick}\n\n",
    ]
    for paper in PAPERS.values():
        lines += [f"## {paper.title}\n\n", "| item | entry | verdict |\n", "| --- | --- | --- |\n"]
        for item, name in paper.items.items():
            lines.append(f"| {item} | [{name}](#{_anchor(name)}) | {_verdict(found, name)} |\n")
        lines.append("\n")
    lines.append("## The entries\n\n")
    for name, entry in ledger().items():
        if name in found:
            lines += _section(entry, found[name])
    return "".join(lines).rstrip("\n") + "\n"


def _verdict(found: Mapping[str, Any], name: str) -> str:
    return verdict(found[name]["claims"]) if name in found else "not run"


def _section(entry: Any, found: Mapping[str, Any]) -> list[str]:
    rows = ["| claim | paper | here | verdict |\n", "| --- | --- | --- | --- |\n"]
    for claim in found["claims"]:
        cells = [_cell(claim[key]) for key in ("says", "paper", "ours")]
        rows.append(f"| {' | '.join(cells)} | {WORDS[claim['holds']]} |\n")
    return [
        f"### {entry.name}\n\n",
        f"{_cell(entry.title)}. *{_cell(entry.source)}.* {_cell(entry.workload)}\n\n",
        *rows,
        "\n",
    ]


def _cell(text: str) -> str:
    """Return a text as a cell of a table holds it."""
    for sign in "\\|*_<[]":
        text = text.replace(sign, f"\\{sign}")
    return text


def _anchor(name: str) -> str:
    """Return the anchor that a heading gets, as GitHub makes it."""
    return name.replace("/", "").replace(".", "")
