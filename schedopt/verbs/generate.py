"""Generate and convert: instances from nothing but a seed, and from files of other formats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from instances.errors import InputError, shown
from instances.files import PROBLEMS
from instances.options import checked
from schedopt.problems import catalog


def generate(
    problem: str,
    generator: str | None = None,
    *,
    seed: int = 0,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return a random instance; the same seed gives the same instance.

    Parameters
    ----------
    problem : str
        Such as ``dssp``.
    generator : str, optional
        Which generator; the problem's first by default.
    seed : int
        Not negative.
    options : mapping, optional
        The generator's options.

    Raises
    ------
    InputError
        If problem, generator or an option is not known or not right.
    """
    chosen = catalog.generator(problem, generator)
    if seed < 0:
        raise InputError("a whole number >= 0", found=shown(seed), place="seed")
    return chosen(seed, **checked(options or {}, chosen.options, chosen.name))


def convert(
    paths: Sequence[str | Path],
    *,
    name: str | None = None,
    options: Mapping[str, Any] | None = None,
) -> Any:
    """Return an instance made of files of another format.

    Parameters
    ----------
    paths : sequence of str or Path
        A CSV of jobs, one or several WfCommons workflows (WfFormat JSON), or a log in the Standard
        Workload Format (.swf, .swf.gz).
    name : str, optional
        The instance's name; the first file's by default.
    options : mapping, optional
        ``processors``, ``deadline`` and ``reward`` (``linear``, ``size`` or ``banded``). Of a log
        ``problem`` (``msfq``, ``epoch`` or ``dssp``), and the options of that problem's converter.

    Raises
    ------
    InputError
        If a file cannot be read or an option is not right.
    """
    from instances.dssp import jobtable, wfformat

    if any(".swf" in _endings(path) for path in paths):
        return _of_log(paths, name, dict(options or {}))
    tables = [path for path in paths if _is_table(path)]
    if tables and len(paths) > 1:
        raise InputError("one CSV of jobs, or workflows only", found=f"{len(paths)} files")
    known = jobtable.OPTIONS if tables else wfformat.OPTIONS
    given = checked(options or {}, known, "convert")
    if tables:
        return jobtable.convert(tables[0], name=name, **given)
    return wfformat.convert(paths, name=name, **given)


LOGGED = ("msfq", "epoch", "dssp")
"""Problems that a log of jobs can be turned into."""


def _of_log(paths: Sequence[str | Path], name: str | None, options: dict[str, Any]) -> Any:
    """Convert a log by the converter of the problem that the options name."""
    if len(paths) > 1:
        raise InputError("one log (.swf)", found=f"{len(paths)} files")
    problem = options.pop("problem", None)
    if problem not in LOGGED:
        expected = f"one of {', '.join(LOGGED)}: what the log is to become"
        found = None if problem is None else shown(problem)
        raise InputError(expected, found=found, place="option problem")
    converter = import_module(f"instances.{problem}.swf")
    given = checked(options, converter.OPTIONS, f"convert to {problem}")
    return converter.convert(paths[0], **({"name": name} if name else {}) | given)


def _is_table(path: str | Path) -> bool:
    return not _endings(path).isdisjoint({".csv", ".tsv"})


def _endings(path: str | Path) -> set[str]:
    return {ending.lower() for ending in Path(path).suffixes}


def constraints_from(path: str | Path, problem: str) -> list[Any]:
    """Read side constraints of a problem from a file: a list of them, or a single one.

    Raises
    ------
    InputError
        With the file, the place, what was found and what was expected.
    """
    return _constraints(path, catalog.constraint_kinds(problem))


def any_constraints_from(path: str | Path) -> list[Any]:
    """Read side constraints of any problem from a file.

    Raises
    ------
    InputError
        With the file, the place, what was found and what was expected.
    """
    kinds: dict[str, Any] = {}
    for problem in PROBLEMS:
        kinds |= catalog.constraint_kinds(problem)
    return _constraints(path, kinds)


def _constraints(path: str | Path, kinds: Mapping[str, Any]) -> list[Any]:
    from instances.files import decode, read_bytes

    data = read_bytes(path)
    union: Any = None
    for kind in kinds.values():
        union = kind if union is None else union | kind
    if data.lstrip().startswith(b"{"):
        return [decode(data, union, file=str(path))]
    return list(decode(data, tuple[union, ...], file=str(path)))
