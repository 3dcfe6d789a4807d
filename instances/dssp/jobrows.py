"""The rows of a table of jobs, read into jobs."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from schedopt.instances.decimals import as_written
from schedopt.instances.declarations import build_unchecked
from schedopt.instances.dssp.clock import MOST_TASKS, Clock
from schedopt.instances.dssp.columns import HOLDS, SEATS, Columns, count_of
from schedopt.instances.dssp.jobs import REWARDS, Job, Stages
from schedopt.instances.errors import InputError, at_place, listing, quote, suggestion
from schedopt.instances.options import OptionNames
from schedopt.instances.tables import Column, Row, Table
from schedopt.instances.times import LENGTH, NUMBER, comma

FEW = 5  # most omitted rows that are named one by one
BY_WORD = "priority:"  # before what words of a column of priorities are worth
WORDS = f"{BY_WORD}urgent=8,high=4,normal=2,low=1"

NAME, REWARD = Column("name", needed=True), Column("reward", "number", needed=True)
PRIORITY = Column("priority", "number", least=None)
TASK_TIME, TASKS = Column("task_time", "length"), Column("tasks", "tasks")
TASK_COUNT = Column("tasks", "whole", least=1, needed=True)
RELEASE, DEADLINE = Column("release", "point"), Column("deadline", "end")
DEMAND, PATH = Column("demand", "length"), Column("critical_path", "length")
OTHERS = (
    Column("after", "names"),
    Column("pools", "names"),
    Column("max_processors", "whole", least=1),
    Column("processors", "whole", least=1),
    Column("spread", "spread"),
)
"""Columns whose cells are the fields of jobs, where they are not empty."""


def worths_of(reward: str, names: OptionNames) -> dict[str, float]:
    """Return what each word of a column of priorities is worth, as the option ``reward`` says."""
    worths: dict[str, float] = {}
    parts = reward.removeprefix(BY_WORD).split(",") if reward.startswith(BY_WORD) else []
    for part in parts:
        word, _, worth = (text.strip() for text in part.rpartition("="))
        if not word or word in worths or not NUMBER.fullmatch(worth) or float(worth) < 0:
            expected = f"words, each once with a number >= 0, such as {WORDS}"
            raise InputError(expected, found=quote(part), place=names.place("reward"))
        worths[word] = float(worth)
    return worths


class JobReader:
    """Reads rows into jobs, and keeps notes on them."""

    def __init__(
        self, columns: Columns, clock: Clock, names: OptionNames, *, higher: bool = False
    ) -> None:
        self.columns, self.clock, self.names, self.higher = columns, clock, names, higher
        self.top = 0.0  # the highest priority, where higher is more important
        self.worths = worths_of(columns.reward or "", names)
        self.use: dict[str, dict[str, int]] = {}  # of each kind of seats, what tasks of jobs hold
        self.overdue: list[str] = []  # jobs that are left out: they are due by the start
        self.released = 0  # jobs that were released before the start
        self.backward: list[str] = []  # jobs that are due before their release
        self._seen: dict[str, str] = {}
        self._tasks = 0
        self._seats = {
            name: Column(f"{SEATS}{name}", "whole") for name in columns.with_prefix(SEATS)
        }
        self._holds = {
            name: Column(f"{HOLDS}{name}", "number") for name in columns.with_prefix(HOLDS)
        }

    def jobs(self, table: Table) -> Iterator[Job]:
        """Yield the jobs that are not left out; `InputError` names the row and the column."""
        at = {t: i for t, i in self.columns.at.items() if t not in self.columns.left_out}
        if self.higher:
            texts = (row[at["priority"]] for _, row in table.rows)
            self.top = max((float(text) for text in texts if NUMBER.fullmatch(text)), default=0.0)
        for place, cells in table.rows:
            row = Row(place, cells, at, self.clock)
            if (job := self._windowed(self._job(row), row)) is None:
                continue
            for kind, column in self._seats.items():
                if count := row.value(column):
                    self.use.setdefault(kind, {})[job.name] = count
            yield job

    def notes(self, read: int) -> Iterator[str]:
        """Yield notes on times, and on how many jobs were read and left out."""
        if self.worths:
            yield "column 'priority': words, each with its reward as asked"
        elif self.higher:
            yield f"column 'priority': higher is more important, as asked: {self.top:g} becomes 0"
        elif "priority" in self.columns.fields:
            other = f"{self.names.example('priority', 'higher')} where a higher one is"
            yield f"column 'priority': a lower one is more important; {other}"
        if self.clock.told:
            bare = self.clock.start is not None and self.clock.start.tzinfo is None
            zoned = self.names.example("start", "2026-11-22T20:00+01:00")
            more = f"; with a date and an offset, {zoned}, plans tell the time" * bare
            yield f"times, and plain numbers, are in {self.clock.words}{more}"
        if self.released:
            early = count_of(self.released, "job")
            yield f"{early} released before the start: there from the start"
        if self.backward:
            what = "released at or after its deadline, so that it can never run"
            yield f"{count_of(len(self.backward), 'job')} {what}: {_listed(self.backward)}"
        yield f"{count_of(read, 'job')} read" + ", none left out" * (not self.overdue)
        if self.overdue:
            why = "left out: their deadline is over when the night starts"
            yield f"{count_of(len(self.overdue), 'job')} {why}: {_listed(self.overdue)}"

    def _job(self, row: Row) -> Job:
        name = row.value(NAME)
        if name in self._seen:
            raise row.wrong("name", f"a name of its own: {self._seen[name]} has it already")
        self._seen[name] = row.place
        stages, demand, path = self._stages(row), row.value(DEMAND), row.value(PATH)
        if stages is None and (demand is None or path is None):
            raise row.wrong("demand" if demand is None else "critical_path", LENGTH)
        reward = 0.0 if self.columns.reward else row.value(REWARD)
        priority, values = self._priority(row), {c.name: row.value(c) for c in OTHERS}
        holds = {name: row.value(column) for name, column in self._holds.items()}
        with at_place(row.place):
            job = build_unchecked(
                Job,
                name=name,
                reward=reward,
                priority=priority,
                groups={by: row.text(by) for by in self.columns.groupings if row.text(by)},
                stages=stages,
                demand=demand,
                critical_path=path,
                holds={name: amount for name, amount in holds.items() if amount},
                **{key: value for key, value in values.items() if value is not None},
            )
            if self.worths:
                return replace(job, reward=self.worths[row.text("priority")])
            if self.columns.reward:
                computed = REWARDS[self.columns.reward](priority, job.planned_demand)
                return replace(job, reward=computed)
        return job

    def _priority(self, row: Row) -> float | None:
        """Return a job's priority; of words, how many are worth more."""
        text = row.text("priority")
        if self.worths:
            if text not in self.worths:
                hint = suggestion(text, self.worths) or listing(self.worths)
                raise row.wrong("priority", f"a word with a reward{hint}")
            return float(sum(worth > self.worths[text] for worth in self.worths.values()))
        if text and not NUMBER.fullmatch(text) and not comma(text):
            example = self.names.example("reward", WORDS)
            expected = f"a finite number, or what each word is worth: {example}"
            raise row.wrong("priority", expected)
        priority: float | None = row.value(PRIORITY)
        if self.higher and priority is not None:
            return float(as_written(self.top) - as_written(priority))
        return priority

    def _windowed(self, job: Job, row: Row) -> Job | None:
        """Return a job with its release and deadline; None where the deadline has passed."""
        release, deadline = row.value(RELEASE), row.value(DEADLINE)
        if release is not None:
            self.released += release < 0
            job = replace(job, release=max(0.0, release))
        if deadline is None:
            return job
        if deadline <= 0:
            self.overdue.append(f"{quote(job.name)} ({row.place})")
            return None
        if job.release >= deadline:
            self.backward.append(f"{quote(job.name)} ({row.place})")
        return replace(job, deadline=deadline)

    def _stages(self, row: Row) -> Stages | None:
        length, stages = row.value(TASK_TIME), None
        if length is None:
            stages = row.value(TASKS)
        elif "tasks" in self.columns.fields and not row.text("tasks"):
            raise row.wrong("tasks", "how many tasks there are")
        else:
            count = row.value(TASK_COUNT) if "tasks" in self.columns.fields else 1
            stages = ((length,) * min(count, MOST_TASKS + 1),)
        self._tasks += sum(map(len, stages or ()))
        if self._tasks > MOST_TASKS:
            raise row.wrong("tasks", f"at most {MOST_TASKS:,} tasks in a table")
        return stages


def _listed(jobs: list[str]) -> str:
    return ", ".join(jobs[:FEW]) + ", ..." * (len(jobs) > FEW)
