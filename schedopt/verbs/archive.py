"""The verbs of the archive: list, show and verify instances with best known values."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from schedopt.archive.entries import Entry, entries, group
from schedopt.archive.judging import Verdict, verify
from schedopt.instances import packed
from schedopt.instances.examples import (
    ARCHIVE_PREFIX,
    groups,
    names_in,
    packed_group,
)
from schedopt.instances.naming import pick_name

__all__ = ["describe", "list_groups", "read_file", "select_entries", "verify_entries"]


def list_groups() -> list[dict[str, Any]]:
    """Return a row for each group: the numbers of instances and proofs, and the largest gap."""
    listed = []
    for name in groups():
        own = entries(name)
        proven = [entry for entry in own if entry.status == "proven"]
        listed.append(
            {
                "group": name,
                "title": group(name).title,
                "instances": len(own),
                "proven": len(proven),
                "certified": sum(bool(entry.certificate) for entry in own),
                "confirmed": sum(bool(entry.confirmed_by) for entry in proven),
                "believed": sum(not (e.certificate or e.confirmed_by) for e in proven),
                "open": len(own) - len(proven),
                "widest_gap": max((entry.gap or 0.0 for entry in own), default=0.0),
            }
        )
    return listed


def select_entries(names: Sequence[str] = ()) -> list[tuple[str, Entry]]:
    """Return the entries of groups, of single instances, or of the whole archive."""
    selected = []
    for name in [text.removeprefix(ARCHIVE_PREFIX) for text in names] or groups():
        if "/" in name:
            selected.append(_entry_of(name))
        else:
            pick_name(name, groups(), "a group of the archive")
            selected += [(name, entry) for entry in entries(name)]
    return selected


def describe(name: str) -> dict[str, Any]:
    """Return the data of a group, or of an instance given as ``GROUP/NAME``."""
    name = name.removeprefix(ARCHIVE_PREFIX)
    own: dict[str, Any] = msgspec.to_builtins(group(name.partition("/")[0]))
    if "/" not in name:
        return own | {"entries": [msgspec.to_builtins(entry) for entry in entries(name)]}
    described: dict[str, Any] = msgspec.to_builtins(_entry_of(name)[1])
    return {"group": own} | described | {"files": _files_of(name)}


def read_file(name: str) -> bytes | None:
    """Return the contents of a file ``GROUP/FOLDER/FILE``; None if there is no such file."""
    group_name, _, file = name.removeprefix(ARCHIVE_PREFIX).partition("/")
    path = packed_group(group_name)
    return packed.read(path, file) if file in packed.names(path) else None


def _files_of(path: str) -> list[str]:
    """Return the names of the files of an entry, for `read_file`."""
    group_name, _, name = path.partition("/")
    files = packed.names(packed_group(group_name))
    return [f"{group_name}/{file}" for file in files if f"/{name}." in file]


def verify_entries(
    names: Sequence[str] = (), watch: Callable[[int, int], None] | None = None
) -> Iterator[Verdict]:
    """Verify groups, instances given as ``GROUP/NAME``, or the whole archive, without a solver."""
    selected = select_entries(names)
    for done, (name, entry) in enumerate(selected, 1):
        yield verify(name, entry)
        if watch:
            watch(done, len(selected))
    for group_name in dict.fromkeys(name for name, _ in selected):
        listed = {entry.name for entry in entries(group_name)}
        for name in names_in(group_name):
            if name not in listed:
                yield Verdict(group_name, name, "", "", ["an instance without an entry"])


def _entry_of(path: str) -> tuple[str, Entry]:
    """Return the group and the entry of ``GROUP/NAME``."""
    group_name, _, name = path.partition("/")
    pick_name(name, names_in(group_name), f"an instance of {group_name}")
    return group_name, next(entry for entry in entries(group_name) if entry.name == name)
