"""Fair shares: what jobs of a rule, a wildcard or a resource may hold of what there is.

A file of rules is a list of objects::

    [{"name": "align cap", "by": "rule", "at_most": {"align": 0.5}},
     {"name": "one sample", "by": "wildcards.sample", "at_most": {"A": 0.25}, "of": "mem_mb"}]

``by`` is ``rule``, ``wildcards.NAME`` or ``resources.NAME``; ``of`` is the resource that is shared,
``_cores`` where it is not given. What running jobs of the group hold counts.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from pathlib import Path
from typing import Annotated, Any

import msgspec
import numpy as np

from schedopt.instances.declarations import Record, Share
from schedopt.instances.decoding import decode
from schedopt.instances.errors import InputError
from schedopt.instances.files import read_bytes
from snakemake_scheduler_plugin_schedopt.choosing import Row


class Declared(Record, kw_only=True):
    """A rule as its file writes it."""

    by: Annotated[str, msgspec.Meta(pattern=r"^(rule|wildcards\..+|resources\..+)$")]
    at_most: Annotated[dict[str, Share], msgspec.Meta(min_length=1)]
    name: str | None = None
    of: str = "_cores"
    kind: str | None = None


@dataclass(frozen=True)
class Rule:
    """A cap of a group's share of a resource."""

    name: str
    by: str
    group: str
    share: float
    of: str

    def holds(self, job: Any) -> bool:
        """Tell whether a job, or a job of a group, is in the group."""
        return any(_group(part, self.by) == self.group for part in _parts(job))


def _parts(job: Any) -> list[Any]:
    """Return the jobs of a group, or the job itself."""
    inner = getattr(job, "jobs", None)
    if inner is None:
        return [job]
    return list(inner() if callable(inner) else inner)


def _group(job: Any, by: str) -> str | None:
    kind, _, name = by.partition(".")
    if kind == "rule":
        return str(getattr(getattr(job, "rule", None), "name", getattr(job, "name", None)))
    holder = "wildcards_dict" if kind == "wildcards" else "scheduler_resources"
    value = (getattr(job, holder, None) or {}).get(name)
    return None if value is None else str(value)


@dataclass
class Shares:
    """The rules, what there is of each resource, and who is running."""

    rules: list[Rule]
    warn: Callable[[str], None]
    total: dict[str, float] = field(default_factory=dict)
    used: dict[str, float] = field(default_factory=dict)
    running: list[Any] = field(default_factory=list)
    seen: set[Rule] = field(default_factory=set)

    @classmethod
    def read(cls, file: Path | None, warn: Callable[[str], None]) -> Shares:
        """Read a file of rules; where one is wrong that is said, and none holds."""
        listed: tuple[Declared, ...] = ()
        try:
            if file is not None:
                listed = decode(read_bytes(file), tuple[Declared, ...], file=str(file))
        except InputError as error:
            warn(f"{error}; no rule holds")
        rules = [
            Rule(one.name or f"[{i}]", one.by, group, share, one.of)
            for i, one in enumerate(listed)
            for group, share in one.at_most.items()
        ]
        return cls(rules, warn)

    def look(self, ready: Sequence[Any], available: Mapping[str, Any], dag: Any) -> None:
        """Take note of who has ended, and of what there is: what was free at once, at most."""
        if not self.rules:
            return
        waiting = set(map(id, ready))
        self.running = [
            job for job in self.running if id(job) not in waiting and not _ended(job, dag)
        ]
        for name, free in available.items():
            if isinstance(free, int | float) and name != "_job_count":  # which is of the moment
                self.total[name] = max(self.total.get(name, free), free)
                self.used[name] = self.total[name] - free

    @property
    def idle(self) -> bool:
        """Whether rules hold, and nothing runs: every job takes a node at least."""
        return bool(self.rules) and not any(self.used.values())

    def rows(self, ready: Sequence[Any]) -> list[Row]:
        """Return what is left of each cap, as rows over the ready jobs."""
        rows = []
        for rule in self.rules:
            mine = np.array([rule.holds(job) for job in ready], dtype=bool)
            if mine.any():
                self.seen.add(rule)
            elif rule not in self.seen:
                told = f"{rule.by} {rule.group!r}"
                self.warn(f"rule {rule.name}: no job of {told} among those ready by now")
            total = self.total.get(rule.of, 0.0)
            if not mine.any() or not total:
                continue
            held = sum(_use(job, rule.of) for job in self.running if rule.holds(job))
            held = min(held, self.used[rule.of])  # jobs that have failed hold nothing
            use = np.array([floor(_use(job, rule.of)) for job in ready], dtype=np.int64)
            room = max(floor(rule.share * total - held), 0)
            rows.append(Row(rule.name, np.where(mine, np.minimum(use, room + 1), 0), room))
        return rows

    def started(self, jobs: Sequence[Any]) -> None:
        """Take note of who starts."""
        if self.rules:
            self.running += jobs


def _ended(job: Any, dag: Any) -> bool:
    return all(dag.finished(part) for part in _parts(job))


def _use(job: Any, name: str) -> float:
    amount = job.scheduler_resources.get(name, 0)
    return amount if isinstance(amount, int | float) else 0
