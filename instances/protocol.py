"""The interface of all instances, and their identity: a digest of the canonical JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from html import escape
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec
import numpy as np
from typing_extensions import TypeIs

from schedopt.instances.constraints import HasConstraints
from schedopt.instances.declarations import CheckedRecord, Name
from schedopt.instances.encoding import to_json
from schedopt.instances.naming import Codes, check_unique, groups_of


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The identity of an instance: its name and the SHA-256 digests of its JSON and its log."""

    name: str
    digest: str
    log: str = ""


def identity(instance: Any) -> Identity:
    """Return the identity of an instance."""
    identified = getattr(instance, "as_identified", None)
    data = to_json(identified() if identified else instance, order="sorted")
    return Identity(name=instance.name, digest=hashlib.sha256(data).hexdigest(), log=_log(instance))


def _log(instance: Any) -> str:
    """Return a digest of the jobs of a log; empty for other instances."""
    if getattr(instance, "log", None) is None:
        return ""
    jobs, sums = instance.jobs, hashlib.sha256()
    for column in (jobs.submit, jobs.need, jobs.run, jobs.release):
        if column is not None:
            sums.update(column.astype(float).tobytes())
    if jobs.needs is not None:
        sums.update(jobs.needs.amounts.tobytes())
    if instance.partitions:
        sums.update(",".join(jobs.partition.names).encode() + jobs.partition.codes.tobytes())
    return sums.hexdigest()


class AnyInstance(HasConstraints, Protocol):
    """The interface of an instance of any problem."""

    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    @property
    def name(self) -> str:
        """The instance's name."""

    @property
    def description(self) -> str | None:
        """A line on what the instance shows or where it is from."""

    def objective_of(self, solution: Any) -> float:
        """Return the objective value of a solution record."""


MOST_NAME = 60  # characters


class Shown:
    """Base class of records whose representation is a summary of kind, name and size."""

    __slots__ = ()
    __struct_fields__: ClassVar[tuple[str, ...]]
    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    def __repr__(self) -> str:
        """Return the kind, the name, the numbers, and the lengths of lists."""
        facts = [
            f"{value} {key}" if counted else f"{key} {value}"
            for key, value, counted in self._facts()
        ]
        return f"<{self.__struct_config__.tag} {self._name()!r}: {', '.join(facts)}>"

    def _repr_html_(self) -> str:
        """Return the summary as an HTML table."""
        name = (str(self.__struct_config__.tag), self._name())
        return table([name, *((key, value) for key, value, _ in self._facts())])

    def _name(self) -> str:
        return str(getattr(self, "name", ""))[:MOST_NAME]

    def _facts(self) -> Iterator[tuple[str, str, bool]]:
        for key in self.__struct_fields__:
            value = getattr(self, key)
            if isinstance(value, tuple | list | Mapping):
                if value:
                    yield key, f"{len(value):,}", True
            elif isinstance(value, int | float) and not isinstance(value, bool):
                yield key, f"{value:,.10g}", False


def table(facts: Iterable[tuple[str, str]]) -> str:
    """Return names and values as an HTML table with escaped cells."""
    rows = (f"<tr><th>{escape(key)}</th><td>{escape(value)}</td></tr>" for key, value in facts)
    return f"<table><tbody>{''.join(rows)}</tbody></table>"


class BaseInstance(
    Shown, CheckedRecord, kw_only=True, omit_defaults=True, dict=True, tag_field="problem"
):
    """Base class of all instance records.

    Attributes
    ----------
    name : str
        The instance's name.
    description : str, optional
        A line that says what the instance shows.
    """

    name: Name
    description: str | None = None

    if TYPE_CHECKING:

        @property
        def jobs(self) -> Any:
            """The jobs, of which each has a name and perhaps groups."""

    @cached_property
    def names(self) -> list[str]:
        """The names of the jobs, in the file's order."""
        return [job.name for job in self.jobs]

    @cached_property
    def index(self) -> dict[str, int]:
        """The position of each job by name; `InputError` if two have the same name."""
        index = {name: j for j, name in enumerate(self.names)}
        if len(index) < len(self.names):
            check_unique(self.names, "jobs", "a name", "name")
        return index

    @cached_property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """The positions of the jobs of each group, by grouping and group."""
        return groups_of(self.codes)

    @cached_property
    def codes(self) -> dict[str, Codes]:
        """For each grouping its groups, and the group index of each job, -1 for no group."""
        groups = [getattr(job, "groups", {}) for job in self.jobs]
        codes: dict[str, Codes] = {}
        for by in dict.fromkeys(chain.from_iterable(groups)):
            own = [of.get(by) for of in groups]
            names = [name for name in dict.fromkeys(own) if name is not None]
            code = {None: -1} | {name: i for i, name in enumerate(names)}
            codes[by] = names, np.array([code[name] for name in own], np.intp)
        return codes


def problem_name(instance: AnyInstance) -> str:
    """Return the name of an instance's problem, which is the tag of its record."""
    return str(instance.__struct_config__.tag)


def is_instance(what: object) -> TypeIs[AnyInstance]:
    """Return True for an instance record, False for a path or a formulation."""
    return isinstance(what, msgspec.Struct)
