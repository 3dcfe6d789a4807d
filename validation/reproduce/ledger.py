"""The ledger: what the papers claim and what was last found (claims.json), and what runs it anew.

A runner answers each claim of an entry by its id with our number in words, and whether it holds.
Texts, papers' numbers and sources stand in the file alone, and say what each runner does.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

FILE = Path(__file__).with_name("claims.json")
HOMES = {
    "dssp": ("theorems", "nights"),
    "hesrpt": ("theorems", "figures"),
    "epoch": ("schedules", "sweeps"),
    "msfq": ("figures", "lemmas"),
}
"""For each row, the modules whose functions run its entries."""

Curve = tuple[Any, Any]
Answer = tuple[str, bool | None]
"""Our number in words, and whether the claim holds; None where it cannot be judged."""

Answers = dict[str, Answer]  # for the id of each claim


class Claim(msgspec.Struct, frozen=True):
    """A sentence of a paper, in our words, with its numbers and ours; and whether it holds."""

    id: str  # unique within the entry
    says: str
    paper: str
    ours: str = ""
    holds: bool | None = None


@dataclass(frozen=True)
class Findings:
    """What a runner found: its answers, and the curves of a figure, if there is one."""

    answers: Answers
    curves: Mapping[str, Curve] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""


class Entry(msgspec.Struct, frozen=True):
    """A figure, table, theorem or example of a paper, as it was last found."""

    name: str  # such as ``dssp/figure-3``
    title: str
    source: str
    workload: str  # what it is run on, and what follows from that
    quick: bool  # whether it was run on fewer instances
    seconds: float
    claims: tuple[Claim, ...]

    @property
    def verdicts(self) -> list[bool | None]:
        """Whether each claim holds."""
        return [claim.holds for claim in self.claims]

    def with_answers(self, outcome: Findings) -> tuple[Claim, ...]:
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
    entries = msgspec.json.decode(FILE.read_bytes(), type=tuple[Entry, ...])
    return {entry.name: entry for entry in entries}


Runner = Callable[[bool], Findings | Answers]


def runner(name: str) -> Runner:
    """Return the runner of an entry: ``figure_3`` of a module in `HOMES` for ``dssp/figure-3``.

    It is a function of ``quick``, which takes seconds and answers every claim. `KeyError` if
    nothing runs the entry.
    """
    row, _, item = name.partition("/")
    for home in HOMES[row]:
        module = import_module(f"schedopt.validation.reproduce.{row}_{home}")
        function: Runner | None = getattr(module, re.sub("[-.]", "_", item), None)
        if function is not None:
            return function
    raise KeyError(name)


def run(name: str, quick: bool) -> Findings:
    """Run an entry."""
    outcome = runner(name)(quick)
    return outcome if isinstance(outcome, Findings) else Findings(outcome)


# --- runners ---------------------------------------------------------------------------------

Judge = Callable[[list[Any]], Answer]


def theorem(
    cases: Callable[[bool], Iterable[tuple[Any, ...]]], **judges: Judge
) -> Callable[[Callable[..., Any]], Runner]:
    """Make a property of instances a runner.

    The property returns what the judge of each claim collects over all instances: a value or a list
    of them, by the claim's id where there are several; ``_`` in a name stands for ``-``.
    """

    def of_property(measure: Callable[..., Any]) -> Runner:
        def runs(quick: bool) -> Answers:
            values: dict[str, list[Any]] = {claim: [] for claim in judges}
            for case in cases(quick):
                measured = measure(*case)
                for claim, value in (
                    measured if isinstance(measured, dict) else dict.fromkeys(judges, measured)
                ).items():
                    values[claim] += value if isinstance(value, list) else [value]
            return {
                claim.replace("_", "-"): judge(values[claim]) for claim, judge in judges.items()
            }

        return runs

    return of_property


def judge_below(most: float, what: str = "relative difference", where: str = "instances") -> Judge:
    """Judge differences by the largest."""
    return lambda found: (
        f"largest {what} {max(found):.1e} in {len(found)} {where}",
        max(found) < most,
    )


def judge_never(text: str) -> Judge:
    """Judge what must never be true; the text tells how often it is, and of how many."""
    return lambda found: (text.format(sum(found), len(found)), not any(found))


def judge_always(text: str) -> Judge:
    """Judge what must always be true; the text tells how often it is, and of how many."""
    return lambda found: (text.format(sum(found), len(found)), all(found))


def list_by_name(values: Mapping[str, float], form: str) -> str:
    """Tell values by name."""
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())
