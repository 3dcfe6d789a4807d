"""One choice: Snakemake's objective and resources in whole numbers, and the best of them.

Snakemake maximizes, over the ready jobs x, with C the cores of all of them and T the gigabytes of
their temporary input (1 at least)::

    4·C·T·Σ priority·x + 2·T·Σ cores·x + T·Σ size of deletable files + Σ size·share of consumers

A file is deletable if all jobs that still need it are chosen. Where priorities outweigh the rest
they are an objective of their own, before it. A file that several ready jobs alone still need is
at first counted by its chosen consumers' share; where that leaves some of them out, there are two
cases: all of them start, or the file is not deletable.

Source: `snakemake.scheduling.milp` of Snakemake 9.27.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from schedopt.instances.ready import room_of, whole
from schedopt.solvers.clock import now
from schedopt.solvers.priced_core.in_order import best_in_order

FINE = 2.0**40
"""Integer units of the largest weight after priorities."""


class File(NamedTuple):
    """A temporary file that several jobs need, all of them ready."""

    jobs: list[int]
    worth: float


@dataclass
class Call:
    """A call of Snakemake: the ready jobs, their values, and the resources that they use.

    Attributes
    ----------
    priority : ndarray of int
    linear : ndarray of float
        The value of a job without its priority, in Snakemake's units.
    files : list of File
    first : bool
        Whether a step of priority outweighs everything else.
    unit : float
        The value of a step of priority.
    uses : ndarray of int, shape (resources, jobs)
    room : ndarray of int
        The amounts of the resources that can run out, and what is available.
    """

    priority: np.ndarray
    linear: np.ndarray
    files: list[File]
    first: bool
    unit: float
    uses: np.ndarray
    room: np.ndarray

    @classmethod
    def of(
        cls,
        ready: Sequence[Any],
        remaining: Sequence[Any],
        available: Mapping[str, Any],
        sizes: Mapping[Any, int],
        warn: Callable[[str], None],
    ) -> Call:
        """Return a call; invalid values are ignored with a warning."""
        cores = np.maximum(_amounts(ready, "_cores", 1, warn), 1)
        temp = [{file for file in job.input if file.is_flagged("temp")} for job in ready]
        files = {file: (sizes[file] or 0) / 1e9 for inputs in temp for file in inputs}
        total, needed = max(sum(files.values()), 1.0), Counter[Any]()
        if files:
            for job in remaining:
                needed.update({f for f in job.input if f in files and f.is_flagged("temp")})
        linear = 2 * total * cores
        consumers: dict[Any, list[int]] = {}
        for j, inputs in enumerate(temp):
            for file in inputs:
                linear[j] += files[file] / max(needed[file], 1)
                consumers.setdefault(file, []).append(j)
        shared = []
        for file, jobs in consumers.items():
            if len(jobs) == needed[file] == 1:
                linear[jobs[0]] += total * files[file]
            elif len(jobs) == needed[file] and files[file]:
                shared.append(File(jobs, total * files[file]))
        everything = float(cores.sum())
        unit = 4 * everything * total
        rows = [
            row
            for name, amount in available.items()
            if _is_number(amount) and (row := _row(name, amount, ready, warn))
        ] or [(np.zeros(len(ready), dtype=np.int64), 0)]
        return cls(
            priority=np.array([int(job.priority) for job in ready], dtype=np.int64),
            linear=linear,
            files=shared,
            first=unit > 2 * total * everything + total * total + total,
            unit=unit,
            uses=np.array([use for use, _ in rows], dtype=np.int64),
            room=np.array([room for _, room in rows], dtype=np.int64),
        )

    def worth(self, chosen: Sequence[int]) -> float:
        """Return Snakemake's objective of a choice."""
        taken = set(chosen)
        at = list(chosen)
        whole_files = sum(file.worth for file in self.files if taken.issuperset(file.jobs))
        return self.unit * float(self.priority[at].sum()) + self.linear[at].sum() + whole_files

    def choose(self, seconds: float | None) -> tuple[list[int], bool]:
        """Return the jobs to start, and whether they are proven optimal.

        If any job fits, at least one job starts, whatever the priorities are.
        """
        if not len(self.priority):
            return [], True
        chosen, proven = self._search(now() + (np.inf if seconds is None else seconds))
        if chosen:
            return chosen, proven
        able = np.flatnonzero((self.uses <= self.room[:, None]).all(axis=0)).tolist()
        return ([max(able, key=lambda j: self.worth([j]))] if able else []), proven

    def _search(self, until: float) -> tuple[list[int], bool]:
        """Return the best choice, branching on files that only some of the chosen jobs need."""
        best: list[int] = []
        most, number = -np.inf, count()
        none: frozenset[int] = frozenset()
        waiting: list[tuple[float, int, frozenset[int], frozenset[int]]] = []
        heapq.heappush(waiting, (-np.inf, next(number), none, none))
        while waiting:
            known, _, whole_, never = heapq.heappop(waiting)
            if best and -known <= most * (1 + 1e-12):
                break
            found = self._search_core(whole_, never, until)
            if found is None:
                continue
            chosen, bound, proven = found
            worth = self.worth(chosen)
            if worth > most or not best:
                best, most = chosen, worth
            if now() >= until or not proven:
                return best, False
            taken = set(chosen)
            parts = [
                (file.worth, k)
                for k, file in enumerate(self.files)
                if k not in whole_ | never and 0 < len(taken & set(file.jobs)) < len(file.jobs)
            ]
            if parts:
                _, k = max(parts)
                for case in ((whole_ | {k}, never), (whole_, never | {k})):
                    heapq.heappush(waiting, (-bound, next(number), *case))
        return best, True

    def _search_core(
        self, whole_: frozenset[int], never: frozenset[int], until: float
    ) -> tuple[list[int], float, bool] | None:
        """Return the best choice if files count by the share of their consumers that is chosen."""
        linear = self.linear.copy()
        for k, file in enumerate(self.files):
            if k not in whole_ and k not in never:
                linear[file.jobs] += file.worth / len(file.jobs)
        forced = sorted({j for k in whole_ for j in self.files[k].jobs})
        left = self.room - self.uses[:, forced].sum(axis=1)
        if (left < 0).any():
            return None
        counts = np.ones(len(linear), dtype=np.int64)
        counts[forced] = 0
        goals = [self.priority, linear] if self.first else [self.unit * self.priority + linear]
        rest = goals.pop()
        scale = FINE / max(float(np.abs(rest).max()), 1e-300)
        fine = np.rint(rest * scale).astype(np.int64)
        found = best_in_order(np.array([*goals, fine]), self.uses, left, counts, until=until)
        chosen = sorted([*forced, *np.flatnonzero(found.x).tolist()])
        bound = linear[chosen].sum() + self.unit * float(self.priority[chosen].sum())
        bound += sum(self.files[k].worth for k in whole_)
        return chosen, float(bound), found.proven


