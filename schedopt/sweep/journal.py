"""A file of rows that survives being killed: of a bench, or of a what-if."""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, ClassVar, Generic, Protocol, TypeVar

import msgspec

from schedopt.instances.decode_errors import lost_number
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, placed, shown
from schedopt.instances.extras import need
from schedopt.instances.files import write_bytes
from schedopt.sweep.starting import HELD

SYNC = 0.5  # seconds between two waits for the disk
_BEGINNING = b'{"instance":'  # how each row begins as a line of JSON


class Keyed(Protocol):
    """A row with a key: a digest of everything it depends on."""

    @property
    def key(self) -> str:
        """The digest."""


R = TypeVar("R", bound=Keyed)
T = TypeVar("T")


class Journal(ABC, Generic[R]):
    """The rows of a sweep, each appended to a journal of JSON lines at once."""

    formats: ClassVar[tuple[str, ...]]

    def __init__(self, output: str | Path | None, keys: Sequence[str]) -> None:
        self._output = None if output is None else Path(output)
        self._order = {key: i for i, key in enumerate(keys)}
        self._rows: dict[str, R] = {}
        self._journal: IO[bytes] | None = None
        self._full = False
        self._unsafe: list[str] = []  # keys of rows since the last `fsync`
        self._safe_size, self._synced = 0, 0.0
        if self._output is not None:
            self._open(self._output)

    @abstractmethod
    def _held(self, path: Path) -> list[R]:
        """Read a file's rows, cutting off an unfinished last one."""

    @abstractmethod
    def _table(self, rows: Sequence[R], suffix: str) -> bytes:
        """Return rows as the bytes of a file with this ending."""

    @abstractmethod
    def _strange(self, rows: Sequence[R]) -> InputError:
        """Return the error for rows of another sweep."""

    def _stale(self, row: R) -> bool:
        """Tell whether a row of an earlier run is computed anew, and so left out."""
        return False

    def _open(self, output: Path) -> None:
        ending = output.suffix.lower()
        if ending not in self.formats:
            raise InputError(f"a name ending in {', '.join(self.formats)}", file=str(output))
        if ending != ".jsonl":
            need("polars", str(output))
        journal = output if ending == ".jsonl" else Path(f"{output}.journal.jsonl")
        new = not journal.exists()
        try:
            self._journal = journal.open("ab", buffering=0)
        except OSError as error:
            raise InputError(
                "a place to write to", found=error.strerror, file=str(journal)
            ) from None
        self._journal_path = journal
        HELD.add(self._journal)
        try:
            _keep_others_out(self._journal, journal)
            for path in dict.fromkeys((output, journal)):
                if path.exists():
                    self._adopt(path)
            self._safe_size = os.fstat(self._journal.fileno()).st_size
        except BaseException:
            self._journal.close()
            if new:
                journal.unlink()
            raise

    def _adopt(self, path: Path) -> None:
        """Adopt the rows of an earlier run, and cut off its unfinished line."""
        held = self._held(path)
        held = [row for row in held if not self._stale(row)]
        if strange := [row for row in held if row.key not in self._order]:
            error = self._strange(strange)
            error.file = str(path)
            raise error
        self._rows.update((row.key, row) for row in held)

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def extend(self, rows: Iterable[R]) -> None:
        """Keep rows: they are written at once, so that no killed bench loses them."""
        rows = list(rows)
        # Before they are written: an interruption just after must not make `finish` forget them.
        self._rows.update((row.key, row) for row in rows)
        if self._journal is None:
            return
        lines = b"".join(to_json(row) + b"\n" for row in rows)
        before = os.fstat(self._journal.fileno()).st_size
        self._unsafe += [row.key for row in rows]
        try:
            while lines:  # a disk that is nearly full takes a part
                lines = lines[self._journal.write(lines) :]
        except OSError as error:
            os.ftruncate(self._journal.fileno(), before)  # whole rows, or none of them
            for row in rows:
                del self._rows[row.key]
            self._unsafe = self._unsafe[: -len(rows)]
            self._sync()  # may find that the disk has still less
            raise self._no_room(error) from None
        if time.monotonic() - self._synced >= SYNC:
            self._sync()

    def _sync(self) -> None:
        """Wait until the disk has all rows; where it has not, go back to those that it has."""
        assert self._journal is not None  # noqa: S101  for type checkers
        number = self._journal.fileno()
        try:
            os.fsync(number)
        except OSError as error:
            os.ftruncate(number, self._safe_size)
            for key in self._unsafe:
                del self._rows[key]
            self._unsafe.clear()
            raise self._no_room(error) from None
        self._safe_size, self._synced = os.fstat(number).st_size, time.monotonic()
        self._unsafe.clear()

    def _no_room(self, error: OSError) -> InputError:
        self._full = True
        expected = "room to write; the rows before are safe, run again to go on"
        return InputError(expected, found=error.strerror, file=str(self._journal_path))

    def finish(self) -> list[R]:
        """Return all rows in the sweep's order, and write the output in that order."""
        if self._unsafe:
            self._sync()
        rows = sorted(self._rows.values(), key=lambda row: self._order[row.key])
        if self._output is not None and self._journal is not None:
            self._journal.close()
            beside = self._output != self._journal_path
            if self._full or (beside and len(rows) < len(self._order)):
                return rows  # not complete: the journal goes on being the place to resume from
            write_bytes(self._output, self._table(rows, self._output.suffix.lower()))
            if beside:
                self._journal_path.unlink()
        return rows


def _keep_others_out(journal: IO[bytes], path: Path) -> None:
    """Make sure that no other bench writes the same rows at the same time."""
    try:
        import fcntl
    except ImportError:  # not on this system
        return
    try:
        fcntl.flock(journal.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise InputError(
            "a file that no other bench is writing", found="one that is", file=str(path)
        ) from None


def finished(data: bytes, path: Path, what: str) -> tuple[bytes, bytes]:
    """Return the complete lines, and the unfinished row after them."""
    whole = data.rfind(b"\n") + 1
    rest = data[whole:]
    common = min(len(rest), len(_BEGINNING))
    if rest[:common] != _BEGINNING[:common] or path.stat().st_size < len(data):
        raise InputError(what, found=shown(rest), file=str(path))
    return data[:whole], rest


def rows_of(records: Iterable[Any], kind: type[T], what: str, path: Path) -> list[T]:
    """Return rows, each given as a line of JSON or as a mapping."""
    rows = []
    for number, record in enumerate(records, start=1):
        with placed(f"row {number}", path):
            try:
                if isinstance(record, bytes):
                    rows.append(msgspec.json.decode(record, type=kind))
                    if lost := lost_number(record, kind):
                        raise lost
                else:
                    rows.append(msgspec.convert(record, kind))
            except (msgspec.DecodeError, UnicodeDecodeError) as error:
                raise InputError(f"{what}: {error}") from None
    return rows
