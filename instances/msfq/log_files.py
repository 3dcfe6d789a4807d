"""The table beside an instance file that holds a log's jobs: Parquet or CSV, read strictly."""

from __future__ import annotations

import io
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from schedopt.instances.csv_text import guarded_columns, unguarded_columns
from schedopt.instances.errors import InputError, joined, shown, suggestion
from schedopt.instances.files import read_bytes
from schedopt.instances.msfq.logs import GROUPINGS, Defect, Floats, Jobs, Labels, Names, defects
from schedopt.instances.parquet import read_parquet

if TYPE_CHECKING:
    import polars as pl

NEEDED = ("submit", "need", "run")
COLUMNS = (*NEEDED, "estimate", *GROUPINGS, "name")
ENDINGS = (".parquet", ".csv", ".csv.gz", ".parquet.gz")
MOST_BYTES = 4 * 2**30
"""No table is read beyond this: some hundred million jobs, or the end of a compressed bomb."""
_CHUNK = 2**18


def check_name(name: str) -> None:
    """Make sure that a log's name is one: no folder, and an ending that says what it is.

    Raises
    ------
    InputError
        If it is not.
    """
    if name != Path(name).name or name in ("", ".", "..") or "\\" in name or "\0" in name:
        expected = "the name of a file beside this one, without a folder"
        raise InputError(expected, found=shown(name), place="log")
    if not name.lower().endswith(ENDINGS):
        expected = f"a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
        raise InputError(expected, found=shown(name), place="log")


def read_jobs(path: str | Path, servers: int) -> Jobs:
    """Read a log's jobs: the columns submit, need, run, and those of the others that are there.

    Parameters
    ----------
    path : str or Path
        ``.parquet`` or ``.csv``, either perhaps gzipped.
    servers : int
        The machine's: no job may need more.

    Raises
    ------
    InputError
        With the file, and every kind of thing that is wrong with its jobs: how many have it, and
        which is the first, its row counted from 0.
    """
    try:
        table = _table(Path(path))
        _known(table.columns)
        submit, need, run = (_numbers(table, key) for key in NEEDED)
        estimate = _numbers(table, "estimate") if "estimate" in table.columns else None
        _refuse(list(defects(submit, need, run, estimate, servers)))
        labels = {key: _labels(table, key) for key in GROUPINGS if key in table.columns}
        name = _names(table) if "name" in table.columns else None
        return Jobs(submit, need.astype(np.int32), run, estimate, name=name, **labels)
    except InputError as error:
        error.file = error.file or str(path)
        raise


def _refuse(wrong: list[Defect]) -> None:
    if wrong:
        expected = "; ".join(dict.fromkeys(one.expected for one in wrong))
        found = "; ".join(one.words for one in wrong)
        raise InputError(f"{expected} (`schedopt convert` cleans a log)", found=found)


def write_jobs(jobs: Jobs, path: str | Path) -> None:
    """Write jobs as a table, whole or not at all; its name's ending says in which format.

    Whole numbers are written as such; the same jobs make the same file.

    Raises
    ------
    InputError
        If the name has no such ending, or nothing can be written there.
    """
    path = Path(path)
    check_name(path.name)
    _write(table_of(jobs), path)


def table_of(jobs: Jobs) -> pl.DataFrame:
    """Return jobs as a table, a row for each."""
    import polars as pl

    columns: dict[str, pl.Series] = {
        "submit": _whole("submit", jobs.submit),
        "need": pl.Series("need", jobs.need),
        "run": _whole("run", jobs.run),
    }
    if jobs.estimate is not None:
        columns["estimate"] = _whole("estimate", jobs.estimate)
    for key in GROUPINGS:
        labels = jobs.labels(key)
        if labels is not None:
            known = pl.Series(key, [*labels.names, None], dtype=pl.String)
            columns[key] = known.gather(np.where(labels.codes < 0, len(known) - 1, labels.codes))
    if jobs.name is not None:
        columns["name"] = pl.Series("name", jobs.name.tolist(), dtype=pl.String)
    return pl.DataFrame(columns)


def _write(table: pl.DataFrame, path: Path) -> None:
    import gzip

    def save(target: Path) -> None:
        plain = path.name.lower().removesuffix(".gz")
        packed = io.BytesIO()
        sink = packed if path.name.lower().endswith(".gz") else target
        if plain.endswith(".csv"):
            guarded_columns(table, _texts(table)).write_csv(sink)
        else:
            table.write_parquet(sink)
        if sink is packed:
            target.write_bytes(gzip.compress(packed.getvalue(), mtime=0))

    try:
        handle, made = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
    except OSError as error:
        raise InputError("a place to write to", found=error.strerror, file=str(path)) from None
    target = Path(made)
    try:
        save(target)
        umask = os.umask(0)
        os.umask(umask)
        target.chmod(path.stat().st_mode if path.exists() else 0o666 & ~umask)
        target.replace(path)
    except OSError as error:
        target.unlink(missing_ok=True)
        raise InputError("a place to write to", found=error.strerror, file=str(path)) from None
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _whole(name: str, values: Floats) -> pl.Series:
    """Return a column of whole numbers where all are, unknown ones left empty."""
    import polars as pl

    known = np.isfinite(values)
    whole = bool(np.all((values[known] == np.floor(values[known])) & (values[known] < 2**53)))
    column = pl.Series(name, values, nan_to_null=True)
    return column.cast(pl.Int64) if whole else column


