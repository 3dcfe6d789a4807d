"""Tables in Parquet, of which damaged ones are bad input like any other."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError, shown

if TYPE_CHECKING:
    import polars as pl


def read_parquet(data: bytes) -> pl.DataFrame:
    """Read a table; `InputError` if it is damaged, or no Parquet at all."""
    import polars as pl
    from polars.exceptions import PanicException, PolarsError

    try:
        with _quietly():
            return pl.read_parquet(BytesIO(data))
    except (PolarsError, PanicException) as error:
        raise InputError("a table in Parquet", found=shown(str(error))) from None


@contextmanager
def _quietly() -> Iterator[None]:
    """Keep what polars says where it panics, in a trace of its own, from standard error."""
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
