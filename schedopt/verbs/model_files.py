"""Files of models: a formulation as any solver of linear programs reads it."""

from __future__ import annotations

import re
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from schedopt.instances.errors import InputError
from schedopt.instances.options import Options
from schedopt.verbs.load import Rules, read_rules
from schedopt.verbs.solve import build_formulation

if TYPE_CHECKING:
    from schedopt.verbs.solve import What

ENDINGS = (".lp", ".mps")
LONGEST = 200  # characters of a label: LP files allow 255


def write(
    what: What,
    path: str | Path,
    *,
    formulation: str | None = None,
    constraints: Rules = (),
    options: Options | None = None,
) -> None:
    """Write a formulation whose model is Pyomo's as an LP or an MPS file.

    Columns and rows are called after jobs and side constraints; what the format does not allow in a
    name becomes ``_``, and a name that is taken gets a number. Numbers are the doubles next to the
    instance's decimals.

    Parameters
    ----------
    what : Instance, Formulation, str or Path
        What to write; a path is loaded.
    path : str or Path
        Ending in .lp or .mps; it is replaced at once, when all has been written.
    formulation : str, optional
        Which formulation to build from an instance; the problem's first by default.
    constraints : Constraint or path, or iterable of them
        Side constraints beyond those of the instance.
    options : mapping, optional
        The formulation's own options.

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
        expected = "a linear formulation, which LP and MPS files can hold"
        raise InputError(expected, found=model.name, parameter="formulation")
    model.add(*read_rules(constraints, model.problem, model.instance))
    try:
        with TemporaryDirectory(dir=path.absolute().parent, prefix=".schedopt-") as folder:
            file = Path(folder) / f"model{ending}"
            model.model.name = re.sub(r"[^A-Za-z0-9_.-]", "_", model.instance.name)[:LONGEST]
            model.model.write(str(file), io_options={"labeler": Labels()})
            file.replace(path)
    except OSError as error:
        raise InputError("a place to write to", found=error.strerror, file=str(path)) from None


class Labels:
    """Labels of columns and rows that LP and MPS files can hold, each given out once."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def __call__(self, component: Any) -> str:
        """Return a label that is like the component's name."""
        label = re.sub(r"[^A-Za-z0-9_.()]", "_", component.name.replace("[", "(").replace("]", ")"))
        base = label = label[:LONGEST]
        count = 1
        while label.lower() in self._taken:
            count += 1
            label = f"{base}_{count}"
        self._taken.add(label.lower())
        return label
