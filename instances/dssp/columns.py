"""What each column of a table of jobs is: a field, seats, a grouping, or left out and why."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError, listing, shown, suggestion
from schedopt.instances.tables import Table
from schedopt.instances.times import NUMBER

SEATS, HOLDS, POOL = "seats:", "holds:", "pool:"
"""Prefixes of seats and of resources in titles and options, and of pools in options."""

NEEDED = ("name", "reward", "priority", "demand", "critical_path")
LIMITS = ("after", "max_processors", "processors", "pools", "spread")
TIMES = ("tasks", "task_time", "release", "deadline", *LIMITS)
"""Optional columns, which are groupings where the options say so."""

KNOWN = (*NEEDED, *TIMES)
FRAMES = {"frames": "tasks", "frame_time": "task_time"}
"""What farms call the columns of a stage of frames, where a table has both. The time of a task may
also be called ``estimate``."""
MEANT = dict.fromkeys(("due", "due_date", "end"), "deadline") | dict.fromkeys(
    ("arrival", "earliest", "not_before", "start", "submit"), "release"
)
"""Titles of other tables, and the field that they probably are; taken for it they are not."""
NEAR = 0.85  # similarity from which a title counts as a misspelling of one of `TIMES`

_FIELDS = frozenset(
    {*Job.__struct_fields__, *Instance.__struct_fields__} | {*MEANT, "seats", "size", "weight"}
)
"""Titles of text columns that are no groupings: fields of this and of other tables."""


@dataclass(frozen=True)
class Columns:
    """The columns of a table."""

    at: dict[str, int]  # the position of each; those that are known have their own spelling
    fields: list[str]  # of jobs
    groupings: list[str]
    seats: list[str]  # the kinds of them
    resources: list[str]  # likewise
    left_out: dict[str, str]  # the other columns, each with the reason
    reward: str | None  # the reward function that stands in for a column of rewards
    unasked: bool  # whether nobody asked for that

    @classmethod
    def of(cls, table: Table, reward: str | None, groups: str | None) -> Columns:
        """Classify a table's columns; ``groups`` names groupings; `InputError` if one is wrong."""
        asked = None if groups is None else [title.strip() for title in groups.split(",")]
        titles = set(map(_normalized, table.titles))
        aliases = FRAMES if titles >= FRAMES.keys() else {}
        timed = titles & {"task_time", "frame_time"}
        if not timed and ("tasks" in titles or "demand" not in titles):
            aliases = {"estimate": "task_time"}
        if "name" not in titles:
            aliases = {**aliases, "job": "name"}  # as plans call it
        at = table.positions(
            lambda title: _known_spelling(aliases.get(_normalized(title), title), asked or ())
        )
        fields = [t for t in at if t in NEEDED or (t in TIMES and t not in (asked or ()))]
        seats = [title for title in at if title.startswith(SEATS)]
        holds = [title for title in at if title.startswith(HOLDS)]
        unasked = reward is None and "reward" not in at and "priority" in at
        made = "linear" if unasked else reward
        others = {
            title: [row[i] for _, row in table.rows]
            for title, i in at.items()
            if title not in (*fields, *seats, *holds)
        }
        _check(table, at, fields, [*others], made)
        groupings, left_out = _groupings(others, asked)
        kinds = [title.removeprefix(SEATS) for title in seats]
        resources = [title.removeprefix(HOLDS) for title in holds]
        return cls(at, fields, groupings, kinds, resources, left_out, made, unasked)

    def notes(self, instance: Instance) -> Iterator[str]:
        """Yield what became of each column."""
        fields = [*self.fields]
        if self.unasked:
            yield (
                "no column 'reward': rewards are linear in the priority, 500 less it and 0 at the "
                "least; --option reward=banded or size makes others"
            )
        elif self.reward and "reward" in fields:
            fields.remove("reward")
            yield f"column 'reward': left out: the reward is {self.reward}, as asked"
        yield f"columns {', '.join(map(shown, fields))}: fields of the jobs"
        rules = {rule.name: rule for rule in instance.constraints}
        for kind in self.seats:
            use = len(getattr(rules.get(kind), "use", ()))
            holding = f"{use} of {len(instance.jobs)} jobs hold some"
            yield f"column {shown(SEATS + kind)}: a side constraint of seats; {holding}"
        for name in self.resources:
            use = sum(name in job.holds for job in instance.jobs)
            holding = f"{use} of {len(instance.jobs)} jobs hold some"
            yield f"column {shown(HOLDS + name)}: a resource that running tasks hold; {holding}"
        for title in self.groupings:
            found = instance.groups.get(title, {})
            without = len(instance.jobs) - sum(map(len, found.values()))
            more = f"; {without} of {len(instance.jobs)} jobs in none" if without else ""
            yield f"column {shown(title)}: a grouping of {counted(len(found), 'group')}{more}"
        for title, reason in self.left_out.items():
            asks = "; --option groups=... makes it a grouping" if reason != "empty" else ""
            yield f"column {shown(title)}: left out: {reason}{asks}"


