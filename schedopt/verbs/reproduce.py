"""Reproduce: a paper's figures and theorems, its claims beside what is found here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schedopt.instances.naming import pick

if TYPE_CHECKING:
    from schedopt.validation.reproduce.ledger import Claim, Outcome, Reproduction

Told = dict[str, Any]
"""What a reproduction found, as a document."""


def reproduce(
    names: Iterable[str] = (),
    *,
    quick: bool = False,
    output: str | Path | None = None,
    watch: Callable[[str], None] | None = None,
) -> list[Told]:
    """Run reproductions, and say which claims hold.

    Parameters
    ----------
    names : iterable of str
        Such as ``dssp/figure-3``, or a problem for all of its; all where none is given.
    quick : bool
        Seconds instead of minutes, on fewer instances; every claim is still judged.
    output : str or Path, optional
        A folder for the plots: curves, or else the claims beside what is found.
    watch : callable, optional
        Called with each name before it is run.

    Returns
    -------
    list of dict
        For each: name, title, source, workload, seconds, claims, and the plot's file.

    Raises
    ------
    InputError
        If there is no such reproduction, or nothing can be written to the folder.
    """
    from schedopt.validation.reproduce.ledger import ledger

    known = ledger()
    wanted: dict[str, None] = {}
    for name in names:
        several = [other for other in known if other.startswith(f"{name}/")]
        wanted.update(dict.fromkeys(several or [pick(name, known, "a reproduction")]))
    return [_one(known[name], quick, output, watch) for name in wanted or known]


def recorded() -> list[Told]:
    """Return what the last recorded run of the whole ledger found, without running anything.

    Returns: for each entry: name, title, source, quick, seconds, claims, and its verdict in words.
    """
    from schedopt.validation.reproduce.record import recorded as read
    from schedopt.validation.reproduce.record import verdict

    return [entry | {"verdict": verdict(entry["claims"])} for entry in read()]


def _one(
    entry: Reproduction, quick: bool, output: str | Path | None, watch: Callable[[str], None] | None
) -> Told:
    if watch:
        watch(entry.name)
    began = time.perf_counter()
    outcome = entry.run(quick)
    seconds = time.perf_counter() - began
    plot = None
    if output is not None:
        from schedopt.pictures.claims import claims, curves
        from schedopt.verbs.plot import save

        plot = Path(output) / f"{entry.name.replace('/', '-')}.png"
        draw = curves if outcome.curves else claims
        save(draw(outcome, f"{entry.title}\n{entry.source}"), plot)
    return told(entry, outcome, quick=quick, seconds=seconds) | {
        "plot": None if plot is None else str(plot)
    }


def told(entry: Reproduction, outcome: Outcome, *, quick: bool, seconds: float) -> Told:
    """Return what a reproduction found, as a document without a plot."""
    return {
        "name": entry.name,
        "title": entry.title,
        "source": entry.source,
        "workload": entry.workload,
        "quick": quick,
        "seconds": seconds,
        "claims": [_plain(claim) for claim in outcome.claims],
    }


def _plain(claim: Claim) -> Told:
    """Return a claim as a document holds it: a verdict of numpy's is no verdict of JSON's."""
    holds = None if claim.holds is None else bool(claim.holds)
    return {"says": claim.says, "paper": claim.paper, "ours": claim.ours, "holds": holds}
