"""Generate: instances from nothing but a seed; new: a commented one to begin from."""

from typing import Any

from schedopt.instances.decoding import strip_comments
from schedopt.instances.errors import InputError, quote
from schedopt.instances.extras import report_missing_extras
from schedopt.instances.files import encode, parse
from schedopt.instances.options import Options, check_options
from schedopt.problems import problem as record_of


@report_missing_extras()
def generate(
    problem: str,
    generator: str | None = None,
    *,
    seed: int = 0,
    options: Options | None = None,
) -> Any:
    """Return a random instance; the same seed gives the same instance.

    Parameters
    ----------
    problem : str
        Such as ``dssp``.
    generator : str, optional
        Which generator; the problem's first by default.
    seed : int
        Not negative.
    options : mapping, optional
        The generator's options.

    Raises
    ------
    InputError
        If problem, generator or an option is not known or not right.
    """
    chosen = record_of(problem).generator(generator)
    if seed < 0:
        raise InputError("a whole number >= 0", found=quote(seed), parameter="seed")
    return chosen(seed, **check_options(options or {}, chosen.options, chosen.name))


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
