"""The records of the problems, by name."""

from functools import cache
from importlib import import_module

from schedopt.instances import errors  # not its names: a row may be called as one of them
from schedopt.instances.files import PROBLEMS, module_path
from schedopt.instances.protocol import AnyInstance, problem_name
from schedopt.problems.record import Problem

__all__ = ["Problem", "problem", "problem_of", "problems"]


@cache
def problem(name: str) -> Problem:
    """Return the record of a problem; `InputError` if there is none."""
    record: Problem = import_module(
        module_path("problems", errors.pick_name(name, PROBLEMS, "a problem"))
    ).RECORD
    return record


def problem_of(instance: AnyInstance) -> Problem:
    """Return the record of an instance's problem."""
    return problem(problem_name(instance))


def problems() -> list[Problem]:
    """Return the records of all problems, in the order in which they are listed."""
    return [problem(name) for name in PROBLEMS]
