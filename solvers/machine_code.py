"""Kernels in numba: the clock of limits stands still while it compiles, and code is kept.

numba keeps compiled code beside a module and compiles anew when that file changes; it does not
notice a change in a kernel that another file's kernels call. Here the code is kept in the user's
cache folder (or `NUMBA_CACHE_DIR`) under a digest of all that it is compiled from: it is never out
of date, and another clone finds it. Each file ends in a digest of its contents: a damaged file is
compiled anew.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from types import FunctionType
from typing import Any, Self

import numba
from numba.core import caching, event
from numba.core.types import unliteral

from schedopt.solvers.clock import compiling
from schedopt.solvers.kernel_store import OURS, cache_folder

INSIDE = {"cache": False, "no_cpython_wrapper": True}
"""Options of numba for a kernel that other kernels alone call: it is kept as part of them."""


def dispatcher(function: FunctionType, options: Mapping[str, Any], inside: bool = False) -> Any:
    """Return a kernel as numba dispatches it: to Python, or (``inside``) to other kernels alone.

    numba would make a version of it for each constant that another kernel hands it: not here.
    """
    all_options = {**options, "no_cfunc_wrapper": True, **(INSIDE if inside else {})}
    compiled = numba.njit(**all_options)(function)
    cache = getattr(compiled, "_cache", None)
    if isinstance(cache, caching.FunctionCache):
        cache._cache_file = _CheckedCacheFile(cache)
    template = getattr(compiled, "get_call_template", None)
    if template is not None:  # None under NUMBA_DISABLE_JIT

        def of_any_constant(args: Iterable[object], names: Mapping[str, object]) -> object:
            types = {name: unliteral(of) for name, of in names.items()}
            return template(tuple(map(unliteral, args)), types)

        compiled.get_call_template = of_any_constant
    return compiled


_CacheFile = caching.IndexDataCacheFile


class _CheckedCacheFile(_CacheFile):
    """The index and the code of a kernel on disk; a damaged file is treated as a missing one."""

    def __init__(self, cache: Any) -> None:
        stamp = cache._impl.locator.get_source_stamp()
        _CacheFile.__init__(self, cache.cache_path, cache._impl.filename_base, stamp)

    def save(self, key: object, data: object) -> None:
        """Save compiled code; a kernel that cannot be saved is compiled again next time."""
        with suppress(OSError):
            _CacheFile.save(self, key, data)

    def _load_index(self) -> Any:
        return _CacheFile._load_index(self) if _is_intact(Path(self._index_path)) else {}

    def _load_data(self, name: str) -> Any:
        if not _is_intact(Path(self._cache_path, name)):
            raise FileNotFoundError(name)  # which numba takes for no entry
        return _CacheFile._load_data(self, name)

    @contextmanager
    def _open_for_write(self, filepath: str) -> Iterator[BytesIO]:
        contents = BytesIO()
        yield contents
        stored = contents.getvalue()
        with _CacheFile._open_for_write(self, filepath) as file:
            file.write(stored + sha256(stored).digest())  # unpickling ignores what follows


def _is_intact(path: Path) -> bool:
    """Return True if a file ends in the digest of all that stands before it."""
    try:
        stored = path.read_bytes()
    except OSError:
        return False
    size = sha256().digest_size
    return sha256(stored[:-size]).digest() == stored[-size:]


class _KernelLocator(caching._CacheLocator):
    """Where numba keeps a kernel of ours; other packages' functions stay where numba has them."""

    def __init__(self, function: FunctionType) -> None:
        self._path = cache_folder(function)
        self._line = function.__code__.co_firstlineno
        self._py_file = function.__code__.co_filename  # numba tells what it could not store

    def get_cache_path(self) -> str:
        return str(self._path)

    def ensure_cache_path(self) -> None:
        with suppress(OSError):  # saving fails then, and does no harm
            caching._CacheLocator.ensure_cache_path(self)

    def get_source_stamp(self) -> str:
        return ""  # the folder's name tells the sources apart

    def get_disambiguator(self) -> str:
        return str(self._line)

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> Self | None:
        """Return a locator; None where the function is not ours, or nothing can be written."""
        if function.__module__.partition(".")[0] != OURS or not Path(file).exists():
            return None
        found = cls(function)
        try:
            found._path.mkdir(parents=True, exist_ok=True)
        except OSError:
            return None
        return found if os.access(found._path, os.W_OK) else None


class _ClockPause(event.Listener):
    """Holds the clock of time limits while numba compiles, loads or stores."""

    def on_start(self, event: object) -> None:
        compiling.start()

    def on_end(self, event: object) -> None:
        compiling.stop()


class _CompilingNotice(event.Listener):
    """Says that something is compiled, which is not in the cache."""

    def on_start(self, event: object) -> None:
        compiling.note_compiling()

    def on_end(self, event: object) -> None:
        pass


_locators: list[Any] = caching.FunctionCache._impl_class._locator_classes
_locators.insert(0, _KernelLocator)
event.register("numba:compiler_lock", _ClockPause())
event.register("numba:compile", _CompilingNotice())
