"""Declarations shared by all records: their base, types of fields, the base of constraints.

`EXAMPLES` are side constraints as a file writes them, for messages, `explain` and the manual. Their
jobs and groups are those of the instances that ``schedopt new`` writes, which take all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from typing_extensions import dataclass_transform

from schedopt.instances.errors import InputError, shown

Name = Annotated[str, msgspec.Meta(min_length=1)]
Share = Annotated[float, msgspec.Meta(ge=0, le=1)]
NonNegative = Annotated[float, msgspec.Meta(ge=0)]
Count = Annotated[int, msgspec.Meta(ge=0, le=10**9)]
Jobs = Annotated[tuple[Name, ...], msgspec.Meta(min_length=1)]

EXAMPLES: Mapping[str, dict[str, Any]] = {
    "fair-share": {"kind": "fair-share", "name": "fx cap", "by": "team", "at_most": {"fx": 0.4}},
    "share": {"kind": "share", "name": "storm floor", "jobs": ["storm"], "at_least": 0.25},
    "require": {"kind": "require", "name": "promised", "jobs": ["titles"]},
    "forbid": {"kind": "forbid", "name": "on hold", "jobs": ["forest"]},
    "imply": {"kind": "imply", "name": "needs the set", "if": "crowd", "then": "forest"},
    "together": {"kind": "together", "name": "one shot", "jobs": ["crowd", "forest"]},
    "apart": {"kind": "apart", "name": "one disk", "jobs": ["storm", "titles"]},
    "at-most": {"kind": "at-most", "name": "one of fx", "by": "team", "group": "fx", "count": 1},
    "at-least": {
        "kind": "at-least",
        "name": "two",
        "jobs": ["crowd", "forest", "titles"],
        "count": 2,
    },
    "resource": {
        "kind": "resource",
        "name": "scratch disk",
        "capacity": 4,
        "use": {"storm": 3, "crowd": 2},
    },
    "seats": {
        "kind": "seats",
        "name": "simulator",
        "capacity": 2,
        "use": {"storm": 1, "crowd": 1},
    },
    "response-time": {"kind": "response-time", "name": "large jobs", "need": 32, "at_most": 60},
}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something that a file holds: it is never changed, and refuses keys that it does not know."""


def check_bounds(at_least: float | None, at_most: float | None, whose: str) -> None:
    """Refuse a floor and a cap of a share of which there is neither, or the floor is above."""
    if at_most is None and at_least is None:
        raise InputError("`at_most` or `at_least`, or both")
    if (at_least or 0.0) > (1.0 if at_most is None else at_most):
        expected = f"at most {at_most}, {whose} own `at_most`"
        raise InputError(expected, found=shown(at_least), place="at_least")


class Constraint(Record, kw_only=True, tag_field="kind"):
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
