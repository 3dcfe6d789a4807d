"""The verbs generate and new: random instances, and small files to start from."""

from typing import Any

from schedopt.instances.encoding import strip_comments
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
        The name of a problem, such as ``dssp``.
    generator : str, optional
        The name of a generator; by default the first of the problem.
    seed : int
        The random seed, at least 0.
    options : mapping, optional
        Options of the generator.

    Raises
    ------
    InputError
        If the problem, the generator or an option is unknown or not valid.
    """
    chosen = record_of(problem).generator(generator)
    if seed < 0:
        raise InputError("a whole number >= 0", found=quote(seed), parameter="seed")
    return chosen(seed, **check_options(options or {}, chosen.options, chosen.name))


def new(problem: str, *, comments: bool = True) -> str:
    """Return the text of a small instance file of a problem, as a start for one's own.

    Parameters
    ----------
    problem : str
        The name of a problem, such as ``dssp``.
    comments : bool
        Whether to explain the fields in lines that begin with ``//``. `load` ignores them; other
        readers of JSON may not.

    Raises
    ------
    InputError
        If there is no such problem.
    """
    text = record_of(problem).commented()
    return (text if comments else encode(parse(strip_comments(text)), indent=1)).decode()
