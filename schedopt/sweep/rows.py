"""Rows of a benchmark: what one is, and a file of them that survives being killed."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from io import BytesIO
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any
from weakref import WeakSet

import msgspec

from schedopt.instances.csv_text import guarded_columns, unguarded_columns
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import read_bytes, write_bytes
from schedopt.instances.parquet import read_parquet

if TYPE_CHECKING:
    import polars as pl

FORMATS = (".jsonl", ".csv", ".parquet")
NUMBERS = (
    "objective",
    "reference",
    "reference_bound",
    "gap",
    "seconds",
    "reference_seconds",
    "confidence",
)

SYNC = 0.5
"""Seconds between two waits for the disk."""

AS_JSON = ("options", "measures", "resampled")
"""What a cell of a table holds as JSON."""


class Row(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One policy on one instance, beside the reference.

    Attributes
    ----------
    instance, problem, policy : str
    objective : float or None
        What the policy got; None where it does not apply.
    reference, reference_bound : float or None
        The solver's best solution and bound.
    reference_proven : bool
        Whether the reference is the optimum.
    gap : float or None
        How far the policy falls short of the reference, as a fraction of it; None where one of
        them is missing, and where the policy breaks side constraints, since then the two are not
        answers to the same question.
    seconds, reference_seconds : float
        Time of the policy and of the reference.
    seed : int
    violations : tuple of str
        What the checker found wrong with the policy's solution.
    message : str or None
        Why a policy does not apply.
    file : str
        Where the instance is, or what it was generated from.
    reference_formulation, reference_solver : str or None
        Which formulation the reference is of, and which solver found it.
    key : str
        A digest of all that the row depends on, by which a bench knows what is done.
    options : dict
        What was given of the options that the policy or its reference knows.
    termination : str
        How the policy ended: ``completed``, ``not-applicable``, ``unstable``, or ``time-limit``
        where its process was ended since it went on beyond the time limit and the grace.
    confidence : float or None
        Where the objective was simulated: the half-width of its 95% interval.
    bound_checked : bool
        Whether the checker has re-proved the reference's bound.
    measures : dict of str to float
        What else the policy got, by name, where its problem measures more than the objective.
    resampled : tuple of float
        The objective on instances resampled from this one, the same for all policies.
    """

    instance: str
    problem: str
    policy: str
    objective: float | None
    reference: float | None
    reference_bound: float | None
    reference_proven: bool
    gap: float | None
    seconds: float
    seed: int
    violations: tuple[str, ...]
    message: str | None
    file: str
    reference_seconds: float
    key: str
    reference_formulation: str | None = None
    reference_solver: str | None = None
    options: dict[str, Any] = {}
    termination: str = "completed"
    confidence: float | None = None
    bound_checked: bool = False
    measures: dict[str, float] = {}
    resampled: tuple[float, ...] = ()


_NEEDED = [field.name for field in msgspec.structs.fields(Row) if field.required]
_BEGINNING = b'{"instance":'
"""How each row begins as a line of JSON."""


class Rows:
    """The rows of a sweep, each in the file as soon as it is known.

    While a sweep runs, its rows are appended to a journal of JSON lines: the output itself where
    that is .jsonl, else a file beside it. When it is complete the output is written anew in the
    sweep's order, whole or not at all.

    Parameters
    ----------
    output : path or None
        Where rows are kept; nowhere but in memory if None.
    keys : sequence of str
        The keys of the sweep's rows, in its order.

    Raises
    ------
    InputError
        If the output has another ending, cannot be written, or holds rows of another sweep.
    """

    def __init__(self, output: str | Path | None, keys: Sequence[str]) -> None:
        self._output = None if output is None else Path(output)
        self._order = {key: i for i, key in enumerate(keys)}
        self._rows: dict[str, Row] = {}
        self._journal: IO[bytes] | None = None
        self._full = False
        self._unsafe: list[str] = []  # keys of rows since the last `fsync`
        self._safe_size, self._synced = 0, 0.0
        if self._output is not None:
            self._open(self._output)
            _OPEN.add(self)

    def let_go(self) -> None:
        """Close the journal in a copy of this process, where its lock would outlive this one's."""
        if self._journal is not None:
            self._journal.close()

    def _open(self, output: Path) -> None:
        if output.suffix not in FORMATS:
            raise InputError(f"a name ending in {', '.join(FORMATS)}", file=str(output))
        journal = output if output.suffix == ".jsonl" else Path(f"{output}.journal.jsonl")
        new = not journal.exists()
        try:
            self._journal = journal.open("ab", buffering=0)
        except OSError as error:
            raise InputError(
                "a place to write to", found=error.strerror, file=str(journal)
            ) from None
        self._journal_path = journal
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
        """Take over the rows of an earlier run, and cut off a line that it did not finish."""
        for row in read_rows(path, cut=True):
            if row.key not in self._order:
                raise InputError(
                    "rows of this very bench; choose another output, or remove that file",
                    found=f"{row.policy} on {row.instance} with other options or contents",
                    file=str(path),
                )
            self._rows[row.key] = row

    def __contains__(self, key: str) -> bool:
        return key in self._rows

    def extend(self, rows: Iterable[Row]) -> None:
        """Keep rows; when this returns, no end of this process loses them.

        They are written at once, so that a killed bench has them. The disk itself is waited for
        every `SYNC` seconds: where the machine's power fails, the rows since then are redone.

        Raises
        ------
        InputError
            If the disk takes no more; what was written before stays valid.
        """
        rows = list(rows)
        # Before they are written: an interruption just after must not make `finish` forget them.
        self._rows.update((row.key, row) for row in rows)
        if self._journal is None:
            return
        lines = b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
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

    def finish(self) -> list[Row]:
        """Return all rows in the sweep's order, and write the output in that order."""
        if self._unsafe:
            self._sync()
        rows = sorted(self._rows.values(), key=lambda row: self._order[row.key])
        if self._output is not None and self._journal is not None:
            self._journal.close()
            beside = self._output != self._journal_path
            if self._full or (beside and len(rows) < len(self._order)):
                return rows  # not complete: the journal goes on being the place to resume from
            write_bytes(self._output, table(rows, self._output.suffix))
            if beside:
                self._journal_path.unlink()
        return rows


