"""What every instance has, whatever the problem."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import msgspec
from typing_extensions import TypeIs

from schedopt.instances.constraints import Constraint


class AnyInstance(Protocol):
    """An instance of any problem.

    Attributes
    ----------
    name : str
    description : str or None
        A line that says what it shows, or where it is from.
    constraints : sequence of Constraint
        Side constraints that the file holds.
    """

    __struct_config__: ClassVar[msgspec.structs.StructConfig]

    @property
    def name(self) -> str:
        """The instance's name."""
        ...

    @property
    def description(self) -> str | None:
        """A line that says what it shows, or where it is from."""
        ...

    @property
    def constraints(self) -> Sequence[Constraint]:
        """The side constraints that the file holds."""
        ...

    @property
    def index(self) -> Mapping[str, int]:
        """The position of each job, by name."""
        ...

    @property
    def groups(self) -> Mapping[str, Mapping[str, Sequence[int]]]:
        """The positions of each group's jobs, by grouping and group."""
        ...

    def objective_of(self, solution: Any) -> float:
        """Return the objective of a solution record."""
        ...


def problem_name(instance: AnyInstance) -> str:
    """Return the problem that an instance is of: the tag of its record."""
    return str(instance.__struct_config__.tag)


def is_instance(what: object) -> TypeIs[AnyInstance]:
    """Tell an instance from a path and from a formulation: it is a record."""
    return isinstance(what, msgspec.Struct)
