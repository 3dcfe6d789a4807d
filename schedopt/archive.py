"""The archive: frozen instances with the best known objective and bound, and their verification."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import msgspec

from schedopt.formulations.protocol import Sense
from schedopt.instances import examples
from schedopt.instances.errors import InputError, pick_name
from schedopt.instances.examples import (
    ARCHIVE_PREFIX,
    groups,
    instance_path,
    names_in,
    packed_group,
    read_result,
)
from schedopt.instances.files import decode, load
from schedopt.instances.protocol import AnyInstance
from schedopt.instances.tables import TextTable
from schedopt.problems import problem as record_of
from schedopt.solvers.result import Document, gap
from schedopt.sweep.sources import read_source
from schedopt.validation.documents import check

NEEDS_NONE = "none needed"  # the certificate of entries whose bound the checker computes itself
NO_POLICIES = ("job", "best_wait", "best_makespan")  # columns of starts that are not of policies

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
    text = examples.read_packed(packed_group(name), "group.json")
    return decode(text, Group, file=f"{name}/group.json")


def entries(name: str) -> list[Entry]:
    """Return the entries of a group, in the order of its file."""
    lines = examples.read_packed(packed_group(name), "entries.jsonl").splitlines()
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


def asking(problem: str, formulation: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that change the question of a formulation."""
    supported = record_of(problem).formulation(formulation).known_options
    return {name: options[name] for name in options if name in supported and supported[name].asks}


# The verbs list and show.


def list_groups() -> list[dict[str, Any]]:
    """Return a row for each group: the numbers of instances and proofs, and the largest gap."""
    listed = []
    for name in groups():
        own = entries(name)
        proven = [entry for entry in own if entry.status == "proven"]
        listed.append(
            {
                "group": name,
                "title": group(name).title,
                "instances": len(own),
                "proven": len(proven),
                "certified": sum(bool(entry.certificate) for entry in own),
                "confirmed": sum(bool(entry.confirmed_by) for entry in proven),
                "believed": sum(not (e.certificate or e.confirmed_by) for e in proven),
                "open": len(own) - len(proven),
                "widest_gap": max((entry.gap or 0.0 for entry in own), default=0.0),
            }
        )
    return listed


def select_entries(names: Sequence[str] = ()) -> list[tuple[str, Entry]]:
    """Return groups and entries: of groups, of ``GROUP/NAME``, or of the whole archive."""
    selected = []
    for text in names or groups():
        name, slash, own = text.removeprefix(ARCHIVE_PREFIX).partition("/")
        found = {entry.name: entry for entry in entries(name)}
        if slash:
            pick_name(own, names_in(name), f"an instance of {name}")
            found = {own: found[own]}
        selected += [(name, entry) for entry in found.values()]
    return selected


def describe(name: str) -> dict[str, Any]:
    """Return the data of a group, or of an instance given as ``GROUP/NAME``."""
    name = name.removeprefix(ARCHIVE_PREFIX)
    group_name, slash, own = name.partition("/")
    about: dict[str, Any] = msgspec.to_builtins(group(group_name))
    selected: list[dict[str, Any]] = msgspec.to_builtins(
        [entry for _, entry in select_entries([name])]
    )
    if not slash:
        return about | {"entries": selected}
    files = examples.packed_names(packed_group(group_name))
    listed = [f"{group_name}/{file}" for file in files if f"/{own}." in file]
    return {"group": about} | selected[0] | {"files": listed}


def read_file(name: str) -> bytes | None:
    """Return the contents of a file ``GROUP/FOLDER/FILE``; None if there is no such file."""
    group_name, _, file = name.removeprefix(ARCHIVE_PREFIX).partition("/")
    path = packed_group(group_name)
    return examples.read_packed(path, file) if file in examples.packed_names(path) else None


# The verb verify.


class Verdict(msgspec.Struct, frozen=True):
    """The verdict on an entry."""

    group: str
    name: str
    status: str  # that of the entry, or ``confirmed`` or ``believed`` if it is not proved again
    bound: str  # ``re-proved``, ``confirmed by`` or ``believed, from`` an engine; empty if none
    wrong: list[str]  # a line for each error


def verify_entries(
    names: Sequence[str] = (), watch: Callable[[int, int], None] | None = None
) -> Iterator[Verdict]:
    """Verify groups, instances given as ``GROUP/NAME``, or the whole archive, without a solver."""
    selected = select_entries(names)
    for done, (name, entry) in enumerate(selected, 1):
        yield verify(name, entry)
        if watch:
            watch(done, len(selected))


def verify(group_name: str, entry: Entry) -> Verdict:
    """Verify the digests, the solution, the bound and the numbers of an entry."""
    wrong: list[str] = []
    bound, name = "", f"{group_name}/{entry.name}"
    try:
        if read_source(instance_path(name)).digest != entry.instance:
            wrong.append("the instance is not that of the entry: it has another digest")
        if hashlib.sha256(read_result(name)).hexdigest() != entry.result:
            wrong.append("the result is not that of the entry: it has another digest")
        result = document(group_name, entry)
        report = check(instance_of_entry(group_name, entry), result)
        wrong += [*report.violations, *report.unjudged, *report.differences]
        bound = report.bound
        if bound != "re-proved" and entry.confirmed_by:
            bound = f"confirmed by {entry.confirmed_by}"
        wrong += [*_differences(entry, result, bound), *_wrong_starts(group_name, entry)]
    except InputError as error:
        wrong.append(str(error))
    status: str = entry.status
    if status == "proven" and bound != "re-proved":
        status = "confirmed" if entry.confirmed_by else "believed"
    return Verdict(group_name, entry.name, status, bound, wrong)


def _differences(entry: Entry, result: Document, bound: str) -> Iterator[str]:
    asked = result.question.options if result.question else result.options
    kind = str((result.certificate or {}).get("kind", NEEDS_NONE))
    asks, wanted = (
        asking(entry.problem, entry.formulation, options) for options in (asked, entry.options)
    )
    for what, ours, theirs in (
        ("objective", entry.objective, result.objective),
        ("bound", entry.bound, result.bound),
        ("gap", entry.gap, gap(result.objective, result.bound)),
        ("status", entry.status, "proven" if result.proven else "open"),
        ("formulation", entry.formulation, result.formulation),
        ("sense", entry.sense, result.sense),
        ("options", wanted, asks),
        ("added side constraints", 0, len(result.constraints)),
        ("certificate", entry.certificate or kind, kind),
    ):
        if ours != theirs:
            yield f"{what}: {ours}, where the result says {theirs}"
    if entry.certificate and bound != "re-proved":
        yield f"certificate: {entry.certificate}, where the bound is {bound or 'not given'}"


def _wrong_starts(group_name: str, entry: Entry) -> Iterator[str]:
    """Yield the errors in the table of an entry's starts, which has a column for each policy."""
    name = f"starts/{entry.name}.csv"
    if name not in examples.packed_names(packed_group(group_name)):
        return
    path = examples.unpack(packed_group(group_name), name) / name
    log = instance_of_entry(group_name, entry)
    for policy in TextTable.read(path).titles:
        if policy not in NO_POLICIES:
            wrong = record_of(entry.problem).wrong_start(log, path, policy)
            if wrong is not None:
                yield f"{path.name}: {wrong.in_words()}"
