"""Tables in Parquet, of which damaged ones are bad input like any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.instances.files import check_rows

if TYPE_CHECKING:
    import polars as pl


def read_parquet(data: bytes, cell: int = 8) -> pl.DataFrame:
    """Read a table of cells of so many bytes; `InputError` if it is damaged or too large."""
    need("polars")
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        with _quietly():
            columns = len(pl.read_parquet_schema(BytesIO(data)))
            rows = pl.scan_parquet(BytesIO(data)).select(pl.len()).collect().item()
            check_rows(rows, max(1, columns) * cell)
            table = pl.read_parquet(BytesIO(data))
        texts = [name for name, kind in table.schema.items() if kind == pl.String]
        check_rows(sum(int(table[name].str.len_bytes().sum()) for name in texts), 1)
    except (PolarsError, PanicException) as error:
        raise InputError("a table in Parquet", found=shown(str(error))) from None
    return table


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep the trace of a panic in polars from standard error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
