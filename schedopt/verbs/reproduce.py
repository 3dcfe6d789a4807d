"""The verb reproduce: recomputes figures and theorems of papers, and judges their claims."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from schedopt.instances.errors import InputError, pick_name

if TYPE_CHECKING:
    from schedopt.validation.reproduce.ledger import Entry

Reproduction = dict[str, Any]  # the outcome of a reproduction, as a document


def reproduce(
    names: Iterable[str] = (),
    *,
    quick: bool = False,
    output: str | Path | None = None,
    watch: Callable[[str], None] | None = None,
    done: Callable[[Reproduction], None] | None = None,
) -> list[Reproduction]:
    """Run reproductions, and judge the claims of the papers.

    Parameters
    ----------
    names : iterable of str
        Names such as ``dssp/figure-3``, or of problems; by default all reproductions.
    quick : bool
        Whether to use fewer instances, which takes seconds instead of minutes.
    output : str or Path, optional
        A folder for plots of the curves.
    watch : callable, optional
        Called with each name before it is run.
    done : callable, optional
        Called with the outcome of each reproduction.

    Returns
    -------
    list of dict
        For each: name, title, source, workload, seconds, claims, and the file of the plot.

    Raises
    ------
    InputError
        If there is no such reproduction, the folder cannot be written, or this is not a clone of
        the repository.
    """
    entries = _entries()
    wanted: dict[str, None] = {}
    for name in names:
        several = [other for other in entries if other.startswith(f"{name}/")]
        wanted.update(dict.fromkeys(several or [pick_name(name, entries, "a reproduction")]))
    reproduced = []
    for name in wanted or entries:
        if watch:
            watch(name)
        reproduced.append(_run_entry(entries[name], quick, output))
        if done:
            done(reproduced[-1])
    return reproduced


def last_recorded() -> list[Reproduction]:
    """Return the recorded outcomes of all reproductions, without running them.

    Raises
    ------
    InputError
        If this is not a clone of the repository.
    """
    entries = _entries().values()
    from schedopt.validation.reproduce.ledger import verdict

    return [msgspec.to_builtins(entry) | {"verdict": verdict(entry.verdicts)} for entry in entries]


def titles() -> dict[str, str]:
    """Return the titles of all reproductions by name; outside a clone there are none."""
    try:
        return {name: entry.title for name, entry in _entries().items()}
    except InputError:
        return {}


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


def _run_entry(entry: Entry, quick: bool, output: str | Path | None) -> Reproduction:
    from schedopt.validation.reproduce.ledger import runner

    began = time.perf_counter()
    values = runner(entry.name)(quick)
    claims = tuple(claim.judged(values) for claim in entry.claims)
    seconds = time.perf_counter() - began
    entry = msgspec.structs.replace(entry, quick=quick, seconds=seconds, claims=claims)
    document: Reproduction = msgspec.to_builtins(entry) | {"plot": None}
    if output is not None and "curves" in values:
        from schedopt.pictures.charts import curves
        from schedopt.verbs.plot import save

        plot = Path(output) / f"{entry.name.replace('/', '-')}.png"
        save(curves(values["curves"], entry), plot)
        document["plot"] = str(plot)
    return document
