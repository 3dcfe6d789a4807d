"""Formulations that take no side constraints, and whose solutions their engines read."""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Self

from schedopt.formulations.protocol import Hints, Side, Value
from schedopt.instances.constraints import Constraint
from schedopt.instances.errors import InputError, shown


class WithoutConstraints:
    """A formulation that refuses side constraints; ``refusing`` says where, for the message."""

    problem: ClassVar[str] = "msfq"
    sense: ClassVar[Literal["maximize", "minimize"]] = "minimize"
    refusing: ClassVar[str]
    added: Sequence[Constraint] = ()

    def add(self, *constraints: Constraint) -> Self:
        """Raise `InputError` if there is any side constraint."""
        for constraint in constraints:
            raise InputError(
                f"no side constraints {self.refusing}",
                found=shown(constraint.kind()),
                place="constraints",
            )
        return self

    def side(self) -> Side:
        """Return nothing: there are no side constraints."""
        return {}

    def hint(self, solution: Any) -> Hints:
        """Yield nothing: no search starts from a solution."""
        yield from ()

    def decode(self, value: Value) -> Any:
        """Raise: only `solvers.msfq` decodes."""
        raise NotImplementedError
