"""What every side constraint is declared with: the types of its fields, and its base."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any

import msgspec

from schedopt.instances.constraint_examples import EXAMPLES
from schedopt.instances.errors import InputError, shown

Name = Annotated[str, msgspec.Meta(min_length=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Jobs = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]


def check_bounds(at_least: float | None, at_most: float | None, whose: str) -> None:
    """Refuse a floor and a cap of a share of which there is neither, or the floor is above."""
    if at_most is None and at_least is None:
        raise InputError("`at_most` or `at_least`, or both")
    if (at_least or 0.0) > (1.0 if at_most is None else at_most):
        expected = f"at most {at_most}, {whose} own `at_most`"
        raise InputError(expected, found=shown(at_least), place="at_least")


class Constraint(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"
):
    """What every side constraint has: a kind (its JSON tag) and perhaps a name.

    Attributes
    ----------
    name : str, optional
        The name by which conflicts and violations speak of it.
    """

    name: Name | None = None

    @classmethod
    def kind(cls) -> str:
        """Return the JSON tag of this kind, such as ``fair-share``."""
        return str(cls.__struct_config__.tag)

    @classmethod
    def example(cls) -> dict[str, Any] | None:
        """Return one of this kind as a file writes it, None where `EXAMPLES` has none."""
        return EXAMPLES.get(cls.kind())

    def jobs_named(self) -> Iterator[tuple[str, str]]:
        """Yield each job that is referred to, as (place within the declaration, name)."""
        for i, job in enumerate(getattr(self, "jobs", None) or ()):
            yield f"jobs[{i}]", job

    def groups_named(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield each group that is referred to, as (place, grouping, group or None)."""
        yield from ()
