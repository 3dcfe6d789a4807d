"""A sweep as a small TOML file."""

import glob
import tomllib
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Annotated, Any

import msgspec

from schedopt.instances.decimals import expect_held, held
from schedopt.instances.decoding import convert
from schedopt.instances.errors import InputError, decoded, joined, placed, shown
from schedopt.instances.files import read_bytes
from schedopt.sweep.sources import GeneratedSource, generated, instance_files, seeds_of

Positive = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Seed = Annotated[int, msgspec.Meta(ge=0)]
Seeds = Seed | Annotated[tuple[Seed, ...], msgspec.Meta(min_length=1)] | str
Value = bool | int | float | str
Values = Value | tuple[Value, ...]


class Generated(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Instances of one generator."""

    problem: str
    generator: str | None = None  # the problem's first by default
    seeds: Seeds = 0  # one instance each; as text a range, such as ``1-20``
    options: dict[str, Value] = {}  # the generator's


class Declaration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A sweep file, paths seen from its folder; what is missing is as on the command line."""

    paths: tuple[str, ...] = ()
    generate: tuple[Generated, ...] = ()
    policies: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    policy_files: tuple[str, ...] = ()  # python files that register policies; they are run
    options: dict[str, Values | dict[str, Values]] = {}
    constraints: tuple[str, ...] | dict[str, tuple[str, ...]] = ()
    seeds: Seeds = 0  # for policies that draw random numbers
    time_limit: Seconds | None = None
    grace: Seconds | None = None
    jobs: Positive | None = None
    cluster: str | None = None
    output: str | None = None


def read(path: str | Path) -> dict[str, Any]:
    """Return what a sweep file declares, as keyword arguments of `schedopt.bench`."""
    path = Path(path)
    with placed(file=path):
        return _arguments(_decoded(read_bytes(path), str(path)), path.parent)


def rule_files(path: str | Path) -> list[Path]:
    """Return the files of side constraints that a sweep file names."""
    path = Path(path)
    files = _decoded(read_bytes(path), str(path)).constraints
    several = files.values() if isinstance(files, Mapping) else [files]
    return [path.parent / file for some in several for file in some]


def _decoded(data: bytes, file: str) -> Declaration:
    text = decoded(data)
    try:
        document = tomllib.loads(text, parse_float=_number)
    except (ValueError, RecursionError) as error:  # whole numbers of thousands of digits too
        raise InputError(f"TOML: {shown(str(error))}") from None
    _check_finite(document, "")
    return convert(document, Declaration, "", file=file)


class _Written(float):
    """A number that a double does not hold as it is written."""

    text: str


def _number(written: str) -> float:
    if held(written):
        return float(written)
    value = _Written(written)
    value.text = written
    return value


def _check_finite(value: Any, place: str) -> None:
    """Refuse TOML's nan and inf, of which JSON would make nothing at all, and what is lost."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_finite(inner, joined(place, key))
    elif isinstance(value, list):
        for position, inner in enumerate(value):
            _check_finite(inner, f"{place}[{position}]")
    elif isinstance(value, float) and not isfinite(value):
        raise InputError("a finite number", found=str(value), place=place)
    elif isinstance(value, _Written):
        expect_held(value.text, place)


def _arguments(declared: Declaration, home: Path) -> dict[str, Any]:
    if not declared.paths and not declared.generate:
        raise InputError("`paths` or `generate`: instances to run on", found="neither")
    found = {
        "paths": _found(declared.paths, home),
        "generated": _made(declared.generate),
        "policies": declared.policies or None,
        "policy_files": [home / file for file in declared.policy_files] or None,
        "options": declared.options,
        "constraints": _rules(declared.constraints, home),
        "seeds": seeds_of(declared.seeds),
        "time_limit": declared.time_limit,
        "grace": declared.grace,
        "jobs": declared.jobs,
        "cluster": declared.cluster,
        "output": _output(declared.output, home) if declared.output else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _output(name: str, home: Path) -> Path:
    """Return where rows are written: whoever sent the file, in no folder but its own."""
    if not (home / name).resolve().is_relative_to(home.resolve()):
        expected = "a file in the sweep's own folder or below (`--output` may name any other)"
        raise InputError(expected, found=shown(name), place="output")
    return home / name


def _found(patterns: Sequence[str], home: Path) -> list[Path]:
    """Return the files and folders that patterns name."""
    paths: list[Path] = []
    for position, pattern in enumerate(patterns):
        place = f"paths[{position}]"
        whole = str(home / pattern)
        inside = _matching(whole) if glob.has_magic(pattern) else [whole]
        if not inside:
            raise InputError("a pattern of files that exist", found=shown(pattern), place=place)
        try:
            instance_files(inside)
        except InputError as error:
            raise InputError(error.expected, found=shown(pattern), place=place) from None
        paths += map(Path, inside)
    return paths


def _matching(pattern: str) -> list[str]:
    """Return what a pattern matches; schemas, which stand beside instances, are none."""
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  absolute patterns too
    return [path for path in found if Path(path).name != "schema.json"]


def _made(declared: Sequence[Generated]) -> list[GeneratedSource]:
    made: list[GeneratedSource] = []
    for position, entry in enumerate(declared):
        with placed(f"generate[{position}]"):
            seeds = seeds_of(entry.seeds)
            made += generated(entry.problem, entry.generator, seeds=seeds, options=entry.options)
    return made


def _rules(files: Sequence[str] | Mapping[str, Sequence[str]], home: Path) -> Any:
    from schedopt.problems import problem as record_of
    from schedopt.verbs.constraints import constraints_from, constraints_of_any

    if isinstance(files, Mapping):
        return {
            record_of(name).name: [
                rule for file in mine for rule in constraints_from(home / file, name)
            ]
            for name, mine in files.items()
        }
    return [rule for file in files for rule in constraints_of_any(home / file)]
