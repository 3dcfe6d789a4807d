"""A season as rows of whole numbers, written anew from the instance for re-proving bounds.

A column is a job on a night. What is not known here is left out, as in `validation.dssp.program`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from schedopt.instances.constraints import Constraint, FairShare, Resource, Seats, label
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp import Instance
from schedopt.solvers.result import Document
from schedopt.validation.dssp.chosen import facts_of
from schedopt.validation.dssp.parts import Part, known, parts, windows
from schedopt.validation.dssp.program import Program, selectable
from schedopt.validation.dssp.season import Period, alone, bounded, nights_of, over, past_total


class Season(Program):
    """The program of a season.

    Its rows are, for each night n, ``capacity, night n`` and ``capacity from A to B, night n``;
    ``once: JOB``; and the name of a side constraint, a colon, and the part of it: over all nights,
    with ``, night n``, or with the nights that a fair share is taken over.

    Parameters
    ----------
    season : Instance
        The raw instance.
    constraints : sequence of Constraint
        All side constraints.
    asked : sequence of str
        The keys of rows that are asked for: of the many windows only these are written.
    claim : Document
        Says the option ``fill``, which is r.
    """

    def __init__(
        self,
        season: Instance,
        constraints: Sequence[Constraint],
        asked: Sequence[str],
        claim: Document,
    ) -> None:
        self.facts = facts = facts_of(alone(season), claim)
        self.nights = season.nights
        self._ends = ends = nights_of(season)
        able = [season.jobs[j].name for j in selectable(facts).tolist()]
        self._columns = {
            job: {n: f"{job}, night {n}" for n in range(ends[job][0], ends[job][1] + 1)}
            for job in able
        }
        names = [name for job in able for name in self._columns[job].values()]
        earned = [season.index[job] for job in able for _ in self._columns[job]]
        super().__init__(names, np.array(earned, dtype=np.intp), facts)
        due = {n: facts.demand[n] for n in able if facts.due[n] <= facts.deadline}
        for n in range(1, self.nights + 1):
            self._on(n, "", Part("capacity", due, None, facts.capacity))
            for key, window in windows(facts, self._asked(asked, n), "capacity from "):
                inside = {name: facts.demand[name] for name in window.jobs}
                self._on(n, "", Part(key, inside, None, facts.rate * window.length))
        for job in able:
            self._throughout("", Part(f"once: {job}", {job: Fraction(1)}, None, Fraction(1)))
        for position, rule in enumerate(constraints):
            if known(rule):
                self._state(label(rule, position), rule, asked)

    def _asked(self, asked: Sequence[str], n: int) -> list[str]:
        end = f", night {n}"
        return [key.removesuffix(end) for key in asked if key.endswith(end)]

    def _state(self, name: str, rule: Constraint, asked: Sequence[str]) -> None:
        if isinstance(rule, FairShare):
            for period in over(rule, self.nights):
                self._share(name, rule, period)
        elif isinstance(rule, Resource | Seats):  # each night has all of it
            for n in range(1, self.nights + 1):
                for part in parts(rule, self.facts, self._asked(asked, n)):
                    self._on(n, f"{name}: ", part)
        else:  # of whether jobs are run at all
            for part in parts(rule, self.facts, asked):
                self._throughout(f"{name}: ", part)

    def _on(self, n: int, start: str, part: Part) -> None:
        """Write a row over jobs as one over the columns of a night."""
        here = {self._columns.get(job, {}).get(n, ""): c for job, c in part.body.items()}
        self.write(f"{start}{part.what}, night {n}", here, part.lower, part.upper)

    def _throughout(self, start: str, part: Part) -> None:
        """Write a row over jobs as one over all their columns."""
        here = {x: c for job, c in part.body.items() for x in self._names(job)}
        self.write(f"{start}{part.what}", here, part.lower, part.upper)

    def _names(self, job: str) -> list[str]:
        return list(self._columns.get(job, {}).values())

    def _share(self, name: str, rule: FairShare, period: Period) -> None:
        """Write the caps and floors of a fair share over some nights."""
        _, counted, before = period
        counted = {n: counts for n, counts in counted.items() if counts}
        for group, bounds in bounded(rule, self.facts).items():
            for share, floor in zip(bounds, (False, True), strict=True):
                if share is None:
                    continue
                side = "least" if floor else "most"
                key = f"{name}: {rule.by} {group} at {side}, {_when(rule, counted)}"
                part = as_written(share)
                used = as_written(rule.past.get(group, 0.0)) - part * past_total(rule)
                bound = -before * used
                if rule.of == "capacity":
                    bound += part * self.facts.capacity * sum(counted.values())
                body = dict(self._used(rule, group, part, counted))
                if not floor:
                    self.write(key, body, None, bound)
                elif waiting := self._waiting(rule, group, counted):
                    self.lifted(key, body, bound, [self._names(job) for job in waiting])

    def _waiting(self, rule: FairShare, group: str, counted: Mapping[int, Fraction]) -> list[str]:
        """Return the jobs that lift a floor when all of them are run: those that could run then."""
        facts, ends = self.facts, self._ends
        return [
            job
            for job in facts.members(rule.by, group)
            if facts.fits(job)
            and facts.demand[job] > 0
            and any(ends[job][0] <= n <= ends[job][1] for n in counted)
        ]

    def _used(
        self, rule: FairShare, group: str, share: Fraction, counted: Mapping[int, Fraction]
    ) -> Iterator[tuple[str, Fraction]]:
        """Yield what each column adds to what a group uses, less its share of what is selected."""
        mine = set(self.facts.members(rule.by, group))
        for job, columns in self._columns.items():
            part = Fraction(job in mine) - (share if rule.of == "selected" else 0)
            for n, name in columns.items():
                if n in counted and part:
                    yield name, part * counted[n] * self.facts.demand[job]


def _when(rule: FairShare, counted: Mapping[int, Fraction]) -> str:
    """Return how keys name the nights that a fair share is taken over."""
    first, last = min(counted), max(counted)
    if rule.half_life is not None:
        return f"up to night {last}"
    return f"night {last}" if first == last else f"nights {first} to {last}"


__all__ = ["Season"]
