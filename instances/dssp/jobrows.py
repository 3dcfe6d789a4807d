"""The rows of a table of jobs, read into jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeVar

from msgspec.structs import replace

from schedopt.instances.cells import Cells
from schedopt.instances.decimals import as_written, expect_held
from schedopt.instances.declarations import of_checked
from schedopt.instances.dssp.clock import MOST_TASKS, SPREAD, Clock, planned_of
from schedopt.instances.dssp.columns import HOLDS, SEATS, Columns, counted
from schedopt.instances.dssp.jobs import REWARDS, History, Job, Lognormal, Stages
from schedopt.instances.errors import InputError, listing, placed, shown, suggestion
from schedopt.instances.options import is_number
from schedopt.instances.times import LENGTH, NUMBER, comma

T = TypeVar("T")
RECENT = 200  # rows of a history that count: the last ones
SAID = 5  # most omitted rows that are named one by one
BY_WORD = "priority:"  # before what words of a column of priorities are worth
WORDS = f"{BY_WORD}urgent=8,high=4,normal=2,low=1"


def words_of(reward: str) -> dict[str, float]:
    """Return what each word of a column of priorities is worth, as the option ``reward`` says."""
    found: dict[str, float] = {}
    parts = reward.removeprefix(BY_WORD).split(",") if reward.startswith(BY_WORD) else []
    for part in parts:
        word, _, worth = (text.strip() for text in part.rpartition("="))
        if not word or word in found or not NUMBER.fullmatch(worth) or float(worth) < 0:
            expected = f"words, each once with a number >= 0, such as {WORDS}"
            raise InputError(expected, found=shown(part), place="option reward")
        found[word] = float(worth)
    return found


def _named(jobs: list[str]) -> str:
    return ", ".join(jobs[:SAID]) + ", ..." * (len(jobs) > SAID)


class TableRows:
    """Reads rows into jobs, and keeps notes on them."""

    def __init__(
        self, columns: Columns, clock: Clock, *, higher: bool = False, past: Past | None = None
    ) -> None:
        self.columns, self.clock, self.higher, self.past = columns, clock, higher, past
        self.top = 0.0
        self.words = words_of(columns.reward or "")
        self.use: dict[str, dict[str, int]] = {}  # of each kind of seats, what tasks of jobs hold
        self.over: list[str] = []  # jobs that are left out: they are due by the start
        self.released = 0  # jobs that were released before the start
        self.backward: list[str] = []  # jobs that are due before their release
        self._seen: dict[str, str] = {}
        self._tasks = 0

    def jobs(self, cells: Cells) -> Iterator[Job]:
        """Yield the jobs that are not left out; `InputError` names the row and the column."""
        seats = [f"{SEATS}{kind}" for kind in self.columns.seats]
        holds = [f"{HOLDS}{name}" for name in self.columns.resources]
        titles = [*self.columns.fields, *self.columns.groupings, *seats, *holds]
        at = {title: self.columns.at[title] for title in titles}
        if self.higher:
            found = (row[at["priority"]] for _, row in cells.rows)
            self.top = max((float(text) for text in found if NUMBER.fullmatch(text)), default=0.0)
        for place, texts in cells.rows:
            row = _TableRow(place, texts, at)
            job = self._job(row)
            if job is not None:
                self._hold(job.name, row)
                yield job

    def notes(self, read: int) -> Iterator[str]:
        """Yield notes on times, and on how many jobs were read and left out."""
        if self.words:
            yield "column 'priority': words, each with its reward as asked"
        elif "priority" in self.columns.fields and self.higher:
            yield (
                "column 'priority': higher is more important, as asked: the highest, "
                f"{self.top:g}, becomes 0, and others what they are below it"
            )
        elif "priority" in self.columns.fields:
            other = "--option priority=higher where a higher one is, as in OpenCue and Deadline"
            yield f"column 'priority': a lower one is more important; {other}"
        if self.clock.told:
            plain = ", ".join(sorted(self.clock.plain))
            also = f"; plain numbers ({plain}) are taken in them too" if plain else ""
            start = self.clock.start
            bare = start is not None and start.tzinfo is None
            dated = "; with a date and an offset, start=2026-11-22T20:00+01:00, plans tell the time"
            yield f"times are in {self.clock.words}{also}{dated * bare}"
        if self.released:
            yield f"{counted(self.released, 'job')} released before the start: there from the start"
        if self.backward:
            what = "released at or after its deadline, so that it can never run"
            yield f"{counted(len(self.backward), 'job')} {what}: {_named(self.backward)}"
        if not self.over:
            yield f"{counted(read, 'job')} read, none left out"
            return
        yield f"{counted(read, 'job')} read"
        count = counted(len(self.over), "job")
        yield f"{count} left out: their deadline is over when the night starts: {_named(self.over)}"

    def _job(self, row: _TableRow) -> Job | None:
        name = row.text("name")
        if not name:
            raise row.wrong("name", "a name")
        if name in self._seen:
            raise row.wrong("name", f"a name of its own: {self._seen[name]} has it already")
        self._seen[name] = row.place
        stages, between = self._stages(row)
        groups = {by: row.text(by) for by in self.columns.groupings if row.text(by)}
        spread = self._spread(row) if row.text("spread") else between
        if spread is None and self.past is not None:
            spread = self.past.spread(name, groups)
        demand, path = self._length(row, "demand"), self._length(row, "critical_path")
        if stages is None and (demand is None or path is None):
            raise row.wrong("demand" if demand is None else "critical_path", LENGTH)
        reward = None if self.columns.reward else row.number("reward")
        priority = self._priority(row)
        if self.higher and not self.words and priority is not None:
            priority = float(as_written(self.top) - as_written(priority))
        with placed(row.place):
            job = of_checked(
                Job,
                name=name,
                reward=reward or 0.0,
                priority=priority,
                groups=groups,
                stages=stages,
                demand=demand,
                critical_path=path,
                after=row.names("after"),
                pools=row.names("pools") or None,
                max_processors=self._count(row, "max_processors"),
                processors=self._count(row, "processors") or 1,
                spread=spread,
                holds={
                    name: amount
                    for name in self.columns.resources
                    if row.text(column := f"{HOLDS}{name}") and (amount := row.number(column))
                },
            )
            if self.words:
                job = replace(job, reward=self.words[row.text("priority")])
            elif self.columns.reward:
                made = REWARDS[self.columns.reward](priority, job.planned_demand)
                job = replace(job, reward=made)
        return self._windowed(job, row)

    def _priority(self, row: _TableRow) -> float | None:
        """Return a job's priority; of words, how many are worth more."""
        text = row.text("priority")
        if self.words:
            if text not in self.words:
                hint = suggestion(text, self.words) or listing(self.words)
                raise row.wrong("priority", f"a word with a reward{hint}")
            return float(sum(worth > self.words[text] for worth in self.words.values()))
        if text and not NUMBER.fullmatch(text) and not comma(text):
            expected = f"a finite number, or what each word is worth: --option reward={WORDS}"
            raise row.wrong("priority", expected)
        return row.number("priority", least=None) if text else None

    def _windowed(self, job: Job, row: _TableRow) -> Job | None:
        """Return a job with its release and deadline; None where the deadline has passed."""
        if row.text("release"):
            release = row.read("release", lambda text: self.clock.point(text, "release"))
            self.released += release < 0
            job = replace(job, release=max(0.0, release))
        if row.text("deadline"):
            deadline = row.read("deadline", lambda text: self.clock.end(text, "deadline"))
            if deadline <= 0:
                self.over.append(f"{shown(job.name)} ({row.place})")
                return None
            job = replace(job, deadline=deadline)
            if job.release >= deadline:
                self.backward.append(f"{shown(job.name)} ({row.place})")
        return job

    def _stages(self, row: _TableRow) -> tuple[Stages | None, float | None]:
        """Return a job's stages, and its spread as its tasks tell it."""
        single = "tasks" not in self.columns.fields
        if not row.text("task_time" if single else "tasks"):
            if row.text("task_time"):
                raise row.wrong("tasks", "how many tasks there are")
            return None, None
        spread = None
        if row.text("task_time"):
            count = 1 if single else row.count("tasks", least=1)
            length = row.read("task_time", lambda text: self.clock.length(text, "task_time"))
            stages: Stages = ((length,) * min(count, MOST_TASKS + 1),)
        else:
            stages, spread = row.read("tasks", lambda text: planned_of(text, self.clock))
        self._tasks += sum(map(len, stages))
        if self._tasks > MOST_TASKS:
            raise row.wrong("tasks", f"at most {MOST_TASKS:,} tasks in a table")
        return stages, spread

    def _spread(self, row: _TableRow) -> float | Lognormal | History:
        """Return a job's spread, from a column of its own."""
        written = row.text("spread")
        sigma, ratios = written.removeprefix("lognormal "), written.removeprefix("scenarios ")
        with placed(f"{row.place}, column 'spread'"):
            if sigma != written and NUMBER.fullmatch(sigma):
                return Lognormal(sigma=float(sigma))
            parts = [part.strip() for part in ratios.split(";")]
            if len(parts) > 1 or ratios != written:
                if not all(map(NUMBER.fullmatch, parts)):
                    raise InputError(SPREAD, found=shown(written))
                return History(ratios=tuple(map(float, parts)), joint=ratios != written)
        spread = row.number("spread")
        if spread >= 1:
            raise row.wrong("spread", SPREAD)
        return spread

    def _length(self, row: _TableRow, column: str) -> float | None:
        if not row.text(column):
            return None
        return row.read(column, lambda text: self.clock.length(text, column))

    def _count(self, row: _TableRow, column: str) -> int | None:
        return row.count(column, least=1) if row.text(column) else None

    def _hold(self, name: str, row: _TableRow) -> None:
        for kind in self.columns.seats:
            column = f"{SEATS}{kind}"
            if row.text(column) and (count := row.count(column, least=0)):
                self.use.setdefault(kind, {})[name] = count


