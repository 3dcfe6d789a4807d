"""Run the whole ledger, and write docs/reproduction.md and claims.json.

``python -m benchmarks.reproduction`` takes an hour. Arguments are files of ``schedopt reproduce
--json`` that are used in place of a run; if an entry is in several files, the last one counts.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from schedopt.instances.encoding import to_json
from schedopt.instances.files import write_bytes
from schedopt.validation.reproduce.ledger import FILE, Claim, Entry, ledger, verdict
from schedopt.verbs.reproduce import reproduce

PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"
WORDS = {True: "holds", False: "differs", None: "cannot be checked"}
HEAD = """\
# What the papers claim, and what is found here

Every figure, table, theorem, lemma and worked example of the five papers, with the claim in our
words, the paper's number, ours, and a verdict. It is written from a full run, not by hand, by
`python -m benchmarks.reproduction`; the same table for a terminal is
`schedopt reproduce`. One entry is run anew, its plot included, by its name:
`schedopt reproduce dssp/figure-3 --output plots` (`--quick`: on fewer instances).

"""


class Paper(msgspec.Struct, frozen=True):
    """A paper, and the entries of the ledger for its items."""

    title: str  # authors, title, place and year
    problem: str
    items: dict[str, str]  # the entry of each figure, theorem or example, in the paper's order


def papers() -> dict[str, Paper]:
    """Return the papers by the names of their files."""
    text = FILE.with_name("papers.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Paper])


def record(entries: Sequence[Entry]) -> bytes:
    """Return entries as the bytes of claims.json."""
    kept = [msgspec.structs.replace(entry, seconds=round(entry.seconds, 1)) for entry in entries]
    return msgspec.json.format(to_json(kept), indent=1) + b"\n"


def page(entries: Mapping[str, Entry]) -> str:
    """Return the text of docs/reproduction.md."""
    claims = [holds for entry in entries.values() for holds in entry.verdicts]
    minutes = sum(entry.seconds for entry in entries.values()) / 60
    quick = " A part of it was run quickly." if any(e.quick for e in entries.values()) else ""
    lines = [
        HEAD,
        f"{len(entries)} entries, {len(claims)} claims: {claims.count(True)} hold, "
        f"{claims.count(False)} differ, {claims.count(None)} cannot be checked. The run took "
        f"{minutes:.0f} minutes.{quick}\n\n",
    ]
    for paper in papers().values():
        lines += [f"## {paper.title}\n\n", "| item | entry | verdict |\n", "| --- | --- | --- |\n"]
        for item, name in paper.items.items():
            anchor = name.replace("/", "").replace(".", "")  # the anchor of a heading on GitHub
            lines.append(f"| {item} | [{name}](#{anchor}) | {verdict(entries[name].verdicts)} |\n")
        lines.append("\n")
    lines.append("## The entries\n\n")
    for entry in entries.values():
        about = f"{_cell(entry.title)}. *{_cell(entry.source)}.* {_cell(entry.workload)}"
        lines += [f"### {entry.name}\n\n{about}\n\n", "| claim | paper | here | verdict |\n"]
        lines += ["| --- | --- | --- | --- |\n", *map(_row, entry.claims), "\n"]
    return "".join(lines).rstrip("\n") + "\n"


def _row(claim: Claim) -> str:
    cells = (_cell(text) for text in (claim.says, claim.paper, claim.ours))
    return f"| {' | '.join(cells)} | {WORDS[claim.holds]} |\n"


def _cell(text: str) -> str:
    """Return a text with the signs of Markdown escaped."""
    for sign in "\\|*_<[]":
        text = text.replace(sign, f"\\{sign}")
    return text


def main() -> None:
    """Write the page and claims.json."""
    texts = [Path(file).read_bytes() for file in sys.argv[1:]]
    texts = texts or [msgspec.json.encode(reproduce(watch=print))]
    documents = [msgspec.json.decode(text, type=list[Entry]) for text in texts]
    entries = {entry.name: entry for document in documents for entry in document}
    if missing := [name for name in ledger() if name not in entries]:
        sys.exit(f"no result of {', '.join(missing)}")
    write_bytes(FILE, record([entries[name] for name in ledger()]))
    write_bytes(PAGE, page(ledger()).encode())
    print(f"wrote {PAGE.name} and {FILE.name}")


if __name__ == "__main__":
    main()
