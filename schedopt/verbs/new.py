"""New: a commented example of an instance to begin from."""

from importlib.resources import files
from pathlib import Path

from schedopt.instances.decoding import strip_comments
from schedopt.instances.errors import InputError
from schedopt.instances.files import encode, parse, write_bytes
from schedopt.problems import problem as record_of


def plugin(folder: Path) -> list[Path]:
    """Write a distribution that adds a policy into a new folder; `InputError` if it is there."""
    try:
        folder.mkdir()
    except OSError as error:
        raise InputError("a new folder", found=error.strerror, file=str(folder)) from None
    made = []
    for entry in (files("schedopt") / "templates" / "plugin").iterdir():
        made.append(folder / entry.name.removesuffix(".in"))
        write_bytes(made[-1], entry.read_bytes())
    return sorted(made)


def new(problem: str, *, comments: bool = True) -> str:
    """Return the text of a small instance file of a problem, to change into one's own.

    Parameters
    ----------
    problem : str
        Such as ``dssp``.
    comments : bool
        Whether lines that begin with ``//`` say what stands where. `load` passes over them;
        other readers of JSON may not.

    Raises
    ------
    InputError
        If there is no such problem.
    """
    text = record_of(problem).commented()
    return (text if comments else encode(parse(strip_comments(text)), indent=1)).decode()
