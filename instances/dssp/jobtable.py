"""Conversion of a table of jobs into a dssp instance: CSV, Parquet, pandas or polars frames.

`schedopt.instances.dssp.columns.FIELDS` declares the columns, and `instances.dssp.clock` the
formats of times. Other text columns become groupings named by their title, where an empty cell
means no group. Columns of numbers, dates and sizes, and columns named like a field of a job or an
instance, become groupings only on request. Unused columns are listed.

A job is left out if it is finished, if its deadline is before the start, or if a predecessor is
left out for another reason than being finished.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from dataclasses import replace as with_fields
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from schedopt.instances.constraints import Forbid, Require, Seats
from schedopt.instances.decimals import as_written
from schedopt.instances.dssp.clock import Clock
from schedopt.instances.dssp.columns import (
    COMPLETED,
    FIELDS,
    FRAMES,
    HOLDS,
    POOL,
    PREFIXED,
    PRIORITY,
    SEATS,
    Columns,
    Reading,
    count_of,
    unit_of,
)
from schedopt.instances.dssp.jobs import Job, Stages
from schedopt.instances.dssp.records import PROCESSORS, Instance, SideConstraint
from schedopt.instances.dssp.worth import by_level, level_name, reversed_priorities
from schedopt.instances.errors import (
    InputError,
    at_place,
    expect,
    listing,
    quote,
    raise_all,
    suggestion,
)
from schedopt.instances.files import stem
from schedopt.instances.options import (
    AS_OPTIONS,
    Option,
    OptionNames,
    OptionsWith,
    check_options,
    is_number,
    one_of,
    text,
)
from schedopt.instances.tables import Column, Source, TextRow, TextTable
from schedopt.instances.times import LENGTH, NUMBER, SPELLED, comma

FEW = 5  # most omitted rows that are named one by one
STRICT = "strict"  # the reward by which jobs run level after level
BY_WORD = "priority:"  # before what words of a column of priorities are worth
WORDS = f"{BY_WORD}urgent=8,high=4,normal=2,low=1"
LEAVE_OUT = "leave-out"
COPIED = ("pools", "max_processors", "processors", "spread")
"""Fields whose cells are the fields of jobs, where they are not empty."""
LATER = ("name", "reward", "priority", "tasks", "status")
"""Fields that are read by methods of their own."""
REWARD, TASK_COUNT = with_fields(FIELDS["reward"], needed=True), Column("tasks", "whole", least=1)
NUMERIC = ("number", "whole", "length", "point", "end", "tasks")
PLACEHOLDERS = ("-", "--", "n/a", "N/A")  # cells that farm managers write for none
_PAIR = re.compile(r"(\d{1,4}):([0-5]\d)", re.ASCII)  # hours and minutes, or minutes and seconds
Cells = tuple[str, list[str]]  # of a row, with its place


def worths_of(reward: str, names: OptionNames) -> dict[str, float]:
    """Return the reward of each word in a priority column, from the option ``reward``."""
    worths: dict[str, float] = {}
    parts = reward.removeprefix(BY_WORD).split(",") if reward.startswith(BY_WORD) else []
    for part in parts:
        word, _, worth = (text.strip() for text in part.rpartition("="))
        if not word or word in worths or not NUMBER.fullmatch(worth) or float(worth) < 0:
            expected = f"words, each once with a number >= 0, such as {WORDS}"
            raise InputError(expected, found=quote(part), place=names.place("reward"))
        worths[word] = float(worth)
    return worths


def with_points(texts: Sequence[str], delimiter: str, *, stages: bool = False) -> list[str]:
    """Return the cells of a column with decimal points and without thousands separators.

    In files with semicolons as delimiters, a comma is a decimal comma, and a point before three
    digits separates thousands. In other files, a comma before three digits separates thousands.
    """
    changes = [(r"(?<![\d.,])(\d{1,3}(?:[ \u00a0\u202f'’]\d{3})+)(?!\d)", r"[ \u00a0\u202f'’]", "")]
    if delimiter == ";" and any(re.search(r"\d,\d", text) for text in texts):
        changes += [(r"(?<![\d.,])(\d{1,3}(?:\.\d{3})+)(?![\d.])", r"\.", "")]
        changes += [(r"(?<=\d)(,\d+)(?!\s*[xX×*\d])", ",", ".")]
    elif not stages:  # in which a comma joins parts
        changes += [(r"(?<![\d.,])(\d{1,3}(?:,\d{3})+)(?![\d,])", ",", "")]
    for pattern, mark, point in changes:
        change = partial(_replace, mark, point)
        texts = [re.sub(pattern, change, text) for text in texts]
    return list(texts)


def _with_hours(texts: Sequence[str]) -> list[str]:
    """Return frame times with minutes and seconds, such as 45:30, in hours: 0:45:30.

    A column has minutes and seconds if one of its cells cannot be hours and minutes of a day.
    """
    pairs = [_PAIR.fullmatch(text) for text in texts]
    if not any(pair and int(pair[1]) > 23 for pair in pairs):
        return list(texts)
    return [
        f"{int(pair[1]) // 60}:{int(pair[1]) % 60:02}:{pair[2]}" if pair else text
        for pair, text in zip(pairs, texts, strict=True)
    ]


def _replace(mark: str, point: str, found: re.Match[str]) -> str:
    return re.sub(mark, point, found[1])


class JobReader:
    """Converter of rows into jobs, which collects notes and errors."""

    def __init__(self, table: TextTable, columns: Columns, clock: Clock, asked: Reading) -> None:
        self.table, self.columns, self.clock, self.asked = table, columns, clock, asked
        self.names, self.lower = asked.names, asked.get("priority") == "lower"
        self.must: list[str] = []
        self.forbid: list[str] = []
        self.worths = worths_of(columns.reward or "", asked.names)
        self.use: dict[str, dict[str, int]] = {}  # of each kind of seats, what tasks of jobs hold
        self.left_out: dict[str, list[str]] = {}  # jobs by the reason why they are left out
        self.released = 0  # jobs that were released before the start
        self.backward: list[str] = []  # jobs that are due before their release
        self.copies: dict[str, list[str]] = {}  # numbered names by the name that jobs share
        self._errors: list[InputError] = []
        self._places: dict[str, str] = {}  # where each name is first
        self._names: set[str] = set()  # all names, also of rows that are left out
        self._done: set[str] = set()
        self._holds = {
            key: with_fields(PREFIXED[prefix], name=key)
            for key in columns.titles
            for prefix in PREFIXED
            if key.startswith(prefix)
        }
        self._read = [FIELDS[key] for key in FIELDS if key in columns.titles and key not in LATER]

    def jobs(self) -> tuple[Job, ...]:
        """Return the jobs that are not left out; `InputError` names rows and columns."""
        rows, at = self._chosen_rows(), self.columns.at
        self._names = {cells[at["name"]] for _, cells in self.table.rows}
        read: list[tuple[TextRow, Job]] = []
        for place, cells in rows:
            row = TextRow(
                place,
                cells,
                at,
                self.clock,
                titles=self.columns.titles,
                errors=self._errors,
            )
            if job := self._job(row):
                read.append((row, job))
        jobs = self._with_jobs_before(read)
        raise_all(self._errors)
        names = {job.name for job in jobs}
        self.must = [name for name in self.must if name in names]
        self.forbid = [name for name in self.forbid if name in names]
        self.use = {
            kind: {name: n for name, n in held.items() if name in names}
            for kind, held in self.use.items()
        }
        return tuple(self._with_worths(jobs))

    def notes(self, read: int) -> Iterator[str]:
        """Yield notes on times, priorities, and the jobs that were read, renamed and left out."""
        if self.table.encoding != "UTF-8":
            yield f"the file is not in UTF-8: it is read as {self.table.encoding}"
        if self.worths:
            yield "column 'priority': each word has the reward that was given for it"
        elif self.columns.reward == STRICT:
            first = "lower" if self.lower else "higher"
            yield f"rewards: a job outweighs all jobs of less priority; {first} is more important"
        elif self.columns.reward == PRIORITY and self.lower:
            yield "rewards: the priorities in reverse order; lower is more important, as asked"
        elif self.columns.reward == PRIORITY:
            other = f"{self.names.example('priority', 'lower')} where a lower one is"
            yield f"rewards: the priorities; higher is more important; {other}"
        if self.clock.told or self.clock.start is not None:
            bare = self.clock.start is not None and self.clock.start.tzinfo is None
            zoned = self.names.example("start", "2026-11-22T20:00+01:00")
            more = f"; with a date and an offset, {zoned}, plans tell the time" * bare
            yield f"times, and plain numbers, are in {self.clock.words}{more}"
        if self.released:
            early = count_of(self.released, "job")
            yield f"{early} released before the start: available from the start"
        if self.backward:
            what = "released at or after its deadline, so that it can never run"
            yield f"{count_of(len(self.backward), 'job')} {what}: {_listed(self.backward)}"
        if self.copies:
            names = [quote(name) for copies in self.copies.values() for name in copies]
            yield f"{count_of(len(names), 'job')} renamed: {_listed(names)}"
        if unlimited := [name for name in self.use if name not in self.asked.named(SEATS)]:
            ways = " ".join(self.names.example(f"{SEATS}{name}", "N") for name in unlimited)
            listed = ", ".join(map(quote, unlimited))
            yield f"licences without a limit: {listed}; to limit them: {ways}"
        yield f"{count_of(read, 'job')} read" + ", none left out" * (not self.left_out)
        for why, jobs in self.left_out.items():
            yield f"{count_of(len(jobs), 'job')} left out: {why}: {_listed(jobs)}"

    @contextmanager
    def named_rows(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Replace ``jobs[...]`` in the place of an `InputError` by the row and the column."""
        try:
            yield
        except InputError as error:
            head, _, rest = error.place.partition("]")
            if head.startswith("jobs[") and head[5:].isdecimal():
                field = rest.removeprefix(".").partition("[")[0]
                row = TextRow(
                    self._places[jobs[int(head[5:])].name], (), {}, titles=self.columns.titles
                )
                error.place = row.where(field) if field in self.columns.titles else row.place
            raise

    # --- rows -------------------------------------------------------------------------------

    def _chosen_rows(self) -> list[Cells]:
        at, rows = self.columns.at, self.table.rows
        for key, wanted in self.asked.named("where:").items():
            i = self.columns.position(key, self.names.place(f"where:{key}"))
            values = {value.strip().casefold() for value in wanted.split(",")}
            is_wanted = [cells[i].casefold() in values for _, cells in rows]
            if rows and not any(is_wanted):
                hint = listing(dict.fromkeys(cells[i] for _, cells in rows))
                place = self.names.place(f"where:{key}")
                raise InputError(f"a value of the column{hint}", found=quote(wanted), place=place)
            rows = self._keep(rows, is_wanted, f"not {self.names.example(f'where:{key}', wanted)}")
        for key, title in self.columns.titles.items():
            self._write_plainly(key, title, rows)
        for key, value in self.asked.named("missing:").items():
            if value != LEAVE_OUT:  # an error of the value is not one of the table
                place, column = self.names.place(f"missing:{key}"), self._declared(key)
                TextRow(place, [value], {key: 0}, self.clock).value(column)
            else:
                rows = self._keep(rows, [bool(cells[at[key]]) for _, cells in rows], f"no {key}")
            for _, cells in rows:
                cells[at[key]] = cells[at[key]] or value
        return rows

    def _keep(self, rows: list[Cells], wanted: Sequence[bool], why: str) -> list[Cells]:
        at = self.columns.at
        for (place, cells), is_wanted in zip(rows, wanted, strict=True):
            if not is_wanted:
                self._leave_out(cells[at["name"]], place, why)
                if "status" in at and cells[at["status"]].casefold() in COMPLETED:
                    self._done.add(cells[at["name"]])
        return [row for row, is_wanted in zip(rows, wanted, strict=True) if is_wanted]

    def _leave_out(self, name: str, place: str, why: str) -> None:
        self.left_out.setdefault(why, []).append(f"{quote(name)} ({place})")

    def _declared(self, key: str) -> Column:
        return self._holds.get(key) or FIELDS[key]

    def _write_plainly(self, key: str, title: str, rows: Sequence[Cells]) -> None:
        """Normalize the cells of a field: placeholders, decimal points, the title's unit."""
        i, kind = self.columns.at[key], self._declared(key).kind
        texts = [cells[i] for _, cells in rows]
        if kind != "text":
            texts = ["" if text in PLACEHOLDERS else text for text in texts]
        if kind in NUMERIC or key == "done":
            texts = with_points(texts, self.table.delimiter, stages=kind == "tasks")
        if key == "frames" and any(re.search(r"\d\s*[-,;]", text) for text in texts):
            texts = [f"{text}-{text}" if text.isdecimal() else text for text in texts]
        if key == "frame_time":
            texts = _with_hours(texts)
        if unit := unit_of(key, title):
            texts = [text + unit if NUMBER.fullmatch(text) else text for text in texts]
        for (_, cells), own in zip(rows, texts, strict=True):
            cells[i] = own

    # --- jobs -------------------------------------------------------------------------------

    def _job(self, row: TextRow) -> Job | None:
        """Return the job of a row; None if it is left out or the row has an error."""
        name = self._name(row)
        value = {column.name: row.value(column) for column in self._read}
        stages, priority = self._stages(row, value), self._priority(row)
        reward = 0.0 if self.columns.reward else row.value(REWARD)
        reward = self.worths.get(row.text("priority"), reward)
        held = {key: row.value(column) for key, column in self._holds.items()}
        release, deadline = value.get("release"), value.get("deadline")
        if row.is_wrong or name is None:
            return None
        if stages == () or row.text("status").casefold() in COMPLETED:
            self._done.add(name)
            self._leave_out(name, row.place, "done")
            return None
        if deadline is not None and deadline <= 0:
            self._leave_out(name, row.place, "their deadline is over when the night starts")
            return None
        positions, cells = self.columns.positions, row.cells
        kept = {of: text for of in self.columns.kept if (text := cells[positions[of]])}
        job = Job(
            name=name,
            reward=reward,
            priority=priority,
            groups={by: text for by in self.columns.groupings if (text := cells[positions[by]])},
            labels=kept | ({"cloud": "yes"} if value.get("cloud") else {}),
            stages=stages,
            demand=value.get("demand"),
            critical_path=value.get("critical_path"),
            release=max(0.0, release or 0.0),
            deadline=deadline,
            holds={key.partition(":")[2]: n for key, n in held.items() if n and key[0] == "h"},
            after=value.get("after") or (),
            **{key: value[key] for key in COPIED if value.get(key) is not None},
        )
        self.must += [name] * bool(value.get("must"))
        self.forbid += [name] * bool(value.get("forbid"))
        self.released += release is not None and release < 0
        if deadline is not None and job.release >= deadline:
            self.backward.append(f"{quote(name)} ({row.place})")
        seats = {key.partition(":")[2]: n for key, n in held.items() if n and key[0] == "s"}
        for kind, number in chain(seats.items(), (value.get("seats") or {}).items()):
            self.use.setdefault(kind, {})[name] = number
        return job

    def _name(self, row: TextRow) -> str | None:
        name: str | None = row.value(FIELDS["name"])
        if name is None or self._places.setdefault(name, row.place) == row.place:
            return name
        if self.asked.get("duplicates") != "number":
            way = self.names.example("duplicates", "number")
            first = self._places[name]
            expected = f"a name of its own: {first} has it already; {way} numbers them"
            row.refuse(row.wrong("name", expected))
            return None
        own = next(new for n in count(2) if (new := f"{name}_{n}") not in self._names)
        self._names.add(own)
        self._places[own] = row.place
        self.copies.setdefault(name, []).append(own)
        return own

    def _with_worths(self, jobs: Sequence[Job]) -> Sequence[Job]:
        """Return the jobs with rewards or levels from their priorities; 0 is most important."""
        if self.worths or "priority" not in self.columns.at:
            return jobs
        raw = [job.priority for job in jobs if job.priority is not None]
        flipped = dict(zip(raw, reversed_priorities(raw), strict=True))
        top = as_written(max(raw, default=0.0))
        valued = [*jobs]
        for j, job in enumerate(jobs):
            if (own := job.priority) is not None:
                fields: dict[str, Any] = {}
                if self.columns.reward == STRICT:
                    fields["values"] = {level_name(own, lower=self.lower): 1.0}
                elif self.columns.reward == PRIORITY:
                    fields["reward"] = flipped[own] if self.lower else own
                fields["priority"] = own if self.lower else float(top - as_written(own))
                valued[j] = replace(job, **fields)
        return valued

    def _priority(self, row: TextRow) -> float | None:
        """Return a job's priority; for words, the number of words with a larger reward."""
        text = row.text("priority")
        if self.worths:
            if text not in self.worths:
                hint = suggestion(text, self.worths) or listing(self.worths)
                row.refuse(row.wrong("priority", f"a word with a reward{hint}"))
                return None
            return float(sum(worth > self.worths[text] for worth in self.worths.values()))
        if text and not NUMBER.fullmatch(text) and not comma(text):
            example = self.names.example("reward", WORDS)
            expected = f"a finite number, or what each word is worth: {example}"
            row.refuse(row.wrong("priority", expected))
            return None
        priority: float | None = row.value(FIELDS["priority"])
        if priority is None and self.columns.reward and not row.is_wrong:
            row.refuse(row.wrong("priority", "a number"))
        if priority is not None and priority < 0 and self.columns.reward == PRIORITY:
            strict = self.names.example("reward", STRICT)
            expected = f"a number >= 0, which is what the job is worth; or any with {strict}"
            row.refuse(row.wrong("priority", expected))
        return priority

    # --- tasks ------------------------------------------------------------------------------

    def _stages(self, row: TextRow, value: dict[str, Any]) -> Stages | None:
        """Return the unfinished stages: empty if all are finished, None if there are no tasks."""
        length, frames, done = value.get("frame_time"), value.get("frames"), value.get("done")
        tasks, at = row.text("tasks"), self.columns.at
        if length is None:
            if row.text("frame_time"):
                return None  # refused already
            if frames or (tasks.isdecimal() and "frame_time" in at):
                example = self.names.example("missing:frame_time", "15m")
                row.refuse(row.wrong("frame_time", f"{LENGTH}; {example} fills empty cells"))
                return None
            stages: Stages | None = row.value(FIELDS["tasks"])
            if stages is None and not row.is_wrong:
                predicted: list[str] = [key for key in ("demand", "critical_path") if key in at]
                needed = predicted or ["frame_time" if "frame_time" in at else "tasks"]
                if missing := [key for key in needed if value.get(key) is None]:
                    row.refuse(row.wrong(missing[0], LENGTH))
            return _undone(stages, done) if stages and done else stages
        if not frames and not tasks and at.keys() & {"frames", "tasks"}:
            if not row.is_wrong:
                by_frames = "frames" in at
                expected = FRAMES if by_frames else "how many tasks"
                row.refuse(row.wrong("frames" if by_frames else "tasks", expected))
            return None
        frames = frames or (row.value(TASK_COUNT) if tasks else 1) or 1
        left, chunk = frames - _done(done, frames), value.get("chunk") or 1
        full, rest = (float(as_written(length) * n) for n in (chunk, left % chunk))
        stage = (full,) * (left // chunk) + (rest,) * bool(left % chunk)
        return (stage,) if stage else ()

    # --- jobs after others --------------------------------------------------------------------

    def _with_jobs_before(self, read: Sequence[tuple[TextRow, Job]]) -> list[Job]:
        """Return the jobs with resolved predecessors.

        Jobs that wait for a job that is left out are left out as well.
        """
        there = {job.name for _, job in read}
        kept: list[tuple[TextRow, Job]] = []
        for row, job in read:
            if not job.after:
                kept.append((row, job))
                continue
            names: list[str] = []
            for part in job.after:
                parts = [part] if part in self._names else map(str.strip, part.split(","))
                for name in parts:
                    names += [name, *self.copies.get(name, ())]
            for name in names:
                if name not in self._names:
                    expected = f"names of jobs of the table{suggestion(name, self._names)}"
                    where = row.where("after")
                    row.refuse(InputError(expected, found=quote(name), place=where))
            after = tuple(dict.fromkeys(name for name in names if name not in self._done))
            kept.append((row, replace(job, after=after)))
        if self._errors:
            return []
        while blocked := [pair for pair in kept if not there.issuperset(pair[1].after)]:
            for row, job in blocked:
                self._leave_out(job.name, row.place, "they wait for a job that is left out")
                there.discard(job.name)
            kept = [pair for pair in kept if pair[1].name in there]
        return [job for _, job in kept]


def _done(done: Any, total: int) -> int:
    """Return the number of finished frames; a fraction of ``total`` is rounded down."""
    return min(total, done if isinstance(done, int) else int((done or 0) * total))


def _undone(stages: Stages, done: Any) -> Stages:
    skip, left = _done(done, sum(map(len, stages))), []
    for stage in stages:
        left.append(stage[skip:])
        skip = max(0, skip - len(stage))
    return tuple(filter(None, left))


def _listed(jobs: list[str]) -> str:
    return ", ".join(jobs[:FEW]) + ", ..." * (len(jobs) > FEW)


# --- options ----------------------------------------------------------------------------------

Text = str | float
Tell = Callable[[str], None]
Amount = float | tuple[tuple[float, float], ...]  # of a thing, or times from which it is so much
AMOUNT = Option(
    None,
    "how many there are, or times with amounts, such as 20:00=16,02:00=8",
    lambda v: isinstance(v, str) or (is_number(v) and v >= 0),
)
TEXTS = Option(
    None,
    "texts with commas between",
    lambda v: all(part.strip() for part in str(v).split(",")),
)
PREFIXES = {
    SEATS: AMOUNT,
    HOLDS: AMOUNT,
    POOL: AMOUNT,
    "column:": text("a title of the table, such as `Job Name`"),
    "where:": TEXTS,
    "missing:": text(f"a cell, or {LEAVE_OUT}"),
}
"""Options of which there may be several, each with a name after the prefix."""
OPTIONS = OptionsWith(
    {
        "name": text("a name"),
        "processors": PROCESSORS,
        "deadline": Option(
            None,
            "a number above 0, or a time such as 10h, 06:00 or 2026-11-23T06:00",
            lambda v: isinstance(v, str) or (is_number(v) and v > 0),
        ),
        "start": Option(
            None,
            "a time of day such as 20:00 or tonight 20:00, or 2026-11-22T20:00",
            lambda v: isinstance(v, str),
        ),
        "unit": one_of("s", SPELLED, "one of s, m, h, d"),
        "capacity": text("times with processors, such as 20:00=400,08:00=120"),
        "end": Option(
            None,
            "a time after which nothing runs, such as 08:00",
            lambda v: isinstance(v, str) or (is_number(v) and v > 0),
        ),
        "reward": Option(
            None,
            f"priority, strict, or such as {WORDS}",
            lambda v: v in (PRIORITY, STRICT) or (isinstance(v, str) and v.startswith(BY_WORD)),
        ),
        "priority": one_of("higher", ("higher", "lower")),
        "groups": TEXTS,
        "keep": TEXTS,
        "duplicates": one_of("refuse", ("refuse", "number")),
    },
    PREFIXES,
)
"""The options of `convert`; ``processors`` (or pools) and ``deadline`` have no default."""
EXAMPLES = {"deadline": "8h", "processors": "16"}


def convert(
    path: Source,
    *,
    tell: Tell | None = None,
    option_names: OptionNames = AS_OPTIONS,
    **options: Any,
) -> Instance:
    """Read a table of jobs: CSV or Parquet, possibly gzipped, or a frame of pandas or polars.

    Parameters
    ----------
    path : path or frame
        The table.
    tell : callable, optional
        Called with each note on columns and jobs.
    option_names : OptionNames
        How messages refer to the options.
    **options
        Of `OPTIONS`. The name defaults to the file's stem, or ``jobs`` for a frame.

    Raises
    ------
    InputError
        With the file, the line and the column, what was found and what is expected.
    """
    names = option_names
    given = {key: value for key, value in options.items() if value is not None}
    asked = Reading(check_options(given, OPTIONS, "table", names), names)
    pools = asked.named(POOL)
    needed = {"processors": asked.get("processors") or pools, "deadline": asked.get("deadline")}
    if missing := [key for key, value in needed.items() if not value]:
        example = " and ".join(names.example(key, EXAMPLES[key]) for key in missing)
        log = " (a log of jobs that have run is read with --option as=jobs)"
        expected = f"{example}, which a table does not have{log * (names is AS_OPTIONS)}"
        raise InputError(expected)
    with at_place(names.place("start")):
        clock = Clock.of(SPELLED[asked.get("unit") or "s"], asked.get("start"), names)
    values = _Amounts(clock, names)
    file = path if isinstance(path, str | Path) else None
    deadline, end = (values.end(key, asked.get(key)) for key in ("deadline", "end"))
    changes = asked.get("capacity")
    capacity = values.amount("capacity", changes, whole=True) if changes else ()
    pools = {name: values.amount(f"{POOL}{name}", n, whole=True) for name, n in pools.items()}
    processors = asked.get("processors") or 0
    with at_place(file=file or "the frame"):
        table = TextTable.read(path)
        columns = Columns.of(table, asked)
        if not table.rows:
            raise InputError("a row for each job, below the titles", found="none")
        if asked.get("priority") is not None and "priority" not in columns.at:
            raise InputError("a column 'priority'", found="none", place=names.place("priority"))
        reader = JobReader(table, columns, clock, asked)
        jobs = reader.jobs()
        seats = values.held(SEATS, reader, whole=True)
        for kind, number in seats.items():
            expect(isinstance(number, int), "a whole number", number, names.place(SEATS + kind))
        rules: list[SideConstraint] = [
            *(
                Seats(name=kind, capacity=n, use=reader.use.get(kind, {}))
                for kind, n in seats.items()
            ),
            *(Require(name=f"must {job}", jobs=(job,)) for job in reader.must),
            *(Forbid(name=f"forbid {job}", jobs=(job,)) for job in reader.forbid),
        ]
        with reader.named_rows(jobs):
            instance = Instance(
                name=asked.get("name") or (stem(file) if file else "jobs"),
                description=f"Times are {clock.words}." if clock.told or clock.start else None,
                processors=processors,
                deadline=deadline,  # type: ignore[arg-type]
                jobs=jobs,
                constraints=tuple(rules),
                resources=values.held(HOLDS, reader),
                changes=capacity,  # type: ignore[arg-type]
                pools=pools,
                end=end,
                start=clock.start_with_zone,
                unit=clock.unit,
            )
    if columns.reward == STRICT:
        instance = by_level(instance)
    if tell is not None:
        for line in (*columns.notes(instance), *reader.notes(len(jobs))):
            tell(line)
    return instance


@dataclass(frozen=True)
class _Amounts:
    """Parser of times and amounts that are given as options beside a table."""

    clock: Clock
    names: OptionNames

    def end(self, key: str, value: Text | None) -> float | None:
        """Return the end as a time after the start."""
        with at_place(self.names.place(key)):
            if not isinstance(value, str):
                return None if value is None else float(value)
            end = self.clock.end(value.strip())
            expect(end > 0, "a time after the start", value, "")
        return end

    def amount(self, key: str, value: Text, *, whole: bool = False) -> Amount:
        """Return an amount, or the times of its changes with the amount from each on."""
        place, kind = self.names.place(key), int if whole else float
        if not isinstance(value, str):
            expect(value == kind(value), "a whole number", value, place)
            return kind(value)
        changes: list[tuple[float, float]] = []
        for part in value.split(","):
            time, _, amount = (text.strip() for text in part.rpartition("="))
            if not NUMBER.fullmatch(amount) or (whole and not float(amount).is_integer()):
                expected = f"a time = a {'whole ' * whole}number"
                raise InputError(expected, found=quote(part), place=place)
            with at_place(place):
                changes.append((self.clock.point(time), kind(float(amount))))
        return tuple(changes)

    def held(self, prefix: str, reader: JobReader, *, whole: bool = False) -> dict[str, Any]:
        """Return the amount of each resource that running tasks hold."""
        given = reader.asked.named(prefix)
        columns = [
            key.removeprefix(prefix) for key in reader.columns.titles if key.startswith(prefix)
        ]
        named = prefix == SEATS and "seats" in reader.columns.at
        for name in given:
            if name not in columns and not named:
                expected = f"a column {prefix}{name}, with what each running task holds"
                raise InputError(expected, found="none", place=self.names.place(prefix + name))
        for name in columns:
            if name not in given:
                example = self.names.example(prefix + name, "N")
                raise InputError(f"{example}, since a table does not say how many there are")
        return {name: self.amount(prefix + name, n, whole=whole) for name, n in given.items()}
