"""The table beside an instance file that holds the jobs of a log: Parquet or CSV."""

from __future__ import annotations

import gzip
import hashlib
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.errors import InputError, at_place, expect, join_places, quote, suggestion
from schedopt.instances.files import MOST_TABLE, read_bytes, write_bytes
from schedopt.instances.msfq.logs import GROUPINGS, Floats, Jobs, Labels, Names, Needs
from schedopt.instances.tables import as_csv, read_csv, read_parquet

if TYPE_CHECKING:
    import polars as pl

NEEDED = ("submit", "need", "run")
UNSURE = ("estimate", "start", "release")  # numbers that may be missing
COLUMNS = (*NEEDED, *UNSURE, *GROUPINGS, "name")
OF = "need:"  # prefix of the titles of resource columns
ENDINGS = (".parquet", ".csv", ".csv.gz", ".parquet.gz")


def check_name(name: str) -> None:
    """Raise `InputError` if a log's name has a folder or an unknown ending."""
    if name != Path(name).name or name in ("", ".", "..") or "\\" in name or "\0" in name:
        expected = "the name of a file beside this one, without a folder"
        raise InputError(expected, found=quote(name), place="log")
    expected = f"a name that ends in {', '.join(ENDINGS[:-1])} or {ENDINGS[-1]}"
    expect(name.lower().endswith(ENDINGS), expected, name, "log")


def read_jobs(path: str | Path, servers: int, digest: str | None = None) -> Jobs:
    """Read the jobs of a log on a number of servers; ``digest`` is the expected SHA-256.

    `InputError` names the first error, its place, and how often it occurs.
    """
    with at_place(file=path):
        data = read_bytes(path, MOST_TABLE)
        if digest is not None and hashlib.sha256(data).hexdigest() != digest:
            raise InputError(
                "the table that the instance was written with: convert the log again, or remove "
                "`log_digest` from the instance if the table was changed on purpose",
                found="another table",
            )
        table = _table(Path(path), data)
        _check_columns(table.columns)
        submit, need, run = (_column(table, key) for key in NEEDED)
        estimate, start, release = (
            _column(table, key) if key in table.columns else None for key in UNSURE
        )
        if release is not None:
            release = np.where(np.isnan(release), submit, release)
        more = {key.removeprefix(OF): _column(table, key) for key in table.columns if OF in key}
        needs = Needs.of(more) if more else None
        expected = f"a need of at most {servers}, all servers"
        refuse_cells(table["need"], need > servers, "row", expected)
        labels = {key: _labels(table, key) for key in GROUPINGS if key in table.columns}
        name = names_of(table["name"].cast(str)) if "name" in table.columns else None
        return Jobs(
            submit,
            need.astype(np.int32),
            run,
            estimate,
            name=name,
            needs=needs,
            start=start,
            release=release,
            **labels,
        )


def write_jobs(jobs: Jobs, path: str | Path) -> str:
    """Write jobs as a table, whole or not at all, and return the SHA-256 of the table.

    The ending of the name determines the format. The digest is of the table before compression.
    """
    name = Path(path).name
    check_name(name)
    table, sink = table_of(jobs), io.BytesIO()
    if name.lower().removesuffix(".gz").endswith(".csv"):
        sink.write(as_csv(table.columns, table.iter_rows()).encode())
    else:
        table.write_parquet(sink)
    data = sink.getvalue()
    packed = name.lower().endswith(".gz")
    write_bytes(path, gzip.compress(data, mtime=0) if packed else data)
    return hashlib.sha256(data).hexdigest()


def table_of(jobs: Jobs) -> pl.DataFrame:
    """Return jobs as a table with a row for each."""
    import polars as pl

    columns: dict[str, pl.Series] = {
        "submit": _whole("submit", jobs.submit),
        "need": pl.Series("need", jobs.need),
        "run": _whole("run", jobs.run),
    }
    if jobs.needs is not None:
        columns |= {key: pl.Series(key, of) for key, of in jobs.needs.columns().items()}
    for key in UNSURE:
        if (values := getattr(jobs, key)) is not None:
            columns[key] = _whole(key, values)
    for key in GROUPINGS:
        labels = jobs.labels(key)
        if labels is not None:
            names = pl.Series(key, [*labels.names, None], dtype=pl.String)
            columns[key] = names.gather(np.where(labels.codes < 0, len(names) - 1, labels.codes))
    if jobs.name is not None:
        columns["name"] = pl.Series("name", jobs.name.tolist(), dtype=pl.String)
    return pl.DataFrame(columns)


def _whole(name: str, values: Floats) -> pl.Series:
    """Return a column of integers if all values are, with unknown ones empty."""
    import polars as pl

    finite = np.isfinite(values)
    whole = bool(np.all((values[finite] == np.floor(values[finite])) & (values[finite] < 2**53)))
    column = pl.Series(name, values, nan_to_null=True)
    return column.cast(pl.Int64) if whole else column


