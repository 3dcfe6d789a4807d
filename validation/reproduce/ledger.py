"""The ledger: reproductions by name, each with claims that hold, differ, or cannot be checked."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

HOMES = {
    "dssp": ("dssp_theorems", "dssp_examples", "dssp_dispatching", "dssp_rewards"),
    "hesrpt": ("hesrpt_theorems", "hesrpt_lemmas", "hesrpt_figures"),
    "epoch": (
        "epoch_tables",
        "epoch_examples",
        "epoch_theorems",
        "epoch_drawings",
        "epoch_agreement",
        "epoch_overhead",
        "epoch_response",
    ),
    "msfq": ("msfq_figures", "msfq_classes", "msfq_lemmas"),
}
"""For each problem, the modules of this package that register its reproductions."""

Curve = tuple[Any, Any]


@dataclass(frozen=True)
class Claim:
    """A sentence of a paper, in our words, with its numbers and ours.

    Attributes
    ----------
    says : str
        What is claimed.
    paper, ours : str
        The numbers.
    holds : bool or None
        Whether it holds here; None where it cannot be judged.
    """

    says: str
    paper: str
    ours: str
    holds: bool | None


@dataclass(frozen=True)
class Outcome:
    """What a reproduction found.

    Attributes
    ----------
    claims : sequence of Claim
    curves : mapping of str to (x, y)
        What the figure shows.
    xlabel, ylabel : str
        Its axes; where there is no figure, empty.
    """

    claims: Sequence[Claim]
    curves: Mapping[str, Curve] = field(default_factory=dict)
    xlabel: str = ""
    ylabel: str = ""


@dataclass(frozen=True)
class Reproduction:
    """A figure, table, theorem or example of a paper.

    Attributes
    ----------
    name : str
        Such as ``dssp/figure-3``.
    title, source : str
    workload : str
        What it is run on, and what follows from that.
    run : callable
        ``run(quick)``, returning an `Outcome`; quick takes seconds and still judges every claim.
    """

    name: str
    title: str
    source: str
    workload: str
    run: Callable[[bool], Outcome]


_LEDGER: dict[str, Reproduction] = {}


def reproduction(
    name: str, *, title: str, source: str, workload: str
) -> Callable[[Callable[[bool], Outcome]], Callable[[bool], Outcome]]:
    """Register a function ``run(quick) -> Outcome``."""

    def decorate(run: Callable[[bool], Outcome]) -> Callable[[bool], Outcome]:
        _LEDGER[name] = Reproduction(name, title, source, workload, run)
        return run

    return decorate


def ledger() -> dict[str, Reproduction]:
    """Return all reproductions by name, in the order of `HOMES` whatever was imported first."""
    homes = [
        f"schedopt.validation.reproduce.{module}"
        for modules in HOMES.values()
        for module in modules
    ]
    for home in homes:
        import_module(home)
    return dict(sorted(_LEDGER.items(), key=lambda item: homes.index(item[1].run.__module__)))
