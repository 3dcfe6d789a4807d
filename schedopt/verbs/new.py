"""New: a commented example of an instance to begin from."""

from schedopt.instances.decoding import strip_comments
from schedopt.instances.files import encode, parse
from schedopt.problems import problem as record_of


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