def _table(path: Path, data: bytes) -> pl.DataFrame:
    if not path.name.lower().removesuffix(".gz").endswith(".csv"):
        return read_parquet(data)
    return read_csv(data, strip=False).frame()


def _check_columns(columns: Sequence[str]) -> None:
    for column in columns:
        if column not in COLUMNS and not (column.startswith(OF) and column != OF):
            hint = suggestion(column, COLUMNS) or f" ({', '.join(COLUMNS)}, {OF}NAME)"
            raise InputError(f"only columns of a log{hint}", found=quote(column), place="columns")
        if columns.count(column) > 1:
            raise InputError("each column once", found=f"{quote(column)} twice", place="columns")
    for column in NEEDED:
        if column not in columns:
            raise InputError(f"a column {column!r}", found=", ".join(columns), place="columns")


def _column(table: pl.DataFrame, key: str) -> Floats:
    column = read_numbers(table[key], "row")[0]
    if key not in UNSURE:
        refuse_cells(table[key], np.isnan(column), "row", "a number in each row")
    if key.startswith("need"):
        words = "servers" if key == "need" else key.removeprefix(OF)
        refuse_cells(table[key], column != np.floor(column), "row", f"a whole number of {words}")
    return column


UNKNOWN = ("", "unknown", "none", "n/a", "null", "nan", "unlimited", "partition_limit", "invalid")
"""Texts for unknown values in logs."""


def read_numbers(
    column: pl.Series,
    rows: str,
    read: Callable[[str], float | None] | None = None,
    expected: str = "a number",
) -> tuple[Floats, NDArray[np.bool_]]:
    """Return the numbers of a column, NaN if unknown, and a mask of the cells parsed by ``read``.

    ``read`` returns the number of a text that is not one, or None: then `InputError` names the
    cell. ``rows`` tells how rows are counted: as ``row`` from 0, or as ``line`` under the titles.
    """
    import polars as pl

    words: dict[str, float | None] = {}
    texts = column.cast(pl.String).fill_null("").str.strip_chars()
    if column.dtype == pl.String:
        numbers = texts.cast(pl.Float64, strict=False)
        others = numbers.is_null() & ~texts.str.to_lowercase().is_in(UNKNOWN)
        words = {text: read(text) if read else None for text in texts.filter(others).unique()}
        bad = [text for text, number in words.items() if number is None]
        refuse_cells(column, texts.is_in(bad).to_numpy(), rows, expected)
    elif column.dtype.is_numeric():
        numbers = column.cast(pl.Float64)
    else:
        place = join_places("columns", column.name)
        raise InputError("a column of numbers", found=str(column.dtype), place=place)
    is_word = texts.is_in(list(words)).to_numpy()
    if words:
        word_numbers = texts.replace_strict(words, default=None, return_dtype=pl.Float64)
        numbers = numbers.fill_null(word_numbers)
    return numbers.fill_null(float("nan")).to_numpy(writable=True), is_word


def refuse_cells(column: pl.Series, bad: NDArray[np.bool_], rows: str, expected: str) -> None:
    """Raise `InputError` about the first of some bad cells, with the number of the others."""
    if not bad.any():
        return
    first, more = int(bad.argmax()), int(bad.sum()) - 1
    value = column[first]
    found = "an empty cell" if value is None or value == "" else quote(value)
    found += f", and {more} more like it" * bool(more)
    place = f"{rows} {first + 2 * (rows == 'line')}, column {column.name!r}"
    raise InputError(expected, found=found, place=place)


def _labels(table: pl.DataFrame, key: str) -> Labels:
    import polars as pl

    column = table[key]
    if column.dtype.is_nested() or column.dtype in (pl.Boolean, pl.Object, pl.Binary):
        place = join_places("columns", key)
        raise InputError("a column of names", found=str(column.dtype), place=place)
    return labels_of(column.cast(pl.String))


def labels_of(texts: pl.Series) -> Labels:
    """Return texts as labels, numbered in order of appearance; empty texts are unknown."""
    import polars as pl

    texts = texts.set(texts == "", None) if (texts == "").any() else texts
    names = texts.drop_nulls().unique(maintain_order=True)
    known = pl.DataFrame({"name": names, "code": np.arange(len(names), dtype=np.int32)})
    codes = pl.DataFrame({"name": texts}).join(known, on="name", how="left", maintain_order="left")
    return Labels(codes["code"].fill_null(-1).to_numpy(writable=True), tuple(names.to_list()))


def names_of(texts: pl.Series) -> Names:
    """Return texts as an array of names."""
    return np.array(texts.fill_null("").to_list(), dtype=np.dtypes.StringDType())
