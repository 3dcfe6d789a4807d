"""Policies in a Python file of the user, which can be named like the others.

Workers of a benchmark receive the text of the file, so they need neither the file nor its folder.
Other modules that the file imports must be installed where it runs.
"""

import hashlib
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from schedopt.instances.errors import InputError, quote
from schedopt.instances.files import PROBLEMS, read_bytes
from schedopt.policies import registry
from schedopt.policies.registry import NotApplicableError, Policy


@dataclass(frozen=True)
class PolicyFile:
    """A Python file that registers policies: its path, for messages, and its text."""

    path: str
    text: str

    @cached_property
    def digest(self) -> str:
        """A digest of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()[:20]


_LOADED: dict[str, tuple[PolicyFile, tuple[Policy, ...]]] = {}
"""The policies that each file has registered, by path."""


def read(path: str | Path) -> PolicyFile:
    """Read a file of policies without running it; `InputError` if it is not valid Python."""
    if Path(path).suffix != ".py":
        raise InputError("a Python file, .py", file=str(path))
    data = read_bytes(path)
    try:
        return PolicyFile(str(path), data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise InputError("text in UTF-8", found="bytes that are not", file=str(path)) from None


def load(file: PolicyFile) -> tuple[Policy, ...]:
    """Run a file of policies, unless it has run, and return the policies that it registers.

    If the file has changed since, its earlier policies are replaced. `InputError` names the line
    that fails, or says that the file registers no policy.
    """
    if file.path in _LOADED:
        loaded, registered = _LOADED[file.path]
        if loaded.text == file.text:
            return registered
        _unload(file.path)
    for problem in PROBLEMS:
        registry.registered(problem)  # the house's own come first
    new = _registered_by(file)
    own = tuple(replace(policy, run=_with_located_errors(policy.run, file.path)) for policy in new)
    _forget(new)
    for policy in own:
        registry.register(policy)
    _LOADED[file.path] = (file, own)
    return own


def _registered_by(file: PolicyFile) -> list[Policy]:
    """Run a file and return the policies that it registers; if it fails, none stays registered."""
    before = {id(policy) for policy in registry.all_policies()}
    try:
        _run(file)
    except BaseException:
        _forget(policy for policy in registry.all_policies() if id(policy) not in before)
        raise
    new = [policy for policy in registry.all_policies() if id(policy) not in before]
    if not new:
        expected = "policies: a decorator such as @selector, or policies.registry.register"
        raise InputError(expected, found="none", file=file.path)
    return new


def digests_of(policy: str, problem: str) -> list[str]:
    """Return the digests of the files that register a policy or a part of it, as in ``mine+lcpf``.

    Empty for policies of the problem's own.
    """
    parts = {policy, *policy.split("+")}
    return [
        file.digest
        for file, own in _LOADED.values()
        if any(one.problem == problem and one.name in parts for one in own)
    ]


def load_only(files: Iterable[PolicyFile]) -> None:
    """Remove the policies of all other files, in processes that run one benchmark after another."""
    kept = {file.path for file in files}
    for path in [path for path in _LOADED if path not in kept]:
        _unload(path)


def _unload(path: str) -> None:
    _forget(_LOADED.pop(path)[1])


def _forget(policies: Iterable[Policy]) -> None:
    for policy in list(policies):
        registry.forget(policy)


def _run(file: PolicyFile) -> None:
    module = ModuleType(f"policy_file_{file.digest}")
    module.__file__ = file.path
    sys.modules[module.__name__] = module
    try:
        exec(compile(file.text, file.path, "exec", dont_inherit=True), vars(module))  # noqa: S102
    except SyntaxError as error:
        place = f"line {error.lineno}" if error.filename == file.path else ""
        raise InputError(
            "Python", found=f"a syntax error: {error.msg}", place=place, file=file.path
        ) from error
    except (Exception, SystemExit) as error:
        raise _located_error("Python that runs", error, file.path) from error


def _with_located_errors(run: Callable[..., Any], path: str) -> Callable[..., Any]:
    @wraps(run)
    def guarded(*args: Any, **options: Any) -> Any:
        try:
            return run(*args, **options)
        except (InputError, NotApplicableError):
            raise
        except (Exception, SystemExit) as error:
            raise _located_error("a policy that returns a solution", error, path) from error

    return guarded


def _located_error(expected: str, error: BaseException, path: str) -> InputError:
    """Return an error with the last line of the file that led to it."""
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == path
    ]
    text = f"{type(error).__name__}: {quote(str(error))}" if str(error) else type(error).__name__
    return InputError(expected, found=text, place=f"line {lines[-1]}" if lines else "", file=path)
