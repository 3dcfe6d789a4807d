"""Fair shares: what jobs of a rule, a wildcard or a resource may hold of what there is.

A file of rules is a list of objects::

    [{"name": "align cap", "by": "rule", "at_most": {"align": 0.5}},
     {"name": "one sample", "by": "wildcards.sample", "at_most": {"A": 0.25}, "of": "mem_mb"}]

``by`` is ``rule``, ``wildcards.NAME`` or ``resources.NAME``; ``of`` is the resource that is shared,
``_cores`` where it is not given. What running jobs of the group hold counts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import floor
from pathlib import Path
from typing import Any

import numpy as np

from snakemake_scheduler_plugin_schedopt.choosing import Row

KINDS = ("rule", "wildcards.", "resources.")


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
        """Read a file of rules; what is wrong with one is said, and the others hold."""
        rules: list[Rule] = []
        try:
            listed = json.loads(Path(file).read_text(encoding="utf-8")) if file else []
            if not isinstance(listed, list):
                raise ValueError("expected a list of rules")  # noqa: TRY301, TRY004
        except (OSError, ValueError) as error:
            warn(f"{file}: {error}; no rule holds")
            listed = []
        for i, one in enumerate(listed):
            wrong = _wrong(one)
            if wrong:
                warn(f"{file}: [{i}]: {wrong}; this rule does not hold")
                continue
            name = one.get("name", f"[{i}]")
            of = one.get("of", "_cores")
            rules += [
                Rule(name, one["by"], str(group), share, of)
                for group, share in one["at_most"].items()
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


def _wrong(rule: Any) -> str:
    """Return what is wrong with a rule; nothing where it is right."""
    if not isinstance(rule, dict):
        return "expected an object"
    if unknown := sorted(rule.keys() - {"kind", "name", "by", "at_most", "of"}):
        return f"found {unknown[0]!r}; expected name, by, at_most and of"
    if not str(rule.get("by")).startswith(KINDS):
        return f"found by {rule.get('by')!r}; expected rule, wildcards.NAME or resources.NAME"
    shares = rule.get("at_most")
    if not isinstance(shares, dict) or not shares:
        return "expected at_most, with a share for a group or more"
    for group, share in shares.items():
        if not isinstance(share, int | float) or not 0 <= share <= 1:
            return f"found {share!r} for {group}; expected a share from 0 to 1"
    return ""