def _table(path: Path) -> pl.DataFrame:
    """Read a table as it is; cells of a CSV that should be numbers are still texts."""
    from polars.exceptions import PolarsError

    data = read_bytes(path, MOST_BYTES)
    if not path.name.lower().removesuffix(".gz").endswith(".csv"):
        return read_parquet(data)
    try:
        return _csv(data)
    except PolarsError as error:
        raise InputError("a table in CSV", found=str(error).splitlines()[0]) from None


def _csv(data: bytes) -> pl.DataFrame:
    """Read a CSV: numbers at once where all of them are, else as texts to find what is not."""
    import polars as pl
    from polars.exceptions import PolarsError

    head = data.split(b"\n", 1)[0].decode("utf-8", "replace").strip().split(",")
    titles = [title.strip().strip('"').strip() for title in head]
    _known(titles)
    kinds = {key: pl.Float64 if key in (*NEEDED, "estimate") else pl.String for key in titles}
    body = io.BytesIO(data)
    try:
        found = pl.read_csv(body, has_header=True, new_columns=titles, schema=kinds)
    except PolarsError:
        body.seek(0)
        texts = dict.fromkeys(titles, pl.String)
        found = pl.read_csv(body, has_header=True, new_columns=titles, schema=texts)
    return unguarded_columns(found, _texts(found))


def _texts(table: pl.DataFrame) -> list[str]:
    return [key for key in (*GROUPINGS, "name") if key in table.columns]


def _known(columns: list[str]) -> None:
    """Make sure that a table has the columns it must, and none that nobody reads."""
    for column in columns:
        if column not in COLUMNS:
            hint = suggestion(column, COLUMNS) or f" ({', '.join(COLUMNS)})"
            raise InputError(f"only columns of a log{hint}", found=shown(column), place="columns")
        if columns.count(column) > 1:
            raise InputError("each column once", found=f"{shown(column)} twice", place="columns")
    for column in NEEDED:
        if column not in columns:
            raise InputError(f"a column {column!r}", found=", ".join(columns), place="columns")


def _numbers(table: pl.DataFrame, key: str) -> Floats:
    """Return a column of numbers; only an estimate may be missing, which is NaN then."""
    import polars as pl

    column = table[key]
    if column.dtype == pl.String:
        plain = column.str.strip_chars()
        numbers = plain.cast(pl.Float64, strict=False)
        bad = numbers.is_null() & plain.is_not_null() & (plain != "")
        if bad.any():
            raise _wrong(table, key, bad, "a number")
        column = numbers
    elif not column.dtype.is_numeric():
        place = joined("columns", key)
        raise InputError("a column of numbers", found=str(column.dtype), place=place)
    empty = column.is_null()
    if key != "estimate" and empty.any():
        raise _wrong(table, key, empty, "a number in each row")
    if key == "need":
        odd = column.cast(pl.Float64) != column.cast(pl.Float64).floor()
        if odd.any():
            raise _wrong(table, key, odd, "a whole number of servers")
    return column.cast(pl.Float64).fill_null(float("nan")).to_numpy(writable=True)


def _wrong(table: pl.DataFrame, key: str, bad: pl.Series, expected: str) -> InputError:
    """Say what is wrong with cells of a column, how many they are, and which is the first."""
    first = int(bad.arg_max() or 0)
    value = table[key][first]
    found = "an empty cell" if value is None or value == "" else shown(value)
    count = int(bad.sum())
    more = f", and {count - 1} more like it" if count > 1 else ""
    return InputError(expected, found=found + more, place=f"row {first}, column {key!r}")


def _labels(table: pl.DataFrame, key: str) -> Labels:
    import polars as pl

    column = table[key]
    if column.dtype.is_nested() or column.dtype in (pl.Boolean, pl.Object, pl.Binary):
        place = joined("columns", key)
        raise InputError("a column of names", found=str(column.dtype), place=place)
    return labels_of(column.cast(pl.String))


def labels_of(texts: pl.Series) -> Labels:
    """Return texts as labels, numbered in the order in which they come; empty is unknown."""
    import polars as pl

    texts = texts.set(texts == "", None) if (texts == "").any() else texts
    names = texts.drop_nulls().unique(maintain_order=True)
    known = pl.DataFrame({"name": names, "code": np.arange(len(names), dtype=np.int32)})
    codes = pl.DataFrame({"name": texts}).join(known, on="name", how="left", maintain_order="left")
    return Labels(codes["code"].fill_null(-1).to_numpy(writable=True), tuple(names.to_list()))


def _names(table: pl.DataFrame) -> Names:
    import polars as pl

    return names_of(table["name"].cast(pl.String))


def names_of(texts: pl.Series) -> Names:
    """Return texts as an array of names."""
    column = texts.fill_null("")
    kind = np.dtypes.StringDType()
    parts = range(0, len(column), _CHUNK)  # a slice at a time: objects take ten times the room
    if column.is_empty():
        return np.array([], dtype=kind)
    return np.concatenate([np.array(column[i : i + _CHUNK].to_list(), dtype=kind) for i in parts])
