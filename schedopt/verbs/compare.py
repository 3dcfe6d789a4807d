"""Compare: two policies instance by instance, from the rows of a bench."""

from collections.abc import Iterable
from pathlib import Path

from schedopt.analysis.pairs import Pair, compare_contenders
from schedopt.sweep.rows import Row, read_rows


def compare(rows: str | Path | Iterable[Row], a: str, b: str) -> list[Pair]:
    """Compare two policies instance by instance, as ``summary --compare A,B`` does.

    Parameters
    ----------
    rows : path, or iterable of Row
        A file that a bench wrote, or what `schedopt.bench` returns.
    a, b : str
        The policies, as `schedopt.summary` names them.

    Returns
    -------
    list of Pair
        For each problem that has both: on how many instances a is better, and its advantage with
        an interval.

    Raises
    ------
    InputError
        If one of them is not in the rows, or no instance has a score of both.
    """
    return compare_contenders(read_rows(rows) if isinstance(rows, str | Path) else rows, a, b)