class Past:
    """A table of estimated and actual run times.

    A job goes by the rows that have its groups, and its name if there is such a column; by all rows
    where none has.
    """

    def __init__(self, cells: Cells, clock: Clock, groupings: Sequence[str]) -> None:
        at = cells.positions(str.strip)
        self.titles = [title for title in ("name", *groupings) if title in at]
        self.all: list[float] = []
        self.of: dict[tuple[str, ...], list[float]] = {}
        for column in ("estimate", "actual"):
            if column not in at:
                raise InputError(f"a column {column!r}", found=", ".join(at), place=cells.head)
        for place, texts in cells.rows:
            row = _TableRow(place, texts, at)
            estimate = row.read("estimate", lambda text: clock.length(text, "estimate"))
            actual = row.read("actual", lambda text: clock.length(text, "actual"))
            if not 1e-6 <= (ratio := round(actual / (estimate or 1e300), 6)) <= 1000:
                raise row.wrong("actual", "a time from a millionth to 1,000 times the estimate")
            self.all.append(ratio)
            self.of.setdefault(tuple(map(row.text, self.titles)), []).append(ratio)
        if not self.all:
            raise InputError("a row or more", found="none", place=cells.head)

    def spread(self, name: str, groups: Mapping[str, str]) -> History:
        """Return the last 200 ratios of actual to estimated run time that apply to a job."""
        own = {"name": name, **groups}
        found = self.of.get(tuple(own.get(title, "") for title in self.titles), self.all)
        return History(ratios=tuple(found[-RECENT:]))


