"""The extras of the package, and the messages where one is missing.

The base has what selections, checking and evaluating need; everything else is imported by the
engine, the picture or the reader that uses it, and only there.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.util import find_spec

from schedopt.instances.errors import InputError

EXTRAS = {
    "ortools": "schedule",
    "cvxpy": "hesrpt",
    "clarabel": "hesrpt",
    "numba": "fast",
    "polars": "tables",
    "matplotlib": "plot",
    "distributed": "cluster",
    "pyscipopt": "scip",
    "scipy": "msfq",
}
"""The extra that brings each package which is not part of the base."""

OPENS = {
    "schedule": "schedules and epochs, by CP-SAT",
    "hesrpt": "convex programs of allocations",
    "fast": "machine code in place of Python: more than some hundred jobs, long simulations",
    "tables": "logs, Parquet, data frames, tables of rows",
    "plot": "pictures, and pages with them",
    "cluster": "a bench on many machines",
    "scip": "a second solver of mixed-integer programs",
    "msfq": "optimal policies and exact chains of queues, fitted speedups",
}
"""What each extra is for."""


class MissingExtraError(InputError, ImportError):
    """A package is not installed which an extra of schedopt brings; the message names the extra.

    The attribute ``name`` is the package's, as in every `ImportError`.
    """


def missing(package: str, place: str = "", parameter: str = "") -> MissingExtraError:
    """Return the error that says how to install a package which is not there."""
    extra = EXTRAS[package]
    expected = f'{OPENS[extra]}: pip install "schedopt[{extra}]"'
    error = MissingExtraError(expected, found=f"no {package}", place=place, parameter=parameter)
    error.name = package
    return error


def missing_import(error: ModuleNotFoundError) -> MissingExtraError:
    """Return what to install where an import failed; raise the error again if nothing helps."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    return missing(package)


@contextmanager
def naming_extras() -> Iterator[None]:
    """Raise `MissingExtraError` where an import fails of a package that an extra brings."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_import(error) from error


def version_of(package: str) -> str | None:
    """Return the version of a package, None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # which takes a while

    for name in (package, f"{package}-base"):  # CVXPY without its solvers
        with suppress(PackageNotFoundError):
            return version(name)
    return None


def installed(package: str) -> bool:
    """Tell whether a package can be imported."""
    return find_spec(package) is not None


def require(package: str, place: str = "", parameter: str = "") -> None:
    """Raise `MissingExtraError` where a package is not installed, before any work."""
    if not installed(package):
        raise missing(package, place, parameter)
