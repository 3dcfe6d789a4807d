"""A file of JSON lines that survives being killed: the rows of a bench, or of a what-if."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from schedopt.instances.decode_errors import flaw_of
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.files import read_bytes, write_bytes

LINES = ".jsonl"  # the ending of a journal
_BEGINNING = b'{"instance":'  # how each row begins

T = TypeVar("T")


class SweepInterrupt(KeyboardInterrupt):
    """An interruption of a sweep, with the ``rows`` that are done."""

    def __init__(self, rows: Sequence[Any]) -> None:
        super().__init__()
        self.rows = rows


class Journal:
    """The rows of a sweep, each appended to a file at once; those that it holds are kept.

    Parameters
    ----------
    path : Path, optional
        The file; without one, rows are in memory alone.
    keys : sequence of str
        Those of the sweep's rows, in order: a digest of all that a row depends on.
    kind : type
        The record of a row, with a field ``key``.
    """

    def __init__(self, path: Path | None, keys: Sequence[str], kind: type[Any]) -> None:
        self._order = {key: i for i, key in enumerate(keys)}
        self._rows: dict[str, Any] = {}
        self._path = path
        if path is not None and path.exists():
            rows = read_lines(path, kind, cut=True)
            if others := sum(row.key not in self._order for row in rows):
                expected = "rows of this very sweep; choose another output, or remove that file"
                found = f"{others} with other options or contents"
                raise InputError(expected, found=found, file=str(path))
            self._rows = {row.key: row for row in rows}
        elif path is not None:
            write_bytes(path, b"")

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def extend(self, rows: Iterable[Any]) -> None:
        """Keep rows: they are written at once, so that no killed sweep loses them."""
        rows = list(rows)
        if self._path is not None:
            try:
                with self._path.open("ab", buffering=0) as file:
                    lines = to_lines(rows)
                    while lines:  # a disk that is nearly full takes a part
                        lines = lines[file.write(lines) :]
            except OSError as error:
                expected = "room to write; the rows before are safe, run again to go on"
                raise InputError(expected, found=error.strerror, file=str(self._path)) from None
        self._rows.update((row.key, row) for row in rows)

    @property
    def complete(self) -> bool:
        """Whether all rows are there."""
        return len(self._rows) == len(self._order)

    def finish(self) -> list[Any]:
        """Return all rows in the sweep's order; if they are complete, so are they in the file."""
        rows = sorted(self._rows.values(), key=lambda row: self._order[row.key])
        if self._path is not None and self.complete:
            write_bytes(self._path, to_lines(rows))
        return rows


def to_lines(rows: Iterable[Any]) -> bytes:
    """Return rows as JSON lines."""
    return b"".join(to_json(row) + b"\n" for row in rows)


def read_lines(path: Path, kind: type[T], *, cut: bool = False) -> list[T]:
    """Read rows of JSON lines; ``cut``: whether to cut off one that a kill left unfinished."""
    data = read_bytes(path)
    if cut and (rest := data[data.rfind(b"\n") + 1 :]):
        common = min(len(rest), len(_BEGINNING))
        if rest[:common] != _BEGINNING[:common] or path.stat().st_size != len(data):
            raise InputError("rows of a sweep", found=shown(rest), file=str(path))
        data = data[: -len(rest)]
        os.truncate(path, len(data))
    rows = []
    for number, line in enumerate(data.splitlines(), start=1):
        with placed(f"row {number}", path):
            try:
                rows.append(msgspec.json.decode(line, type=kind))
                if flaw := flaw_of(line, kind):
                    raise flaw
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"a {kind.__name__.lower()} of a sweep: {error}") from None
    return rows
