"""The archive as one file: packed for a release, fetched and verified where only the package is."""

import os
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from stat import S_ISLNK
from tempfile import TemporaryDirectory
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import urlopen
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile, ZipInfo

from schedopt.archive.judging import Verdict
from schedopt.instances.archived import PLACE, fetched_home, home
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import MOST_BYTES, write_bytes
from schedopt.solvers.stopping import finishing
from schedopt.verbs.archive import verified

WAIT = 60.0  # seconds without a byte after which a server is given up

_MEMBER = re.compile(
    r"README\.md|[\w-]+/(?:entries\.jsonl|group\.json|known\.csv"
    r"|(?:instances|results|starts|swf)/\w[\w.-]{0,199})"
)


def pack(target: Path) -> None:
    """Write the archive as one file; the same archive is the same file."""
    packed, folder = BytesIO(), home()
    with ZipFile(packed, "w", ZIP_DEFLATED) as file:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            name = path.relative_to(folder).as_posix()
            if _MEMBER.fullmatch(name):
                file.writestr(ZipInfo(name), path.read_bytes(), ZIP_DEFLATED)
    target.parent.mkdir(parents=True, exist_ok=True)
    write_bytes(target, packed.getvalue())


def fetch(
    source: str, watch: Callable[[int, int], None] | None = None
) -> tuple[Path, list[Verdict]]:
    """Install an archive, of a file or an https address, if all of it holds; return verdicts."""
    data, target = _read(source), fetched_home()
    target.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=target.parent) as scratch:
        folder = Path(scratch, "archive")
        _unpack(data, folder, source)
        with _at(folder):
            verdicts = list(verified((), watch))
        if not verdicts:
            raise InputError("an archive with entries", found="none", file=source)
        if not any(verdict.wrong for verdict in verdicts):
            with finishing():  # or there would be none
                if target.exists():
                    target.rename(Path(scratch, "before"))
                folder.rename(target)
    return target, verdicts


def _read(source: str) -> bytes:
    """Return the bytes of a file or of an address, no more than a file may have."""
    try:
        if "://" not in source:
            with Path(source).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
        elif urlsplit(source).scheme == "https":
            with urlopen(source, timeout=WAIT) as answer:  # noqa: S310  https alone
                data = answer.read(MOST_BYTES + 1)
        else:
            raise InputError("a file, or an address that begins with https://", found=shown(source))
    except (URLError, OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        found = getattr(error, "strerror", None) or str(error)
        raise InputError("an archive to read", found=found, file=source) from None
    if len(data) > MOST_BYTES:
        raise InputError(f"at most {MOST_BYTES // 2**20} MiB", found="more", file=source)
    return data


def _unpack(data: bytes, folder: Path, source: str) -> None:
    """Unpack an archive, of which nothing leads out of the folder, nor is too large."""
    try:
        with ZipFile(BytesIO(data)) as file:
            members = file.infolist()
            names = [member.filename for member in members]
            for member in members:
                if not _MEMBER.fullmatch(member.filename) or S_ISLNK(member.external_attr >> 16):
                    found = shown(member.filename)
                    raise InputError("the files of an archive", found=found, file=source)
            if twice := next((name for name, n in Counter(names).items() if n > 1), None):
                raise InputError("each file once", found=f"{shown(twice)} twice", file=source)
            if sum(member.file_size for member in members) > MOST_BYTES:
                raise InputError(f"at most {MOST_BYTES // 2**20} MiB", found="more", file=source)
            file.extractall(folder)
    except (BadZipFile, RuntimeError, EOFError, OSError, zlib.error) as error:
        raise InputError("an archive as a release has it", found=str(error), file=source) from None


@contextmanager
def _at(folder: Path) -> Iterator[None]:
    """Make `archive:` mean a folder."""
    before = os.environ.get(PLACE)
    os.environ[PLACE] = str(folder)
    try:
        yield
    finally:
        os.environ.pop(PLACE)
        if before is not None:
            os.environ[PLACE] = before
