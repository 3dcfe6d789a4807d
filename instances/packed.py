"""Zip files of the archive; packing the same files gives the same bytes."""

import hashlib
import threading
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from schedopt.instances.errors import InputError
from schedopt.instances.naming import pick_name

NEVER = (1980, 1, 1, 0, 0, 0)
"""The time that a zip file gives for each of its files: it has no other meaning."""
_unpacking = threading.Lock()


def names(packed: Path) -> list[str]:
    """Return the sorted names of the files in a zip file."""
    with _opened(packed) as zipped:
        return sorted(info.filename for info in zipped.infolist())


def read(packed: Path, name: str) -> bytes:
    """Return the contents of one file in a zip file; `InputError` if it is missing or damaged."""
    with _opened(packed) as zipped:
        pick_name(name, zipped.namelist(), f"a file of {packed.stem}")
        return zipped.read(name)


def unpack(packed: Path, start: str) -> Path:
    """Unpack files whose names begin with ``start`` into a temporary folder; return the folder.

    The folder is removed when the process ends.
    """
    whole = hashlib.sha256(str(packed.resolve()).encode()).hexdigest()
    folder = Path(_folder().name) / whole[:8] / packed.stem  # archives may have equal names
    with _unpacking, _opened(packed) as zipped:
        for name in zipped.namelist():
            if name.startswith(start) and not (folder / name).exists():
                zipped.extract(name, folder)
    return folder


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file of the given files, independent of their order and of the time."""
    packed = BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as zipped:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, NEVER)
            info.create_system, info.external_attr = 3, 0o644 << 16  # as on Unix, wherever it is
            zipped.writestr(info, files[name], zipfile.ZIP_DEFLATED)
    return packed.getvalue()


@cache
def _folder() -> "TemporaryDirectory[str]":
    return TemporaryDirectory(prefix="schedopt-archive-")


@contextmanager
def _opened(packed: Path) -> Iterator[zipfile.ZipFile]:
    """Open a zip file; `InputError` if it is damaged."""
    try:
        with zipfile.ZipFile(packed) as zipped:
            yield zipped
    except InputError as error:
        error.file = str(packed)
        raise
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InputError("an intact zip file", found=str(error), file=str(packed)) from None
