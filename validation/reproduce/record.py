"""Write the ledger: claims.json and the page docs/reproduction.md."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from schedopt.instances.encoding import to_json
from schedopt.validation.reproduce.ledger import Claim, Entry

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
    """A paper, and the entries of the ledger for its items.

    Attributes
    ----------
    title : str
        Authors, title, place and year.
    problem : str
        The problem that the paper is about.
    items : dict of str to str
        The name of the entry for each figure, table, theorem or example, in the order of the paper.
    """

    title: str
    problem: str
    items: dict[str, str]


def papers() -> dict[str, Paper]:
    """Return the papers by the names of their files."""
    text = Path(__file__).with_name("papers.json").read_bytes()
    return msgspec.json.decode(text, type=dict[str, Paper])


def record(entries: Sequence[Entry]) -> bytes:
    """Return entries as the bytes of claims.json."""
    kept = [msgspec.structs.replace(entry, seconds=round(entry.seconds, 1)) for entry in entries]
    return msgspec.json.format(to_json(kept), indent=1) + b"\n"


def verdict(held: Sequence[bool | None]) -> str:
    """Return the verdict of an entry in words: the worst of its claims."""
    if False in held:
        return "differs" if not any(held) else f"differs in {held.count(False)} of {len(held)}"
    if None in held:
        return "cannot be checked" if not any(held) else "holds as far as it can be checked"
    return "holds"


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
    """Return a claim as a row of a table."""
    cells = (_cell(text) for text in (claim.says, claim.paper, claim.ours))
    return f"| {' | '.join(cells)} | {WORDS[claim.holds]} |\n"


def _cell(text: str) -> str:
    """Return a text with the signs of Markdown escaped."""
    for sign in "\\|*_<[]":
        text = text.replace(sign, f"\\{sign}")
    return text