def counted(number: int, what: str) -> str:
    """Return how many of something there are."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _normalized(title: str) -> str:
    return title.lower().replace(" ", "_")


def _known_spelling(title: str, asked: Sequence[str]) -> str:
    """Return a known title in its own spelling, unless it is a requested grouping."""
    plain = _normalized(title)
    if plain in TIMES and title in asked:
        return title
    for prefix in (SEATS, HOLDS):
        if plain.startswith(prefix) and title[len(prefix) :].strip():
            return f"{prefix}{title[len(prefix) :].strip()}"
    return plain if plain in KNOWN else title


ALSO = {
    "reward": " (or option 'reward', or a column 'priority')",
    "tasks": " such as 12x0.5h (or 'demand' and 'critical_path')",
    "demand": " (or a column 'tasks')",
    "critical_path": " (or a column 'tasks')",
}
"""What does in place of a column that is missing."""


def _check(
    table: Table,
    at: Mapping[str, int],
    fields: Sequence[str],
    others: Sequence[str],
    reward: str | None,
) -> None:
    """Raise `InputError` where a column is missing, or seems to be misspelt."""
    staged = "tasks" in fields or "task_time" in fields
    missing = []
    for column in KNOWN:
        lengths = column in ("demand", "critical_path")
        optional = column == "priority" or column in TIMES or (lengths and staged)
        needed = not optional and not (column == "reward" and reward)
        near = [title for title in others if _is_misspelt(_normalized(title), column)]
        if column in at:
            continue
        if near:  # it would pass for a grouping, and what it holds would go unused
            expected, found = f"a column {column!r}", ", ".join(map(shown, near))
            raise InputError(expected, found=found, place=table.head)
        if needed:
            missing.append(column)
    if missing:
        if missing[-2:] == ["demand", "critical_path"]:
            missing[-2:] = ["tasks"]
        named = next((title for title in others if "name" in _normalized(title)), None)
        expected = " and ".join(f"a column {column!r}{ALSO.get(column, '')}" for column in missing)
        if "name" in missing and named:
            expected += f"; call {shown(named)} 'name' if it is the job's"
        raise InputError(expected, found=", ".join(map(shown, at)), place=table.head)


def _is_misspelt(title: str, column: str) -> bool:
    """Tell whether a title looks like a misspelt column."""
    if column in TIMES:
        return difflib.SequenceMatcher(None, column, title).ratio() >= NEAR
    return bool(suggestion(title, [column]))


def _groupings(
    others: Mapping[str, Sequence[str]], asked: Sequence[str] | None
) -> tuple[list[str], dict[str, str]]:
    """Return which of the other columns are groupings, and why the rest are not."""
    why = {title: _why_no_grouping(title, cells) for title, cells in others.items()}
    groupings = [title for title, reason in why.items() if not reason]
    if asked is not None:
        for title in asked:
            if title not in others:
                hint = suggestion(title, others) or listing(others) or ": there is no other column"
                expected = f"a column that is no field{hint}"
                raise InputError(expected, found=shown(title), place="option groups")
        groupings = list(dict.fromkeys(asked))
        why |= {title: reason or "not asked for" for title, reason in why.items()}
    return groupings, {title: why[title] for title in why if title not in groupings}


def _why_no_grouping(title: str, cells: Sequence[str]) -> str:
    """Return why a column is no grouping by default; empty where it is one."""
    if _normalized(title) in _FIELDS:
        meant = MEANT.get(_normalized(title))
        return f"call it {meant!r} if that is what it says" if meant else "no field of a job's own"
    filled = [cell for cell in cells if cell]
    if cells and not filled:
        return "empty"
    if filled and all(NUMBER.fullmatch(cell) for cell in filled):
        return "numbers"
    return ""
