"""Formulations that take no side constraints, and say so."""

from __future__ import annotations

from typing import ClassVar, Self

from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, shown


class Unruled:
    """A formulation that refuses side constraints.

    Attributes
    ----------
    refusing : str
        Where there can be none, for the message.
    """

    refusing: ClassVar[str]

    def add(self, *constraints: Constraint) -> Self:
        """Refuse side constraints.

        Raises
        ------
        InputError
            If there is one.
        """
        for constraint in constraints:
            raise InputError(
                f"no side constraints {self.refusing}",
                found=shown(constraint.kind()),
                place="constraints",
            )
        return self