def _is_number(value: object) -> bool:
    """Return True if a value is an integer or a float."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def _amounts(
    ready: Sequence[Any], name: str, default: int, warn: Callable[[str], None]
) -> np.ndarray:
    """Return the requested amounts of a resource; invalid values become 0 with a warning."""
    found = [job.scheduler_resources.get(name, default) for job in ready]
    with suppress(ValueError, TypeError, OverflowError):
        amounts = np.array(found)
        if amounts.dtype.kind in "if" and (amounts >= 0).all():  # the common case, without a loop
            return amounts.astype(float)
    for j, (job, amount) in enumerate(zip(ready, found, strict=True)):
        if not (_is_number(amount) and amount >= 0):
            told = getattr(job, "name", job)
            warn(f"job {told}: found {name} {amount!r}; expected a number >= 0")
            found[j] = 0
    return np.array(found, dtype=float)


def _row(
    name: str, free: float, ready: Sequence[Any], warn: Callable[[str], None]
) -> tuple[np.ndarray, int] | None:
    """Return the use of a resource and what is available, in integers; None if it suffices."""
    amounts = _amounts(ready, name, 0, warn)
    free = max(float(free), 0.0)
    if free >= amounts.sum():
        return None
    use, scale = whole(np.minimum(amounts, np.floor(free) + 1), name)  # beyond it, all are alike
    return use, room_of(free, scale)
