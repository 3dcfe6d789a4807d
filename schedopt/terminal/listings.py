"""What there is, whether it works, and what the papers' reproductions found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from rich.text import Text

from schedopt.formats import duration
from schedopt.instances.errors import printable
from schedopt.terminal.console import out, say, show, text

if TYPE_CHECKING:
    from schedopt.verbs.doctor import Finding
    from schedopt.verbs.warm import Warmed

Told = Mapping[str, Any]
"""An entry, as a document says it."""

VERDICTS = {True: "holds", False: "differs", None: "cannot be judged"}
STYLES = {True: "green", False: "red", None: ""}


def contents(sections: Mapping[str, Sequence[Told]]) -> None:
    """Show what there is, section by section: names, and below each what is said of it."""
    shown = Text()
    for title, entries in sections.items():
        shown.append(f"{printable(title)}\n", "bold")
        for entry in entries:
            of = f"{printable(entry['problem'])}  " if "problem" in entry else ""
            shown.append(f"  {of}")
            shown.append(f"{printable(entry['name'])}\n", "bold")
            for key, value in entry.items():
                if key not in ("problem", "name") and value:
                    words = value if isinstance(value, list) else [str(value)]
                    shown.append("".join(f"      {line}\n" for line in _said(words, key)))
    out.print(shown, end="", soft_wrap=True)


def _said(words: Sequence[str], key: str) -> Iterator[str]:
    """Yield the lines of an entry's key; a summary and what a solver takes speak for themselves."""
    for word in words:
        said = word if key in ("summary", "takes") else f"{key.removesuffix('s')}: {word}"
        yield from wrap(printable(said), max(40, out.width - 6))


def doctor(findings: Sequence[Finding]) -> None:
    """Show what the doctor found."""
    from rich.table import Table

    grid = Table.grid(padding=(0, 2))
    for finding in findings:
        mark = text("works", "green") if finding.ok else text("FAILS", "red")
        grid.add_row(text(finding.name), mark, text(finding.detail))
    out.print(grid)


def warmed(found: Sequence[Warmed]) -> None:
    """Show what compiling took, problem by problem."""
    from schedopt.problems.shown import ShownTable

    rows = tuple((entry.problem, str(entry.runs), duration(entry.seconds)) for entry in found)
    title = "kernels, compiled and kept"
    show(ShownTable(title=title, heads=("problem", "runs", "time"), rows=rows))


def reproductions(found: Sequence[Told]) -> None:
    """Show reproductions: each claim, the paper's numbers, ours, and the verdict."""
    from rich.table import Table

    for entry in found:
        out.print()
        say(f"{entry['name']}: {entry['title']}", "bold")
        say(f"{entry['source']}. {entry['workload']}")
        shown = Table("claim", "paper", "here", "verdict")
        for claim in entry["claims"]:
            cells = (text(claim[key]) for key in ("says", "paper", "ours"))
            shown.add_row(*cells, text(VERDICTS[claim["holds"]], STYLES[claim["holds"]]))
        out.print(shown)
        plot = f"; plot in {entry['plot']}" if entry["plot"] else ""
        say(f"{duration(entry['seconds'])}{plot}")


def ledger(found: Sequence[Told]) -> None:
    """Show all entries of the ledger, a line for each, with the recorded verdict."""
    from schedopt.problems.shown import ShownTable

    rows = tuple(
        (entry["name"], entry["title"], str(len(entry["claims"])), entry["verdict"])
        for entry in found
    )
    show(ShownTable(title="", heads=("entry", "title", "claims", "verdict"), rows=rows))
    say("as last recorded, in full; run an entry again by its name, or `all`")
