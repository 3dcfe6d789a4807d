"""The columns of a table of jobs: their declarations, and how a table's columns are recognized.

`FIELDS` declares each field: its parser, recognized titles, an example, the unit, and the default.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError, listing, quote, suggestion
from schedopt.instances.options import AS_OPTIONS, OptionNames
from schedopt.instances.tables import Column, TextTable
from schedopt.instances.times import NUMBER, SPELLED

SEATS, HOLDS, POOL = "seats:", "holds:", "pool:"
"""Prefixes of seats and of resources in titles and options, and of pools in options."""
MOST_FRAMES = 1_000_000  # frames of one job: more are a slip of the finger


# --- cells ------------------------------------------------------------------------------------

_RANGE = re.compile(r"(-?\d{1,9})(?:-(-?\d{1,9})(?:(?:[x:]|step|by)(\d{1,6}))?)?", re.ASCII)
FRAMES = "frames such as 1001-1144, 1-100x2 or 1-10,20-25, or how many there are"
DONE = "how many frames are done, such as 12 or 12/144, or a percentage such as 12.5 %"
_LICENCE = re.compile(r"([^:=]+?)\s*(?:[:=]\s*(\d{1,9}))?")


def frame_count(text: str) -> int:
    """Return the number of frames in a cell: 16 for ``1-10,20-25``, 120 for ``120``."""
    if re.fullmatch(r"\d{1,7}", text, re.ASCII):
        count = int(text)
    elif re.fullmatch(r"\d{1,3}(,\d{3})+", text, re.ASCII):
        raise InputError("frames without thousands separators, or with a range", found=quote(text))
    else:
        frames = list(map(_frames, re.split(r"\s*[,;\s]\s*", text)))
        few = sum(map(len, frames)) <= MOST_FRAMES
        count = len(set().union(*frames)) if few else MOST_FRAMES + 1
    if not 1 <= count <= MOST_FRAMES:
        raise InputError(f"from 1 to {MOST_FRAMES:,} frames", found=quote(text))
    return count


def _frames(part: str) -> range:
    if not (match := _RANGE.fullmatch(part)):
        raise InputError(FRAMES, found=quote(part) if part else "an empty part")
    first, last = int(match[1]), int(match[2] or match[1])
    step = int(match[3] or 1)
    if not step:
        raise InputError("a step of at least 1", found=quote(part))
    return range(first, last + 1, step) if first <= last else range(first, last - 1, -step)


def done_of(text: str) -> int | Fraction:
    """Return the number of finished frames, or the finished fraction."""
    number, percent = text.removesuffix("%").strip(), text.endswith("%")
    number = re.sub(r"\s*/\s*\d+$", "", number)
    if percent and NUMBER.fullmatch(number) and 0 <= float(number) <= 100:
        return Fraction(number) / 100
    if percent or not re.fullmatch(r"\d{1,9}", number, re.ASCII):
        raise InputError(DONE, found=quote(text))
    return int(number)


def licences_of(text: str) -> dict[str, int]:
    """Return the seats of each licence that a task holds, from a cell: ``houdini;nuke:2``."""
    held: dict[str, int] = {}
    for part in filter(None, map(str.strip, re.split("[;,]", text))):
        match = _LICENCE.fullmatch(part)
        if match is None or match[1] in held:
            expected = "names of licences, each once, such as houdini;nuke:2"
            raise InputError(expected, found=quote(part))
        held[match[1]] = int(match[2] or 1)
    return {name: count for name, count in held.items() if count}


# --- declarations -----------------------------------------------------------------------------


@dataclass(frozen=True)
class Field(Column):
    """The declaration of a field of a job.

    Attributes
    ----------
    example : str
        An example of a cell.
    unit : str
        The unit or meaning of the values.
    without : str
        What applies if the column or the cell is missing.
    titles : tuple of str
        Titles that are recognized beside the name, with ``_`` for a space, in order of preference.
    """

    example: str = ""
    unit: str = ""
    without: str = ""
    titles: tuple[str, ...] = ()


def _field(  # noqa: PLR0917 - a row of the table below
    name: str,
    kind: str | Callable[[str], Any],
    example: str,
    unit: str,
    without: str,
    titles: str = "",
    least: float | None = 0,
) -> Field:
    others = tuple(titles.split())
    return Field(name, kind, least, name == "name", example, unit, without, others)


def is_yes(text: str) -> bool:
    """Return True for ``yes``, ``true``, ``x`` or 1, False for ``no``, ``false`` or 0."""
    if text.casefold() in ("yes", "y", "true", "x", "1"):
        return True
    if text.casefold() in ("no", "n", "false", "0"):
        return False
    raise InputError("yes or no", found=quote(text))


_TIME = "time, with units or in --unit"
_YES = "yes or no"
_FRAME = f"{_TIME}, of a frame"
_FRAME_TIMES = """task_time avg_frame_render_time average_frame_render_time avg_frame_time
average_frame_time avg_frame avgframe estimate timelimit time_limit"""
_FRAMES = "frame_list frame_range framerange pend"
_NO_TIME = "refused where there are frames; see --missing"
_PRIORITY = "number, higher is more important; or a word with a --reward"
_PROCESSORS = "cpus ncpus reqcpus numcpus"
_SEATS = "licences that each running task holds, of --seats"
_SPREAD = "number from 0 to below 1, or lognormal 0.5"
_STAGES = "stages of tasks, or with frame_time how many tasks"
_WORK = "frames and frame_time, or demand and critical_path"
_ROWS = (
    _field("name", "text", "sq010_fx", "text, of one job each", "refused", "job job_name jobname"),
    _field("reward", "number", "5", "reward", "made from the priority"),
    _field("priority", "number", "80", _PRIORITY, "needs a reward", "pri prio", least=None),
    _field("tasks", "tasks", "12x0.5h; 1x2h", _STAGES, _WORK, "task_count"),
    _field("frames", frame_count, "1001-1144", "ranges, or how many", "see tasks", _FRAMES),
    _field("frame_time", "length", "00:25:57", _FRAME, _NO_TIME, _FRAME_TIMES),
    _field("chunk", "whole", "5", "frames of a task", "1", "chunk_size frames_per_task", least=1),
    _field("done", done_of, "12.5 %", "frames, or a percentage", "nothing", "progress done/total"),
    _field("status", "text", "queued", "text", "not done; see --where", "state job_status"),
    _field("release", "point", "22:30", _TIME, "the start of the night"),
    _field("deadline", "end", "05:00", _TIME, "the end of the night"),
    _field("after", "names", "sq010_sim", "names of jobs", "no job", "dependencies depends_on"),
    _field("seats", licences_of, "houdini;nuke:2", _SEATS, "none", "limits licenses licences"),
    _field("pools", "names", "cpu;gpu", "pools, of --pool", "any pool"),
    _field("processors", "whole", "4", "processors of each task", "1", _PROCESSORS, least=1),
    _field("max_processors", "whole", "16", "processors of the job at a time", "no limit", least=1),
    _field("spread", "spread", "0.5", _SPREAD, "times are certain"),
    _field("must", is_yes, "yes", _YES, "the job may be left out"),
    _field("forbid", is_yes, "yes", _YES, "the job may run"),
    _field("cloud", is_yes, "yes", _YES, "the job stays on the farm"),
    _field("demand", "length", "40h", "processor time", "that of tasks"),
    _field("critical_path", "length", "3h", _TIME, "that of tasks"),
)
FIELDS: Mapping[str, Field] = {field.name: field for field in _ROWS}
"""The fields of jobs by name, in the order in which they are explained."""
PREFIXED = {
    SEATS: _field(f"{SEATS}NAME", "whole", "1", "seats of NAME", "holds none"),
    HOLDS: _field(f"{HOLDS}NAME", "number", "2.5", "of --resource", "holds none"),
}
"""Fields whose titles have a name after a prefix, of what each running task holds."""
PRIORITY = "priority"
"""The reward of a job that is its priority."""
ALWAYS = ("name", "reward", "priority", "demand", "critical_path")
"""Fields that a grouping of the same title does not replace."""
COMPLETED = ("completed", "complete", "done", "finished", "succeeded")
"""Values of ``status`` of jobs that are done."""

NEAR = 0.85  # similarity from which a title counts as a misspelling of a field
GROUPS = ("pool", "group", "user", "team", "show")  # titles that are never a misspelling

_NO_GROUPINGS = frozenset(
    {*Job.__struct_fields__, *Instance.__struct_fields__, "due", "due_date", "arrival", "earliest"}
    | {"not_before", "submit", "size", "weight"}
)
"""Titles of text columns that are no groupings: fields of this and of other tables."""
_MEASURE = re.compile(r"[-+\d.,:/%\s'T]*\d[-+\d.,:/%\s'T]*(?:[KMGT]i?B?|[smhd])?", re.ASCII)
"""Numbers, dates, times and sizes, which are no groups."""
_UNIT = re.compile(r"(.+?)_?(sec|secs|seconds|min|mins|minutes|hours|[(\[](?:[smh]|sec|min)[)\]])")


@dataclass(frozen=True)
class Reading:
    """The options for reading a table of jobs, of `schedopt.instances.dssp.jobtable.OPTIONS`.

    ``names`` determines how messages refer to these options.
    """

    given: Mapping[str, Any]
    names: OptionNames = AS_OPTIONS

    def get(self, key: str) -> Any:
        """Return the value of an option, None if it is not given."""
        return self.given.get(key)

    def named(self, prefix: str) -> dict[str, Any]:
        """Return the options with a prefix, such as ``seats:``, by the names after it."""
        own = {key: value for key, value in self.given.items() if key.startswith(prefix)}
        return {key.removeprefix(prefix): value for key, value in own.items()}


@dataclass(frozen=True)
class Columns:
    """The assignment of a table's columns to fields, groupings and labels."""

    at: dict[str, int]  # the position of each field
    positions: dict[str, int]  # and of each title
    titles: dict[str, str]  # of each field, as the table has it
    groupings: list[str]
    kept: list[str]  # carried through to the plan
    unused: list[str]
    reward: str | None  # the reward function that stands in for a column of rewards
    names: OptionNames

    @classmethod
    def of(cls, table: TextTable, asked: Reading) -> Columns:
        """Assign the columns of a table; `InputError` if one is missing or seems misspelt."""
        at, names = table.positions(), asked.names
        chosen = _titles(asked.get("groups"), at, names.place("groups"))
        kept = _titles(asked.get("keep"), at, names.place("keep")) or []
        missing = asked.named("missing:")
        titles = {
            key: _title(title, at, names.place(f"column:{key}"))
            for key, title in asked.named("column:").items()
            if _expect_field(key, names.place(f"column:{key}"))
        }
        instead = [title for title in chosen or () if _normalized(title) not in ALWAYS]
        others = [title for title in at if title not in {*titles.values(), *instead}]
        for key in missing:
            _expect_field(key, names.place(f"missing:{key}"))
        recognized = _recognized(others, table)
        if "frame_time" not in {*recognized, *titles, *missing}:
            recognized = {k: t for k, t in recognized.items() if k not in ("frames", "chunk")}
        titles = recognized | titles
        for key in missing:
            if key not in titles:  # a column of empty cells
                titles[key], at[key] = key, len(table.rows[0][1]) if table.rows else 0
                for _, cells in table.rows:
                    cells.append("")
        others = [title for title in others if title not in titles.values()]
        reward = asked.get("reward")
        if reward is None and "reward" not in titles and "priority" in titles:
            reward = PRIORITY
        _check(table, {*titles, *missing}, others, reward=reward, names=names)
        groupings = chosen or []
        if chosen is None:
            own = (title for title in others if title not in kept)
            groupings = [title for title in own if _is_grouping(table, title, at[title])]
        unused = [title for title in others if title not in {*groupings, *kept}]
        fields = {key: at[title] for key, title in titles.items()}
        return cls(fields, at, titles, groupings, kept, unused, reward, names)

    def position(self, key: str, place: str) -> int:
        """Return the column position of a field or a title; `InputError` if it does not exist."""
        if key in self.at:
            return self.at[key]
        return self.positions[_title(key, self.positions, place)]

    def notes(self, instance: Instance) -> Iterator[str]:
        """Yield notes on how the columns were used."""
        if self.reward and "reward" in self.titles:
            yield f"column 'reward': not used: the reward is {self.reward}, as asked"
        fields = (
            key if _normalized(title) == key else f"{key} ({quote(title)})"
            for key, title in self.titles.items()
            if key != "reward" or not self.reward
        )
        yield f"fields of the jobs: {', '.join(fields)}"
        if self.groupings:
            counts = {title: len(instance.groups.get(title, {})) for title in self.groupings}
            listed = ", ".join(f"{quote(t)} ({count_of(n, 'group')})" for t, n in counts.items())
            yield f"groupings: {listed}"
        if self.unused:
            listed = ", ".join(map(quote, self.unused))
            ways = ("column:FIELD", "TITLE"), ("groups", "TITLE"), ("keep", "TITLE")
            examples = ", ".join(self.names.example(key, value) for key, value in ways)
            yield f"columns not used: {listed}; {examples} use one"


