"""The interface of all instances, and their identity: a digest of the canonical JSON."""

from __future__ import annotations

import hashlib
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import msgspec
from typing_extensions import TypeIs

from schedopt.instances.constraints import HasConstraints
from schedopt.instances.declarations import CheckedRecord, Name
from schedopt.instances.encoding import to_json
from schedopt.instances.naming import Codes, codes_of, groups_of, index_of
from schedopt.instances.showing import Shown


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
        return index_of(self.names)

    @cached_property
    def groups(self) -> dict[str, dict[str, list[int]]]:
        """The positions of the jobs of each group, by grouping and group."""
        return groups_of(self.codes)

    @cached_property
    def codes(self) -> dict[str, Codes]:
        """For each grouping its groups, and the group index of each job, -1 for no group."""
        return codes_of(self.jobs)


def problem_name(instance: AnyInstance) -> str:
    """Return the name of an instance's problem, which is the tag of its record."""
    return str(instance.__struct_config__.tag)


def is_instance(what: object) -> TypeIs[AnyInstance]:
    """Return True for an instance record, False for a path or a formulation."""
    return isinstance(what, msgspec.Struct)
