"""The archive's set backfilling, against a simulator of its own that shares no code with ours.

`simulate` is written from the rules in words of docs/howto/check-starts.md alone.
"""

import csv
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from builders.cli import ROOT, run

import schedopt
from schedopt.instances import packed
from schedopt.verbs.starts import log_of

PACKED = ROOT / "archive" / "backfilling.zip"
SET = packed.unpack(PACKED, "")
NAMES = sorted(path.name.removesuffix(".csv") for path in (SET / "starts").glob("*.csv"))
BACKFILLING = ("fcfs", "easy", "conservative", "saf")


class Job(NamedTuple):
    row: int
    submit: int
    run: int
    plan: int
    need: tuple[int, ...]  # processors, then other resources


def machines(name: str) -> Iterator[tuple[tuple[int, ...], list[Job]]]:
    """Yield each machine of a workload: what it has, and its jobs in the order of the file."""
    path = SET / "instances" / name
    instance = json.loads(Path(f"{path}.json").read_bytes())
    with Path(f"{path}.csv").open() as file:
        table = list(csv.DictReader(file))
    resources = instance.get("resources", {})
    parts = instance.get("partitions") or {"": {"servers": instance["servers"]}}
    for part, has in parts.items():
        jobs = []
        for number, row in enumerate(table):
            if row.get("partition", "") == part:
                need = (int(row["need"]), *(int(row[f"need:{name}"]) for name in resources))
                length, estimate = int(row["run"]), int(row["estimate"])
                jobs.append(Job(number, int(row["submit"]), length, max(length, estimate), need))
        yield (has["servers"], *resources.values()), jobs


class Machine:
    def __init__(self, has: tuple[int, ...], policy: str) -> None:
        self.has, self.policy, self.now = has, policy, 0
        self.waiting: list[Job] = []
        self.start: dict[Job, int] = {}
        self.running: list[Job] = []
        self.reserved: dict[Job, int] = {}

    def free(self, at: int, also: dict[Job, int] | None = None) -> list[int]:
        """Return what is free at a time, if running jobs end as planned."""
        held = [job for job in self.running if self.start[job] + job.plan > at]
        held += [job for job, start in (also or {}).items() if start <= at < start + job.plan]
        return [most - sum(job.need[i] for job in held) for i, most in enumerate(self.has)]

    def fits(self, job: Job, free: list[int]) -> bool:
        return all(need <= left for need, left in zip(job.need, free, strict=True))

    def begin(self, job: Job) -> None:
        self.waiting.remove(job)
        self.running.append(job)
        self.start[job] = self.now

    def area(self, job: Job) -> float:
        shares = (need / most for need, most in zip(job.need, self.has, strict=True))
        return round(max(shares) * self.has[0] * job.plan, 6)

    def in_order(self) -> list[Job]:
        """Start jobs until one does not fit, and return those that wait."""
        line = sorted(self.waiting, key=self.area) if self.policy == "saf" else self.waiting[:]
        while line and self.fits(line[0], self.free(self.now)):
            self.begin(line.pop(0))
        return line

    def backfill(self, line: list[Job]) -> None:
        """Let later jobs pass the first in line where that does not delay it."""
        if not line:
            return
        head, *others = line
        ends = sorted(self.start[job] + job.plan for job in self.running)
        time = next(end for end in ends if self.fits(head, self.free(end)))
        spare = [left - need for left, need in zip(self.free(time), head.need, strict=True)]
        for job in others:
            if not self.fits(job, self.free(self.now)):
                continue
            if self.now + job.plan > time:
                if not self.fits(job, spare):
                    continue
                spare = [left - need for left, need in zip(spare, job.need, strict=True)]
            self.begin(job)

    def reserve(self, job: Job) -> None:
        """Give a job the earliest time from which on it fits beside all others."""
        booked = self.reserved
        ends = [self.start[other] + other.plan for other in self.running]
        ends += [start + other.plan for other, start in booked.items()]
        for time in sorted({self.now, *(end for end in ends if end > self.now)}):
            steps = [time, *(at for at in booked.values() if time < at < time + job.plan)]
            if all(self.fits(job, self.free(at, booked)) for at in steps):
                booked[job] = time
                return

    def conservative(self, early: bool) -> None:
        for job in self.waiting:
            if early and job in self.reserved:
                del self.reserved[job]
            if job not in self.reserved:
                self.reserve(job)
        for job in [job for job in self.waiting if self.reserved[job] == self.now]:
            del self.reserved[job]
            self.begin(job)


def simulate(has: tuple[int, ...], jobs: list[Job], policy: str) -> dict[int, int]:
    """Return when each job starts, by row."""
    machine, coming = Machine(has, policy), jobs[:]
    while coming or machine.waiting:
        ends = [machine.start[job] + job.run for job in machine.running]
        machine.now = min([*ends, *(job.submit for job in coming[:1]), *machine.reserved.values()])
        ended = [job for job in machine.running if machine.start[job] + job.run == machine.now]
        machine.running = [job for job in machine.running if job not in ended]
        while coming and coming[0].submit == machine.now:
            machine.waiting.append(coming.pop(0))
        if policy == "conservative":
            machine.conservative(any(job.plan > job.run for job in ended))
            continue
        line = machine.in_order()
        if policy == "easy":
            machine.backfill(line)
    return {job.row: start for job, start in machine.start.items()}


@pytest.mark.parametrize("name", NAMES)
def test_backfilling_set_equals_an_independent_simulator(name: str) -> None:
    with (SET / "starts" / f"{name}.csv").open() as file:
        stored = list(csv.DictReader(file))
    for policy in BACKFILLING:
        found: dict[int, int] = {}
        for has, jobs in machines(name):
            found |= simulate(has, jobs, policy)
        assert [found[row] for row in range(len(stored))] == [int(row[policy]) for row in stored]


def test_backfilling_set_verify_names_a_wrong_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {name: packed.read(PACKED, name) for name in packed.names(PACKED)}
    starts = f"starts/{NAMES[0]}.csv"
    files[starts] = files[starts].replace(b"\n4,6,6,", b"\n4,6,7,")
    (tmp_path / "backfilling.zip").write_bytes(packed.pack(files))
    monkeypatch.setenv("SCHEDOPT_ARCHIVE", str(tmp_path))
    entry = f"backfilling/{NAMES[0]}"
    said = run("archive", "verify", entry, status=1).stdout
    assert "job 4 starts at 7, and should at 6 under easy" in " ".join(said.split())


def test_backfilling_set_swf_equals_its_instance() -> None:
    for path in sorted((SET / "swf").glob("*.swf")):
        lines = [line.split() for line in path.read_text().splitlines()[2:]]
        if {line[15] for line in lines} == {"-1"}:  # no partitions, of which SWF says no sizes
            starts = SET / "starts" / f"{path.stem}.csv"
            assert schedopt.check_starts(log_of(path), starts, "easy") is None
