"""Reproduce: a paper's figures and theorems, its claims beside what is found here."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt.instances.errors import InputError
from schedopt.instances.naming import pick_name

if TYPE_CHECKING:
    from schedopt.validation.reproduce.ledger import Entry, Findings

LONG = 10.0  # seconds: how long is said beforehand of what takes longer
Told = dict[str, Any]  # the outcome of a reproduction, as a document


def reproduce(
    names: Iterable[str] = (),
    *,
    quick: bool = False,
    output: str | Path | None = None,
    watch: Callable[[str], None] | None = None,
    done: Callable[[Told], None] | None = None,
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
        Called with each name before it is run, and how long it took when recorded, if long.
    done : callable, optional
        Called with what each found, once it has ended.

    Returns
    -------
    list of dict
        For each: name, title, source, workload, seconds, claims, and the plot's file.

    Raises
    ------
    InputError
        If there is no such reproduction, nothing can be written to the folder, or this is not a
        clone of the repository.
    """
    entries = _entries()
    wanted: dict[str, None] = {}
    for name in names:
        several = [other for other in entries if other.startswith(f"{name}/")]
        wanted.update(dict.fromkeys(several or [pick_name(name, entries, "a reproduction")]))
    reproduced = []
    for name in wanted or entries:
        reproduced.append(_run_entry(entries[name], quick, output, watch))
        if done:
            done(reproduced[-1])
    return reproduced


def last_recorded() -> list[Told]:
    """Return what the last recorded run of the ledger found, without running anything.

    `InputError` if this is not a clone of the repository.
    """
    entries = _entries().values()
    from schedopt.validation.reproduce.record import verdict

    return [_document(entry) | {"verdict": verdict(entry.verdicts)} for entry in entries]


def titles() -> dict[str, str]:
    """Return the titles of all reproductions by name: none outside a clone."""
    try:
        return {name: entry.title for name, entry in _entries().items()}
    except InputError:
        return {}


def with_outcome(entry: Entry, outcome: Findings, *, quick: bool, seconds: float) -> Entry:
    """Return an entry with what a run of it found."""
    claims = entry.with_answers(outcome)
    return msgspec.structs.replace(entry, quick=quick, seconds=seconds, claims=claims)


def _entries() -> dict[str, Entry]:
    try:
        from schedopt.validation.reproduce.ledger import ledger
    except ModuleNotFoundError as missing:
        if not str(missing.name).startswith("schedopt.validation"):
            raise
        raise InputError(
            "a clone of the repository: the papers' claims are not part of the installed package "
            "(in a clone, `pip install -e .` brings them)"
        ) from None
    return ledger()


def _run_entry(
    entry: Entry, quick: bool, output: str | Path | None, watch: Callable[[str], None] | None
) -> Told:
    from schedopt.validation.reproduce.ledger import run

    if watch:
        longer = quick == entry.quick and entry.seconds >= LONG
        watch(f"{entry.name}, {entry.seconds:.0f} s when recorded" if longer else entry.name)
    began = time.perf_counter()
    outcome = run(entry.name, quick)
    entry = with_outcome(entry, outcome, quick=quick, seconds=time.perf_counter() - began)
    plot = None
    if output is not None and outcome.curves:
        from schedopt.pictures.charts import curves
        from schedopt.verbs.plot import save

        plot = Path(output) / f"{entry.name.replace('/', '-')}.png"
        save(curves(outcome, f"{entry.title}\n{entry.source}"), plot)
    return _document(entry) | {"plot": None if plot is None else str(plot)}


def _document(entry: Entry) -> Told:
    document: Told = msgspec.to_builtins(entry)
    return document
