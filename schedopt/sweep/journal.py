"""A file of rows that survives being killed: of a bench, or of a what-if."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec

from schedopt.instances.decode_errors import flaw_of
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.extras import need
from schedopt.instances.files import read_bytes, write_bytes

LINES = ".jsonl"  # the ending of a journal
_BEGINNING = b'{"instance":'  # how each row begins as a line of JSON

T = TypeVar("T")


class Journal:
    """The rows of a sweep, each appended to a file of JSON lines at once.

    Parameters
    ----------
    output : path, optional
        Rows that it holds are kept. Where it is no file of JSON lines, rows are appended to one
        beside it until all are there.
    keys : sequence of str
        Those of the sweep's rows, in order: a digest of all that a row depends on.
    read, table : callable
        Read the rows of a file, with an unfinished last one cut off; return rows as the bytes of a
        file with an ending.
    """

    def __init__(
        self,
        output: str | Path | None,
        keys: Sequence[str],
        read: Callable[..., list[Any]],
        table: Callable[[Sequence[Any], str], bytes],
    ) -> None:
        self._order = {key: i for i, key in enumerate(keys)}
        self._rows: dict[str, Any] = {}
        self._read, self._table = read, table
        self._file: IO[bytes] | None = None
        self._full = False
        if output is not None:
            self._open(Path(output))

    def _open(self, output: Path) -> None:
        self._output = output
        lines = output.suffix.lower() == LINES
        if not lines:
            need("polars", str(output))
        self._path = output if lines else Path(f"{output}.journal{LINES}")
        new = not self._path.exists()
        try:
            self._file = self._path.open("ab", buffering=0)
        except OSError as error:
            expected = "a place to write to"
            raise InputError(expected, found=error.strerror, file=str(self._path)) from None
        try:
            _keep_others_out(self._file, self._path)
            for path in dict.fromkeys((output, self._path)):
                if path.exists():
                    self._adopt(path)
        except BaseException:
            self._file.close()
            if new:
                self._path.unlink()
            raise

    def _adopt(self, path: Path) -> None:
        """Adopt the rows of an earlier run, and cut off its unfinished line."""
        rows = self._read(path, cut=True)
        if strange := [row for row in rows if row.key not in self._order]:
            expected = "rows of this very sweep; choose another output, or remove that file"
            found = f"{len(strange)} with other options or contents"
            raise InputError(expected, found=found, file=str(path))
        self._rows.update((row.key, row) for row in rows)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def extend(self, rows: Iterable[Any]) -> None:
        """Keep rows: they are written at once, so that no killed sweep loses them."""
        rows = list(rows)
        # Before they are written: an interruption just after must not make `finish` forget them.
        self._rows.update((row.key, row) for row in rows)
        if self._file is None:
            return
        lines = b"".join(to_json(row) + b"\n" for row in rows)
        before = os.fstat(self._file.fileno()).st_size
        try:
            while lines:  # a disk that is nearly full takes a part
                lines = lines[self._file.write(lines) :]
        except OSError as error:
            os.ftruncate(self._file.fileno(), before)  # whole rows, or none of them
            for row in rows:
                del self._rows[row.key]
            self._full = True
            expected = "room to write; the rows before are safe, run again to go on"
            raise InputError(expected, found=error.strerror, file=str(self._path)) from None

    def finish(self) -> list[Any]:
        """Return all rows in the sweep's order, and write the output in that order."""
        rows = sorted(self._rows.values(), key=lambda row: self._order[row.key])
        if self._file is not None:
            self._file.close()
            beside = self._output != self._path
            if self._full or (beside and len(rows) < len(self._order)):
                return rows  # not complete: the journal goes on being the place to resume from
            write_bytes(self._output, self._table(rows, self._output.suffix.lower()))
            if beside:
                self._path.unlink()
        return rows


def _keep_others_out(journal: IO[bytes], path: Path) -> None:
    """Make sure that no other sweep writes the same rows at the same time."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(journal.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        expected = "a file that no other bench is writing"
        raise InputError(expected, found="one that is", file=str(path)) from None


def read_lines(path: Path, kind: type[T], what: str, *, cut: bool) -> list[T]:
    """Read rows of JSON lines; ``cut``: whether to cut off one that a kill left unfinished."""
    data = read_bytes(path)
    if not cut:
        return rows_of(data.splitlines(), kind, f"a row of {what}", path)
    whole = data.rfind(b"\n") + 1
    rest = data[whole:]
    common = min(len(rest), len(_BEGINNING))
    if rest[:common] != _BEGINNING[:common] or path.stat().st_size < len(data):
        raise InputError(f"rows of {what}", found=shown(rest), file=str(path))
    rows = rows_of(data[:whole].splitlines(), kind, f"a row of {what}", path)
    if rest:
        os.truncate(path, path.stat().st_size - len(rest))
    return rows


def rows_of(records: Iterable[object], kind: type[T], what: str, path: Path) -> list[T]:
    """Return rows, each given as a line of JSON or as a mapping."""
    rows = []
    for number, record in enumerate(records, start=1):
        with placed(f"row {number}", path):
            try:
                if isinstance(record, bytes):
                    rows.append(msgspec.json.decode(record, type=kind))
                    if flaw := flaw_of(record, kind):
                        raise flaw
                else:
                    rows.append(msgspec.convert(record, kind))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"{what}: {error}") from None
    return rows
