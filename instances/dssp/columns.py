"""What each column of a table of jobs is: a field, seats, a grouping, or left out and why."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schedopt.instances.dssp.jobs import Job
from schedopt.instances.dssp.records import Instance
from schedopt.instances.errors import InputError, listing, quote, suggestion
from schedopt.instances.options import OptionNames
from schedopt.instances.tables import Table
from schedopt.instances.times import NUMBER

SEATS, HOLDS, POOL = "seats:", "holds:", "pool:"
"""Prefixes of seats and of resources in titles and options, and of pools in options."""

ALWAYS = ("name", "reward", "priority", "demand", "critical_path")
LIMITS = ("after", "max_processors", "processors", "pools", "spread")
KNOWN = (*ALWAYS, "tasks", "task_time", "release", "deadline", *LIMITS)
"""Fields of jobs; those that are not in `ALWAYS` may be asked for as groupings instead."""
FRAMES = {"frames": "tasks", "frame_time": "task_time"}
"""What farms call the columns of a stage of frames, where a table has both. The time of a task may
also be called ``estimate``."""
MEANT = dict.fromkeys(("due", "due_date", "end"), "deadline") | dict.fromkeys(
    ("arrival", "earliest", "not_before", "start", "submit"), "release"
)
"""Titles of other tables, and the field that they probably are; taken for it they are not."""
NEAR = 0.8  # similarity from which a title counts as a misspelling of one of `KNOWN`

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
    left_out: dict[str, str]  # the other columns, each with the reason
    reward: str | None  # the reward function that stands in for a column of rewards
    names: OptionNames

    @classmethod
    def of(
        cls, table: Table, reward: str | None, groups: str | None, names: OptionNames
    ) -> Columns:
        """Classify a table's columns; ``groups`` names groupings; `InputError` if one is wrong."""
        chosen = None if groups is None else [title.strip() for title in groups.split(",")]
        titles = set(map(_normalized, table.titles))
        aliases = FRAMES if titles >= FRAMES.keys() else {}
        if not titles & {"task_time", "frame_time"} and (
            "tasks" in titles or "demand" not in titles
        ):
            aliases = {"estimate": "task_time"}
        if "name" not in titles:
            aliases = {**aliases, "job": "name"}  # as plans call it
        at = table.positions(
            lambda title: _known_spelling(aliases.get(_normalized(title), title), chosen or ())
        )
        fields = [t for t in at if t in KNOWN and (t in ALWAYS or t not in (chosen or ()))]
        if reward is None and "reward" not in at and "priority" in at:
            reward = "linear"
        others = {
            title: [row[i] for _, row in table.rows]
            for title, i in at.items()
            if title not in fields and not title.startswith((SEATS, HOLDS))
        }
        _check(table, at, fields, [*others], reward=reward, names=names)
        return cls(at, fields, *_groupings(others, chosen, names), reward, names)

    def with_prefix(self, prefix: str) -> list[str]:
        """Return what the titles with a prefix name: kinds of seats, or resources."""
        return [title.removeprefix(prefix) for title in self.at if title.startswith(prefix)]

    def notes(self, instance: Instance) -> Iterator[str]:
        """Yield what became of each column."""
        if self.reward and "reward" in self.fields:
            yield f"column 'reward': left out: the reward is {self.reward}, as asked"
        elif self.reward == "linear":
            yield (
                "no column 'reward': rewards are linear in the priority, 500 less it and 0 at the "
                f"least; {self.names.example('reward', 'banded')} or size makes others"
            )
        fields = [title for title in self.fields if title != "reward" or not self.reward]
        yield f"columns {', '.join(map(quote, fields))}: fields of the jobs"
        for title in self.at:
            if title.startswith((SEATS, HOLDS)):
                yield f"column {quote(title)}: what each running task holds"
        for title in self.groupings:
            count = len(instance.groups.get(title, {}))
            yield f"column {quote(title)}: a grouping of {count_of(count, 'group')}"
        for title, reason in self.left_out.items():
            asks = f"; {self.names.example('groups', '...')} makes it a grouping"
            asks *= reason != "empty"
            yield f"column {quote(title)}: left out: {reason}{asks}"


def count_of(number: int, what: str) -> str:
    """Return how many of something there are."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _normalized(title: str) -> str:
    return title.lower().replace(" ", "_")


def _known_spelling(title: str, groupings: Sequence[str]) -> str:
    """Return a known title in its own spelling, unless it is a requested grouping."""
    plain = _normalized(title)
    for prefix in (SEATS, HOLDS):
        if plain.startswith(prefix) and title[len(prefix) :].strip():
            return f"{prefix}{title[len(prefix) :].strip()}"
    is_known = plain in KNOWN and (plain in ALWAYS or title not in groupings)
    return plain if is_known else title


def _check(
    table: Table,
    at: Mapping[str, int],
    fields: Sequence[str],
    others: Sequence[str],
    *,
    reward: str | None,
    names: OptionNames,
) -> None:
    """Raise `InputError` where a column is missing, or seems to be misspelt."""
    plain = {_normalized(title): title for title in others}
    for column in KNOWN:  # misspelt it would pass for a grouping, and go unused
        near = difflib.get_close_matches(column, plain, n=1, cutoff=NEAR)
        if column not in at and near:
            expected = f"a column {column!r}"
            raise InputError(expected, found=quote(plain[near[0]]), place=table.head)
    needed = {
        "a column 'name'": "name" in at,
        f"a column 'reward' (or {names.place('reward')}, or a column 'priority')": (
            reward or "reward" in at
        ),
        "a column 'tasks' such as 12x0.5h (or 'demand' and 'critical_path')": {
            *("tasks", "task_time")
        }.intersection(fields)
        or {"demand", "critical_path"} <= at.keys(),
    }
    if missing := [words for words, there in needed.items() if not there]:
        found = ", ".join(map(quote, at))
        raise InputError(" and ".join(missing), found=found, place=table.head)


def _groupings(
    others: Mapping[str, Sequence[str]], chosen: Sequence[str] | None, names: OptionNames
) -> tuple[list[str], dict[str, str]]:
    """Return which of the other columns are groupings, and why the rest are not."""
    why = {title: _why_no_grouping(title, cells) for title, cells in others.items()}
    if chosen is None:
        return [t for t in why if not why[t]], {t: why[t] for t in why if why[t]}
    for title in chosen:
        if title not in others:
            hint = suggestion(title, others) or listing(others) or ": there is no other column"
            expected = f"a column that is no field{hint}"
            raise InputError(expected, found=quote(title), place=names.place("groups"))
    left_out = {title: why[title] or "not asked for" for title in why if title not in chosen}
    return list(dict.fromkeys(chosen)), left_out


def _why_no_grouping(title: str, cells: Sequence[str]) -> str:
    """Return why a column is no grouping by default; empty where it is one."""
    if _normalized(title) in _FIELDS:
        meant = MEANT.get(_normalized(title))
        return f"call it {meant!r} if that is what it says" if meant else "no field of a job's own"
    filled = list(filter(None, cells))
    if cells and not filled:
        return "empty"
    return "numbers" if filled and all(map(NUMBER.fullmatch, filled)) else ""
