"""Entries of the archive: instances with their best known objective and bound."""

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
    """How an instance was generated.

    Attributes
    ----------
    generator : str
        The name for ``schedopt generate``.
    seed : int
    options : dict
        Options of the generator other than the defaults.
    rules : bool
        Whether side constraints were added to the generated instance.
    """

    generator: str
    seed: int
    options: dict[str, Any] = {}
    rules: bool = False


class Provenance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The origin of a result: who or what found it, when, and with which version.

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
        The name of the instance and of its files ``instances/NAME.json`` and ``results/NAME.json``.
    problem, formulation : str
    options : dict
        The options of the formulation.
    sense : str
    status : str
        ``proven`` if the objective is the optimum, else ``open``.
    objective, bound, gap : float, optional
        The best known values; the gap is that of result documents.
    certificate : str
        The kind of certificate by which `verify` proves the bound; empty if the solver is believed,
        and ``none needed`` if the checker computes the bound itself.
    confirmed_by : str
        The second engine that found the same optimum, if a certificate would be too large.
    objective_by, bound_by : Provenance
        The origin of the solution and of the bound.
    made : Origin, optional
        How the instance was generated; absent if it was written by hand.
    instance, result : str
        The SHA-256 digests of the texts of the two files.
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
    """The ``group.json`` of a group of instances, which papers cite.

    Attributes
    ----------
    name : str
    version : str
        The version of the group; a change of any instance makes another version.
    title : str
        One line on the group.
    source : str
        The origin of the instances.
    licence : str
        The licence of the instances.
    """

    name: str
    version: str
    title: str
    source: str
    licence: str


def group(name: str) -> Group:
    """Return the description of a group."""
    text = packed.read(packed_group(name), "group.json")
    return decode(text, Group, file=f"{name}/group.json")


def entries(name: str) -> list[Entry]:
    """Return the entries of a group, in the order of its file."""
    lines = packed.read(packed_group(name), "entries.jsonl").splitlines()
    return [
        decode(line, Entry, file=f"{name}/entries.jsonl, line {number}")
        for number, line in enumerate(lines, 1)
    ]


def instance_of_entry(group_name: str, entry: Entry) -> AnyInstance:
    """Return the instance of an entry."""
    return load(instance_path(f"{group_name}/{entry.name}"))


def document(group_name: str, entry: Entry) -> Document:
    """Return the result of an entry, with its solution and its certificate."""
    name = f"{group_name}/{entry.name}"
    return decode(read_result(name), Document, file=f"{name}: the result")


def digests(group_name: str, entry: Entry) -> tuple[str, str]:
    """Return the SHA-256 digests of an entry's instance (with its table) and of its result."""
    name = f"{group_name}/{entry.name}"
    instance = FileSource(instance_path(name)).facts().digest
    return instance, hashlib.sha256(read_result(name)).hexdigest()


def asking(problem: str, formulation: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that change the question of a formulation."""
    supported = record_of(problem).formulation(formulation).known_options
    return {name: options[name] for name in options if name in supported and supported[name].asks}