_OPEN: WeakSet[Rows] = WeakSet()


def _let_go() -> None:
    for rows in list(_OPEN):
        rows.let_go()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_let_go)


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


def table(rows: Sequence[Row], suffix: str) -> bytes:
    """Return rows as the text or bytes of a .jsonl, .csv or .parquet file."""
    if suffix == ".jsonl":
        return b"".join(msgspec.json.encode(row) + b"\n" for row in rows)
    import polars as pl

    records = [msgspec.to_builtins(row) for row in rows]
    for record in records:  # a column has one type: options as JSON, since each has its own
        for key in AS_JSON:
            record[key] = msgspec.json.encode(record[key]).decode()
    schema: dict[str, Any] = dict.fromkeys(Row.__struct_fields__, pl.String)
    schema |= dict.fromkeys(NUMBERS, pl.Float64)
    schema |= {
        "reference_proven": pl.Boolean,
        "bound_checked": pl.Boolean,
        "seed": pl.Int64,
        "violations": pl.List(pl.String),
    }
    buffer = BytesIO()
    if suffix == ".parquet":
        pl.DataFrame(records, schema=schema).write_parquet(buffer)
    else:  # a cell of a CSV holds text: the list as JSON
        for record in records:
            record["violations"] = msgspec.json.encode(record["violations"]).decode()
        plain = pl.DataFrame(records, schema=schema | {"violations": pl.String})
        texts = [name for name in plain.columns if plain[name].dtype == pl.String]
        guarded_columns(plain, texts).write_csv(buffer)
    return buffer.getvalue()


def read_rows(path: str | Path, *, cut: bool = False) -> list[Row]:
    """Read the rows of a .jsonl, .csv or .parquet file that a bench wrote.

    Parameters
    ----------
    path : path
        The file.
    cut : bool
        Cut off a last line that has no end: what a killed bench leaves.

    Raises
    ------
    InputError
        If the file does not hold rows.
    """
    path = Path(path)
    data, rest = read_bytes(path), b""
    if path.suffix == ".jsonl":
        if cut:
            data, rest = _finished(data, path)
        records: Iterable[Any] = data.splitlines()
    else:
        records = _records(path, data)
    rows = []
    for number, record in enumerate(records, start=1):
        try:
            if isinstance(record, bytes):
                rows.append(msgspec.json.decode(record, type=Row))
            else:
                rows.append(msgspec.convert(record, Row))
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"a row of a bench: {error}", place=f"row {number}", file=str(path)
            ) from None
    if rest:
        os.truncate(path, path.stat().st_size - len(rest))
    return rows


def _finished(data: bytes, path: Path) -> tuple[bytes, bytes]:
    """Return the lines that have an end, and what is left: the beginning of a row."""
    whole = data.rfind(b"\n") + 1
    rest = data[whole:]
    common = min(len(rest), len(_BEGINNING))
    if rest[:common] != _BEGINNING[:common] or path.stat().st_size < len(data):
        raise InputError("rows of a bench", found=shown(rest), file=str(path))
    return data[:whole], rest


def _records(path: Path, data: bytes) -> list[dict[str, Any]]:
    import polars as pl

    try:
        found = read_parquet(data) if path.suffix == ".parquet" else _cells(data)
        records = _of_rows(found).to_dicts() if data else []
        for record in records:
            if isinstance(record["violations"], str):
                record["violations"] = msgspec.json.decode(record["violations"])
            for key in AS_JSON:
                if key in record:  # files of earlier releases have none
                    record[key] = msgspec.json.decode(record[key])
    except InputError as error:
        raise InputError("rows of a bench", found=error.found, file=str(path)) from None
    except (pl.exceptions.PolarsError, msgspec.DecodeError, TypeError) as error:
        reason = shown(str(error))
        raise InputError("rows of a bench", found=reason, file=str(path)) from None
    return records


def _of_rows(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table that has the columns of rows; it may have no row."""
    missing = [name for name in _NEEDED if name not in table.columns]
    if missing:
        raise InputError("the columns of rows", found=f"no {missing[0]!r}")
    return table


def _cells(data: bytes) -> pl.DataFrame:
    """Read the cells of a CSV, each column with its type."""
    import polars as pl

    schema: dict[str, Any] = dict.fromkeys(Row.__struct_fields__, pl.String)
    schema |= dict.fromkeys(NUMBERS, pl.Float64)
    schema |= {"reference_proven": pl.Boolean, "bound_checked": pl.Boolean, "seed": pl.Int64}
    found = pl.read_csv(BytesIO(data), schema_overrides=schema) if data else pl.DataFrame()
    texts = [name for name in found.columns if schema.get(name) == pl.String]
    return unguarded_columns(found, texts)