class _TableRow:
    """A row: where it is, and its cells by column."""

    def __init__(self, place: str, cells: Sequence[str], at: Mapping[str, int]) -> None:
        self.place, self._cells, self._at = place, cells, at

    def text(self, column: str) -> str:
        """Return a cell; an empty text where there is no such column."""
        return self._cells[self._at[column]] if column in self._at else ""

    def names(self, column: str) -> tuple[str, ...]:
        """Return the names of a cell, with semicolons between."""
        return tuple(map(str.strip, self.text(column).split(";"))) if self.text(column) else ()

    def wrong(self, column: str, expected: str) -> InputError:
        """Return the error that names this cell."""
        text = self.text(column)
        found = shown(text) if text else "an empty cell"
        return InputError(expected, found=found, place=f"{self.place}, column {column!r}")

    def read(self, column: str, reader: Callable[[str], T]) -> T:
        """Return what a reader makes of a cell; its errors name the cell."""
        with placed(f"{self.place}, column {column!r}"):
            return reader(self.text(column))

    def number(self, column: str, least: float | None = 0) -> float:
        """Return a finite number with a decimal point; nothing else that Python would take."""
        text = self.text(column)
        value = float(text) if NUMBER.fullmatch(text) else float("nan")
        if not is_number(value) or (least is not None and value < least):
            words = "a finite number" + ("" if least is None else f" >= {least}")
            raise self.wrong(column, words + comma(text))
        expect_held(text, f"{self.place}, column {column!r}")
        return value

    def count(self, column: str, least: int) -> int:
        value = self.number(column, least)
        if not value.is_integer() or value > 10**9:
            raise self.wrong(column, f"a whole number from {least} to 1,000,000,000")
        return int(value)
