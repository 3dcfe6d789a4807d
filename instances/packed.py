"""Zip files of the archive; packing the same files gives the same bytes."""

import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

from schedopt.instances.errors import InputError, pick_name

NEVER = (1980, 1, 1, 0, 0, 0)  # the time of each file in a zip file


def names(packed: Path) -> list[str]:
    """Return the sorted names of the files in a zip file."""
    with _opened(packed) as zipped:
        return sorted(info.filename for info in zipped.infolist())


def read(packed: Path, name: str) -> bytes:
    """Return the contents of one file in a zip file; `InputError` if it is missing or damaged."""
    with _opened(packed) as zipped:
        pick_name(name, zipped.namelist(), f"a file of {packed.stem}")
        return zipped.read(name)


@cache
def unpack(packed: Path, start: str) -> Path:
    """Unpack files whose names begin with ``start`` into a folder, until the process ends."""
    folder = Path(mkdtemp(dir=_folder().name))
    with _opened(packed) as zipped:
        zipped.extractall(folder, [name for name in zipped.namelist() if name.startswith(start)])
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