def count_of(number: int, what: str) -> str:
    """Return a number and a noun, in the plural if needed."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def unit_of(key: str, title: str) -> str:
    """Return the unit that a title implies for plain numbers: s for ``AvgFrameSec``."""
    match = _UNIT.fullmatch(_normalized(title))
    if not match or FIELDS.get(key, PREFIXED[HOLDS]).kind not in ("length", "point", "end"):
        return ""
    return SPELLED[match[2].strip("[]()")]


def _normalized(title: str) -> str:
    return re.sub(r"[\s_-]+", "_", title.lower()).strip("_")


def _expect_field(key: str, place: str) -> bool:
    """Return True if a key is a field, else raise `InputError`."""
    if key not in FIELDS and not any(key.startswith(p) and key != p for p in PREFIXED):
        known = [*FIELDS, *(own.name for own in PREFIXED.values())]
        hint = suggestion(key, FIELDS) or listing(known, len(known))
        raise InputError(f"a field{hint}", found=quote(key), place=place)
    return True


def _title(title: str, at: Mapping[str, int], place: str) -> str:
    """Return a title as the table spells it."""
    own = {_normalized(other): other for other in at}
    found = title if title in at else own.get(_normalized(title))
    if found is None:
        hint = suggestion(title, at) or listing(at, 20)
        raise InputError(f"a title of the table{hint}", found=quote(title), place=place)
    return found


def _titles(text: str | None, at: Mapping[str, int], place: str) -> list[str] | None:
    if text is None:
        return None
    return list(dict.fromkeys(_title(title.strip(), at, place) for title in text.split(",")))


def _recognized(titles: Sequence[str], table: TextTable) -> dict[str, str]:
    own: dict[str, str] = {}
    for title in titles:
        plain = _normalized(title)
        for prefix in PREFIXED:
            if plain.startswith(prefix) and (name := title[len(prefix) :].strip()):
                own[prefix + name] = title
        if plain in own and plain in FIELDS:
            found = f"{plain!r} twice"
            raise InputError("each column once", found=found, place=table.head)
        own.setdefault(plain, title)
    fields = {key: title for key, title in own.items() if key.startswith((SEATS, HOLDS))}
    bare = {m[1].rstrip("_"): own[plain] for plain in own if (m := _UNIT.fullmatch(plain))}
    for key, declared in FIELDS.items():
        known = own if declared.kind != "length" else {**bare, **own}
        for title in (key, *declared.titles):
            if title in known:
                fields[key] = known[title]
                break
    if "frames" in fields and "tasks" not in own:
        fields.pop("tasks", None)  # a count of tasks, which the frames and the chunk say too
    return fields


def _check(
    table: TextTable,
    fields: set[str],
    others: Sequence[str],
    *,
    reward: str | None,
    names: OptionNames,
) -> None:
    plain = {_normalized(title): title for title in others}
    odd = [title for title in plain if title not in GROUPS and title not in FIELDS]
    for column in FIELDS:  # misspelt it would pass for a grouping, and go unused
        near = difflib.get_close_matches(column, odd, 1, NEAR)
        if column not in fields and near:
            title, way = plain[near[0]], names.example(f"column:{column}", plain[near[0]])
            expected = f"a column {column!r} ({way}), or {names.example('keep', title)}"
            raise InputError(expected, found=quote(title), place=table.head)
    needed = {
        "a column 'name'": "name" in fields,
        f"a column 'reward' (or {names.place('reward')}, or a column 'priority')": (
            reward or "reward" in fields
        ),
        "a column 'tasks' such as 12x0.5h (or 'frames' and 'frame_time', or 'demand' and "
        "'critical_path')": fields & {"tasks", "frame_time"}
        or {"demand", "critical_path"} <= fields,
    }
    if missing := [words for words, there in needed.items() if not there]:
        found = ", ".join(map(quote, table.titles))
        way = names.example("column:FIELD", "TITLE")
        expected = f"{' and '.join(missing)}; {way} says which column is which"
        raise InputError(expected, found=found, place=table.head)


def _is_grouping(table: TextTable, title: str, at: int) -> bool:
    """Return True if a column becomes a grouping by default: text that belongs to no field."""
    filled = [row[at] for _, row in table.rows if row[at]]
    return _normalized(title) not in _NO_GROUPINGS and not all(map(_MEASURE.fullmatch, filled))
