"""Write an instance or a result to a file."""

from pathlib import Path

from schedopt.instances import files
from schedopt.instances.protocol import AnyInstance
from schedopt.solvers.result import Result


def dump(record: AnyInstance | Result, path: str | Path, *, indent: int = 0) -> None:
    """Write an instance or a result as JSON, whole or not at all.

    Parameters
    ----------
    record : Instance or Result
    path : str or Path
        Compressed where it ends in ``.gz``.
    indent : int
        Spaces a level; 0 puts all on one line.

    Raises
    ------
    InputError
        If the place cannot be written to.
    """
    content = record.written() if isinstance(record, Result) else record
    files.dump(content, path, indent=indent)
