"""Generate: instances from nothing but a seed."""

from schedopt.instances.errors import InputError, shown
from schedopt.instances.options import Options, checked
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem as record_of


def generate(
    problem: str,
    generator: str | None = None,
    *,
    seed: int = 0,
    options: Options | None = None,
) -> AnyInstance:
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
        raise InputError("a whole number >= 0", found=shown(seed), place="seed")
    made: AnyInstance = chosen(seed, **checked(options or {}, chosen.options, chosen.name))
    return made
