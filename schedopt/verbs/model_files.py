"""Model files: writes a formulation as LP or MPS, for any solver."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError
from schedopt.instances.options import Options
from schedopt.verbs.load import Rules, read_rules
from schedopt.verbs.solve import build_formulation

if TYPE_CHECKING:
    from schedopt.verbs.solve import What

ENDINGS = (".lp", ".mps")
LONGEST = 200  # most characters of a label; LP files allow 255


def write(
    what: What,
    path: str | Path,
    *,
    formulation: str | None = None,
    constraints: Rules = (),
    options: Options | None = None,
) -> None:
    """Write a formulation in Pyomo as an LP or an MPS file.

    Columns and rows have the names of jobs and side constraints. Characters that the format does
    not allow become ``_``, and repeated names get a number. Numbers are rounded to doubles.

    Parameters
    ----------
    what : Instance, Formulation, str or Path
        An instance, a formulation, or a file, which is loaded.
    path : str or Path
        The file, which ends in .lp or .mps; it is written atomically.
    formulation : str, optional
        The name of the formulation to build; by default the first of the problem.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond those of the instance.
    options : mapping, optional
        Options of the formulation.

    Raises
    ------
    InputError
        If the formulation is not linear, or the file cannot be written.
    """
    path = Path(path)
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        expected = f"a name ending in {', '.join(ENDINGS)}"
        raise InputError(expected, found=repr(path.name), file=str(path))
    model = build_formulation(what, formulation, options)
    if model.engine != "pyomo":
        expected = "a linear formulation"
        raise InputError(expected, found=model.name, parameter="formulation")
    model.add(*read_rules(constraints, model.problem, model.instance))
    from pyomo.core.base.label import LPFileLabeler, ShortNameLabeler

    labeler = ShortNameLabeler(LONGEST, "_", labeler=LPFileLabeler(), caseInsensitive=True)
    try:
        with TemporaryDirectory(dir=path.absolute().parent, prefix=".schedopt-") as folder:
            file = Path(folder) / f"model{ending}"
            model.model.name = re.sub(r"[^A-Za-z0-9_.-]", "_", model.instance.name)[:LONGEST]
            model.model.write(str(file), io_options={"labeler": labeler})
            file.replace(path)
    except OSError as error:
        raise InputError("a writable file", found=error.strerror, file=str(path)) from None
