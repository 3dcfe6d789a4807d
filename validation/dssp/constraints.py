"""Judge side constraints on selected jobs by facts recomputed from the raw instance."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any

from schedopt.instances.constraints import Constraint
from schedopt.instances.dssp import Instance
from schedopt.validation.dssp.facts import Chosen, Facts


class UnknownKindError(Exception):
    """No checker knows this kind of side constraint."""


class JudgedChoice:
    """The selected jobs of one night or of several; implements `instances.rows.Choice`.

    Parameters
    ----------
    facts : sequence of Facts
        The facts of each night.
    nights : sequence of sets of str
        The names of the jobs that run on each night.
    allowed : mapping of str to range, optional
        The nights of each job; by default the solution is a selection for a single night.
    """

    def __init__(
        self,
        facts: Sequence[Facts],
        nights: Sequence[Chosen],
        allowed: Mapping[str, range] | None = None,
    ) -> None:
        self.facts, self.nights, self.allowed = facts, nights, allowed
        self.several = allowed is not None
        self.selected: Chosen = frozenset().union(*nights) if self.several else nights[0]

    @property
    def instance(self) -> Instance:
        """The jobs."""
        return self.facts[0].night

    def by_night(self) -> Iterator[tuple[str, Chosen]]:
        """Yield a prefix for messages, and the jobs of each night."""
        for n, chosen in enumerate(self.nights, start=1):
            yield f"night {n}: " if self.several else "", chosen

    def members(self, by: str | None, group: str | None) -> list[str]:
        """Return the names of the jobs of a group."""
        return self.facts[0].members(by, group)

    def demand(self, night: int, by: str | None = None, group: str | None = None) -> Fraction:
        """Return the demand selected on a night: of all jobs, or of a group."""
        facts, chosen = self.facts[0], self.nights[night - 1]
        return facts.total(chosen) if by is None else facts.used(by, group or "", chosen)

    def capacity(self, night: int) -> Fraction:
        """Return the exact capacity r·P·D of a night."""
        return self.facts[night - 1].capacity

    def left_out(self, names: Iterable[str], nights: Collection[int]) -> bool:
        """Return True if a job with demand is selected on no night but could run on one of these.

        ``nights`` are counted from 1.
        """
        return any(
            self.facts[0].units[name] > 0
            and any(
                self.facts[n - 1].floor_counts(name)
                for n in nights
                if self.allowed is None or n in self.allowed[name]
            )
            for name in names
            if name not in self.selected
        )


def violations(constraint: Constraint, choice: JudgedChoice) -> list[str]:
    """Return the violations of a side constraint by the selected jobs, one line each.

    A user's kind with a method ``broken(instance, names)`` is judged by it, for one night.

    Raises
    ------
    UnknownKindError
        If no checker knows the kind.
    """
    try:
        return list(constraint.violations(choice))
    except NotImplementedError:
        pass
    broken: Any = getattr(constraint, "broken", None)
    if broken is None:
        raise UnknownKindError(f"no checker knows {constraint.kind()}")
    if choice.several:
        raise UnknownKindError(f"no checker knows {constraint.kind()} over nights")
    return list(broken(choice.instance, frozenset(choice.selected)))
