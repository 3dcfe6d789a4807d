"""The archive's groups, what is known of instances, and what became of their verification."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from schedopt.archive.judging import Verdict
from schedopt.formats import number, percent
from schedopt.problems.shown import ShownTable
from schedopt.terminal.console import say, show


def groups(found: Sequence[dict[str, Any]]) -> None:
    """Show the groups."""
    rows = tuple(
        (
            entry["group"],
            entry["title"],
            *(str(entry[key]) for key in ("instances", "proven", "certified", "open")),
            percent(entry["widest_gap"]),
        )
        for entry in found
    )
    heads = ("group", "what", "instances", "proven", "re-proved", "open", "widest gap")
    show(ShownTable(title="", heads=heads, rows=rows))
    total = Counter(
        {key: sum(entry[key] for entry in found) for key in ("instances", "proven", "open")}
    )
    say(f"{total['instances']} instances: {total['proven']} proven, {total['open']} open")


def known(found: dict[str, Any]) -> None:
    """Show what is known of a group or of an instance."""
    if "entries" not in found:
        for key, value in found.items():
            say(f"{key}: {value}")
        return
    say(f"{found['name']} {found['version']}: {found['title']}", "bold")
    say(f"source: {found['source']}; licence: {found['licence']}")
    rows = tuple(
        (
            entry["name"],
            entry["status"],
            number(entry["objective"]),
            number(entry["bound"]),
            "unknown" if entry["gap"] is None else percent(entry["gap"]),
            entry["certificate"] or "believed",
            entry["objective_by"]["by"],
            entry["objective_by"]["date"],
        )
        for entry in found["entries"]
    )
    heads = ("instance", "status", "best known", "bound", "gap", "bound re-proved from", "by", "on")
    show(ShownTable(title="", heads=heads, rows=rows))


def verdicts(found: Sequence[Verdict]) -> None:
    """Show what became of each entry that does not hold, and how many hold."""
    for verdict in found:
        for line in verdict.wrong:
            say(f"{verdict.group}/{verdict.name}: {line}", "red")
    sound = [verdict for verdict in found if not verdict.wrong]
    reproved = sum(verdict.bound == "re-proved" for verdict in sound)
    proven = sum(verdict.status == "proven" for verdict in sound)
    say(
        f"{len(sound)} of {len(found)} entries hold: {proven} proven, {len(sound) - proven} open; "
        f"{reproved} bounds re-proved, the others believed"
    )
