"""Packed sets of the archive: one zip file for each set, the same bytes for the same files."""

import hashlib
import re
import threading
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

from schedopt.instances.errors import InputError, quote
from schedopt.instances.naming import pick_name

LARGEST = 256 * 2**20
"""The largest file of a set that is unpacked, in bytes."""
NEVER = (1980, 1, 1, 0, 0, 0)
"""The time that a zip file gives for each of its files: it has no other meaning."""
_NAME = re.compile(r"(?:[a-z]+/)?[A-Za-z0-9][A-Za-z0-9._-]*")
_unpacking = threading.Lock()


def names(packed: Path) -> list[str]:
    """Return the names of the files of a set, in order."""
    with _opened(packed) as zipped:
        return sorted(info.filename for info in zipped.infolist())


def read(packed: Path, name: str) -> bytes:
    """Return the bytes of one file of a set; `InputError` if there is none, or it is damaged."""
    with _opened(packed) as zipped:
        pick_name(name, zipped.namelist(), f"a file of {packed.stem}")
        if zipped.getinfo(name).file_size > LARGEST:
            raise InputError(f"at most {LARGEST:,} bytes", found="more", place=name)
        return zipped.read(name)


def unpack(packed: Path, start: str) -> Path:
    """Write the files of a set whose names begin like that; return the folder of the set.

    The folder is removed when the process ends.
    """
    whole = hashlib.sha256(str(packed.resolve()).encode()).hexdigest()
    folder = Path(_folder().name) / whole[:8] / packed.stem  # archives may have equal names
    with _unpacking:
        for name in names(packed):
            if not name.startswith(start):
                continue
            if not _NAME.fullmatch(name):
                raise InputError("FILE or FOLDER/FILE", found=quote(name), file=str(packed))
            path, data = folder / name, read(packed, name)
            if not path.exists() or path.read_bytes() != data:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
    return folder


def pack(files: Mapping[str, bytes]) -> bytes:
    """Return a zip file of these files by name; it does not depend on their order, nor on time."""
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
    """Open a set; `InputError` names a damaged file."""
    try:
        with zipfile.ZipFile(packed) as zipped:
            yield zipped
    except InputError as error:
        error.file = str(packed)
        raise
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InputError("an intact zip file", found=str(error), file=str(packed)) from None
