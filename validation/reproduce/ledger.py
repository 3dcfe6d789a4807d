"""The ledger: what the papers claim and what was last found (claims.json), and what runs it anew.

A runner computes an entry's curves and numbers; it answers each claim by its id with our number in
words, and whether the claim holds. Texts, papers' numbers and sources stand in the file alone.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("claims.json")
HOMES = {
    "dssp": ("theorems", "nights"),
    "hesrpt": ("theorems", "figures", "concave"),
    "epoch": ("schedules", "tables", "sweeps"),
    "msfq": ("figures", "lemmas"),
}
"""For each row, the modules whose functions run its entries."""

Curve = tuple[Any, Any]
Answer = tuple[str, bool | None]
"""Our number in words, and whether the claim holds; None where it cannot be judged."""

Answers = dict[str, Answer]  # for the id of each claim


class Claim(msgspec.Struct, frozen=True):
    """A sentence of a paper, in our words, with its numbers and ours.

    Attributes
    ----------
    id : str
        Unique within the entry.
    says : str
        What is claimed.
    paper, ours : str
        The numbers.
    holds : bool or None
        Whether it holds here; None where it cannot be judged.
    """

    id: str
    says: str
    paper: str
    ours: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Outcome:
    """What a runner found.

    Attributes
    ----------
    answers : dict of str to (str, bool or None)
        For the id of each claim our number, and whether the claim holds.
    curves : mapping of str to (x, y)
        What the figure shows.
    xlabel, ylabel : str
        Its axes; where there is no figure, empty.
    """

    answers: Answers
    curves: Mapping[str, Curve] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""


class Entry(msgspec.Struct, frozen=True):
    """A figure, table, theorem or example of a paper, as it was last found.

    Attributes
    ----------
    name : str
        Such as ``dssp/figure-3``.
    title, source : str
    workload : str
        What it is run on, and what follows from that.
    quick : bool
        Whether it was run on fewer instances.
    seconds : float
    claims : tuple of Claim
    """

    name: str
    title: str
    source: str
    workload: str
    quick: bool
    seconds: float
    claims: tuple[Claim, ...]

    @property
    def held(self) -> list[bool | None]:
        """Whether each claim holds."""
        return [claim.holds for claim in self.claims]

    def answered(self, outcome: Outcome) -> tuple[Claim, ...]:
        """Return the claims with the answers of a run; `KeyError` unless they match one by one."""
        if unlike := {claim.id for claim in self.claims} ^ outcome.answers.keys():
            raise KeyError(f"{self.name}: claims and answers differ in {sorted(unlike)}")
        return tuple(
            msgspec.structs.replace(claim, ours=ours, holds=None if holds is None else bool(holds))
            for claim in self.claims
            for ours, holds in (outcome.answers[claim.id],)
        )


def ledger() -> dict[str, Entry]:
    """Return all entries by name, in the order of the file; nothing is imported for them."""
    return {
        entry.name: entry
        for entry in msgspec.json.decode(FILE.read_bytes(), type=tuple[Entry, ...])
    }


Runner = Callable[[bool], Outcome | Answers]


def runner(name: str) -> Runner:
    """Return the runner of an entry: ``figure_3`` of a module in `HOMES` for ``dssp/figure-3``.

    It is a function of ``quick``, which takes seconds and answers every claim. Where there is
    nothing to draw it returns its answers alone. `KeyError` if nothing runs the entry.
    """
    row, _, item = name.partition("/")
    for home in HOMES[row]:
        module = import_module(f"schedopt.validation.reproduce.{row}_{home}")
        found: Runner | None = getattr(module, re.sub("[-.]", "_", item), None)
        if found is not None:
            return found
    raise KeyError(name)


def run(name: str, quick: bool) -> Outcome:
    """Run an entry."""
    found = runner(name)(quick)
    return found if isinstance(found, Outcome) else Outcome(found)
