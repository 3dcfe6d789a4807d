"""Optional packages, the extras that install them, and the error when one is missing.

The base installation selects, checks and evaluates. Engines, pictures and readers import other
packages only when they run.
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
    """A package of an optional extra is not installed; the message says which extra to install.

    The attribute ``name`` is the missing package, as in every `ImportError`.
    """


def missing(package: str, place: str = "", parameter: str = "") -> MissingExtraError:
    """Return the error that says how to install a missing package."""
    extra = EXTRAS[package]
    expected = f'{OPENS[extra]}: pip install "schedopt[{extra}]"'
    error = MissingExtraError(expected, found=f"no {package}", place=place, parameter=parameter)
    error.name = package
    return error


def missing_import(error: ModuleNotFoundError) -> MissingExtraError:
    """Return the error for a failed import of an optional package; raise other errors again."""
    package = (error.name or "").partition(".")[0]
    if package not in EXTRAS:
        raise error
    return missing(package)


@contextmanager
def report_missing_extras() -> Iterator[None]:
    """Turn a failed import of an optional package in the block into a `MissingExtraError`."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise missing_import(error) from error


def version_of(package: str) -> str | None:
    """Return the installed version of a package, or None."""
    from importlib.metadata import PackageNotFoundError, version  # which takes a while

    for name in (package, f"{package}-base"):  # CVXPY without its solvers
        with suppress(PackageNotFoundError):
            return version(name)
    return None


def installed(package: str) -> bool:
    """Return True if a package is installed."""
    return find_spec(package) is not None


def require(package: str, place: str = "", parameter: str = "") -> None:
    """Raise `MissingExtraError` if a package is not installed."""
    if not installed(package):
        raise missing(package, place, parameter)
