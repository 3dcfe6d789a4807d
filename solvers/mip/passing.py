"""Linear and mixed-integer models passed to HiGHS as arrays."""

from functools import cache
from typing import Any

import highspy
import numpy as np


@cache
def version() -> str:
    """Return HiGHS's version."""
    return str(highspy.Highs().version())


def load_highs(
    cost: Any,
    rows: tuple[Any, Any],
    columns: tuple[Any, Any],
    entries: tuple[Any, Any, Any],
    *,
    maximize: bool = False,
    by_rows: bool = True,
    integer: Any | None = None,
    offset: float = 0.0,
    options: dict[str, Any] | None = None,
) -> Any:
    """Return HiGHS, silent, with options and a model, ready to run.

    Rows and columns are given by lower and upper bounds; entries by starts, indices and values, row
    by row or column by column. Columns are continuous unless ``integer`` marks some by 1.
    """
    engine = highspy.Highs()
    engine.silent()
    for name, value in (options or {}).items():
        engine.setOptionValue(name, value)
    starts, indices, values = entries
    layout, sense = highspy.MatrixFormat, highspy.ObjSense
    engine.passModel(
        len(cost),
        len(rows[0]),
        len(values),
        int(layout.kRowwise if by_rows else layout.kColwise),
        int(sense.kMaximize if maximize else sense.kMinimize),
        offset,
        cost,
        *columns,
        *rows,
        starts.astype(np.int32),
        indices.astype(np.int32),
        values,
        np.zeros(len(cost), np.int32) if integer is None else integer,
    )
    return engine
