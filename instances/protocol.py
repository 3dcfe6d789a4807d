"""The interface of all instances, and their identity: a digest of the canonical JSON."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray
from typing_extensions import TypeIs

from schedopt.instances.decimals import split
from schedopt.instances.declarations import CheckedRecord, Constraint, Name
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import check_unique

Codes = tuple[list[str], NDArray[np.intp]]
"""The groups of a grouping, and which of them each job is of: -1 of none."""


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


class AnyInstance(Protocol):
    """The interface of an instance of any problem."""

    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    @property
    def name(self) -> str:
        """The instance's name."""

    @property
    def description(self) -> str | None:
        """A line on what the instance shows or where it is from."""

    @property
    def constraints(self) -> Sequence[Constraint]:
        """The side constraints that the file holds."""

    @property
    def index(self) -> Mapping[str, int]:
        """The position of each job, by name."""

    @property
    def groups(self) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """The positions of each group's jobs, by grouping and group."""

    def objective_of(self, solution: Any) -> float:
        """Return the objective value of a solution record."""


class BaseInstance(CheckedRecord, kw_only=True, omit_defaults=True, dict=True, tag_field="problem"):
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

    def __repr__(self) -> str:
        """Return the kind, the name, the numbers, and the lengths of lists."""
        facts = []
        for key in self.__struct_fields__:
            value = getattr(self, key)
            if isinstance(value, tuple | list | Mapping) and value:
                facts.append(f"{len(value):,} {key}")
            elif isinstance(value, int | float) and not isinstance(value, bool):
                facts.append(f"{key} {value:,.10g}")
        return f"<{self.__struct_config__.tag} {self.name[:60]!r}: {', '.join(facts)}>"

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
        return {
            by: dict(zip(names, split(own, len(names)), strict=True))
            for by, (names, own) in self.codes.items()
        }

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
