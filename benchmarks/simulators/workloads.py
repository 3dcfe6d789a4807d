"""The archive's workloads with known starts, in the form that other simulators need."""

from __future__ import annotations

import csv
import json
import re
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import schedopt
from schedopt.instances import packed
from schedopt.instances.starts import WrongStart
from schedopt.verbs.starts import log_of

ARCHIVE = Path(__file__).parents[2] / "archive" / "backfilling.zip"
ESTIMATES = ("given", "exact")
"""Policies plan with the users' estimates, or with the exact run times."""


class Job(NamedTuple):
    """A job: submit time, processors, run time, and planned run time."""

    submit: int
    need: int
    run: int
    planned: int


@dataclass(frozen=True)
class Workload:
    """The jobs of a machine with equal processors."""

    name: str
    servers: int
    jobs: tuple[Job, ...]
    rows: tuple[int, ...] = ()  # rows of the jobs in the archive's file

    @property
    def whole(self) -> str:
        """The name of the archive's workload, without that of the partition."""
        return self.name.partition("/")[0]

    def with_estimates(self, estimates: str) -> Workload:
        """Return the workload with the given estimates, or with run times as estimates."""
        if estimates == "given":
            return self
        return replace(self, jobs=tuple(job._replace(planned=job.run) for job in self.jobs))

    def without(self, first: int, count: int) -> Workload:
        """Return the workload without ``count`` consecutive jobs."""
        return replace(self, jobs=self.jobs[:first] + self.jobs[first + count :])

    def in_words(self) -> str:
        """Return the jobs in the notation of docs/howto/check-starts.md."""
        words = []
        for job in self.jobs:
            planned = f" ({job.planned})" if job.planned != job.run else ""
            submit = f" @{job.submit}" if job.submit else ""
            words.append(f"{job.need}×{job.run}{planned}{submit}")
        return f"{self.servers} processors; jobs {', '.join(words)}"


def workloads() -> Iterator[Workload]:
    """Yield the workloads without GPUs, one for each partition.

    A run time of 0 becomes 1. Estimates are at least the run time, since some simulators would end
    a job at its estimate.
    """
    for path in sorted((packed.unpack(ARCHIVE, "instances/") / "instances").glob("*.csv")):
        name = path.stem.removeprefix("backfilling-")
        machine = json.loads(path.with_suffix(".json").read_bytes())
        if machine.get("resources"):
            continue
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for part, has in (machine.get("partitions") or {"": machine}).items():
            jobs, at = [], []
            for number, row in enumerate(rows):
                if row.get("partition", "") == part:
                    run = max(1, int(row["run"]))
                    planned = max(run, int(row["estimate"]))
                    jobs.append(Job(int(row["submit"]), int(row["need"]), run, planned))
                    at.append(number)
            title = f"{name}/{part}" if part else name
            yield Workload(title, has["servers"], tuple(jobs), tuple(at))


def first_wrong(workload: Workload, starts: Sequence[float], policy: str) -> WrongStart | None:
    """Return the first start that is not the policy's, by `schedopt.check_starts`."""
    with tempfile.TemporaryDirectory() as name:
        log, table = Path(name, "log.csv"), Path(name, "starts.csv")
        rows = (f"{job.submit},{job.need},{job.run},{job.planned}" for job in workload.jobs)
        log.write_text("\n".join(("submit,need,run,estimate", *rows)) + "\n")
        lines = (f"{row},{start!r}" for row, start in enumerate(starts))
        table.write_text("\n".join(("job,start", *lines)) + "\n")
        queue = log_of(log, workload.servers)
        return schedopt.check_starts(queue, table, policy)


def known_starts(workload: Workload, policy: str) -> list[float]:
    """Return the known starts under a policy of the jobs of a machine."""
    table = packed.read(ARCHIVE, f"starts/backfilling-{workload.whole}.csv").decode()
    rows = list(csv.DictReader(table.splitlines()))
    return [float(rows[row][policy]) for row in workload.rows]


def kind(wrong: WrongStart) -> str:
    """Return the kind of a wrong start: earlier or later, and the rule, without numbers."""
    when = "earlier" if wrong.found < wrong.expected else "later"
    return f"{when}: {re.sub(r'[0-9.]+', 'N', wrong.why)}"
