"""Entries: a frozen instance, its best known objective and bound, and their sources."""

import hashlib
from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from schedopt.formulations.protocol import Sense
from schedopt.instances import packed
from schedopt.instances.examples import instance_path, packed_group, read_result
from schedopt.instances.files import decode, load
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem as record_of
from schedopt.solvers.result import Document
from schedopt.sweep.sources import FileSource

Status = Literal["proven", "open"]


class Origin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The origin of an instance before it was frozen.

    Attributes
    ----------
    generator : str
        As ``schedopt generate`` takes it.
    seed : int
    options : dict
        Those of the generator that are not at their default.
    rules : bool
        Whether side constraints were added to what the generator made.
    """

    generator: str
    seed: int
    options: dict[str, Any] = {}
    rules: bool = False


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who or what found a result, when, and with which version.

    Attributes
    ----------
    by : str
        A solver, a policy, or a person.
    date : str
        The day, as YYYY-MM-DD.
    version : dict of str to str
    """

    by: str
    date: str
    version: dict[str, str] = {}


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A line of a group's ``entries.jsonl``.

    Attributes
    ----------
    name : str
        The instance's, and that of its files ``instances/NAME.json`` and ``results/NAME.json``.
    problem, formulation : str
    options : dict
        The formulation's.
    sense : str
    status : str
        ``proven``: the objective is the optimum. ``open``: nobody knows yet.
    objective, bound, gap : float, optional
        The best that are known; the gap is that of result documents.
    certificate : str
        The kind of certificate from which `verify` re-proves the bound; empty where the solver is
        believed. ``none needed`` where the checker finds the bound by itself.
    confirmed_by : str
        The second engine that found the same optimum, where a certificate would be too large.
    objective_by, bound_by : Provenance
    made : Made, optional
        Absent where the instance is given by hand.
    instance, result : str
        SHA-256 of the two files' text.
    """

    name: str
    problem: str
    formulation: str
    options: dict[str, Any] = {}
    sense: Sense
    status: Status
    objective: float | None
    bound: float | None
    gap: float | None
    certificate: str = ""
    confirmed_by: str = ""
    objective_by: Provenance
    bound_by: Provenance
    made: Origin | None = None
    instance: str
    result: str


class Group(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A group's ``group.json``: what a paper cites.

    Attributes
    ----------
    name : str
    version : str
        Of the set: a change to any instance is another version.
    title : str
        What it is, in a line.
    source : str
        Where the instances are from.
    licence : str
        Under which they may be used.
    """

    name: str
    version: str
    title: str
    source: str
    licence: str


def group(name: str) -> Group:
    """Return a group's description of itself."""
    text = packed.read(packed_group(name), "group.json")
    return decode(text, Group, file=f"{name}/group.json")


def entries(name: str) -> list[Entry]:
    """Return a group's entries, in the order of its file."""
    lines = packed.read(packed_group(name), "entries.jsonl").splitlines()
    return [
        decode(line, Entry, file=f"{name}/entries.jsonl, line {number}")
        for number, line in enumerate(lines, 1)
    ]


def instance_of_entry(group_name: str, entry: Entry) -> AnyInstance:
    """Return an entry's instance."""
    return load(instance_path(f"{group_name}/{entry.name}"))


def document(group_name: str, entry: Entry) -> Document:
    """Return an entry's result, with its solution and its certificate."""
    name = f"{group_name}/{entry.name}"
    return decode(read_result(name), Document, file=f"{name}: the result")


def digests(group_name: str, entry: Entry) -> tuple[str, str]:
    """Return the SHA-256 of an entry's instance (with its table, if any) and of its result."""
    name = f"{group_name}/{entry.name}"
    instance = FileSource(instance_path(name)).facts().digest
    return instance, hashlib.sha256(read_result(name)).hexdigest()


def asking(problem: str, formulation: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that change a formulation's question."""
    supported = record_of(problem).formulation(formulation).known_options
    return {name: options[name] for name in options if name in supported and supported[name].asks}
