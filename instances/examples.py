"""Bundled examples and archived instances by name, and the zip files of the archive.

``example:night`` is a bundled instance, ``example:farm.csv`` a bundled table, and
``archive:GROUP/NAME`` an instance of the archive.
"""

import gzip
import os
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp

import msgspec

from schedopt.instances.errors import InputError, at_place, pick_name

ARCHIVE_PREFIX = "archive:"  # before a group, or GROUP/NAME, in place of a path
PREFIX = "example:"  # before the name of a bundled instance, in place of a path
NEVER = (1980, 1, 1, 0, 0, 0)  # the time of each file in a zip file
PLACE = "SCHEDOPT_ARCHIVE"
"""The environment variable with the folder of the archive, if that is not beside the packages."""


def archive_folder() -> Path:
    """Return the folder of the archive; `InputError` if it does not exist."""
    named = os.environ.get(PLACE)
    folder = Path(named) if named else Path(__file__).resolve().parent.parent / "archive"
    if not folder.is_dir() or not any(folder.glob("*.zip")):
        raise InputError(
            "the archive, which comes with a clone of the repository and not with the package: "
            f"unpack a release's schedopt-archive.zip, and say where it is in {PLACE}",
            found="none",
            file=str(folder),
        )
    return folder


def groups() -> list[str]:
    """Return the names of the archive's groups."""
    return sorted(path.stem for path in archive_folder().glob("*.zip"))


def packed_group(group: str) -> Path:
    """Return the zip file of a group; `InputError` if the group or the archive does not exist."""
    return archive_folder() / f"{pick_name(group, groups(), 'a group of the archive')}.zip"


def names_in(group: str) -> list[str]:
    """Return the names of the instances in a group."""
    return [
        name.removeprefix("instances/").removesuffix(".json")
        for name in packed_names(packed_group(group))
        if name.startswith("instances/") and name.endswith(".json")
    ]


def instance_path(name: str) -> Path:
    """Return the unpacked file of the archived instance ``GROUP/NAME``; `InputError` if unknown."""
    group, _, own = name.partition("/")
    pick_name(own, names_in(group), f"an instance of {group}")
    start = f"instances/{own}."
    return unpack(packed_group(group), start) / f"{start}json"


def read_result(name: str) -> bytes:
    """Return the best known result, as JSON, of the archived instance ``GROUP/NAME``."""
    group, _, own = name.partition("/")
    return read_packed(packed_group(group), f"results/{own}.json")


def members(path: str | Path) -> list[Path] | None:
    """Return the instance files of ``archive:GROUP``; None for any other path."""
    text = str(path)
    if not text.startswith(ARCHIVE_PREFIX):
        return None
    group, slash, own = text.removeprefix(ARCHIVE_PREFIX).partition("/")
    names = [own] if slash else names_in(group)
    return [Path(f"{ARCHIVE_PREFIX}{group}/{name}") for name in names]


# --- zip files of the archive: packing the same files gives the same bytes --------------------


def packed_names(packed: Path) -> list[str]:
    """Return the sorted names of the files in a zip file."""
    with _opened(packed) as zipped:
        return sorted(info.filename for info in zipped.infolist())


def read_packed(packed: Path, name: str) -> bytes:
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
        with at_place(file=packed), zipfile.ZipFile(packed) as zipped:
            yield zipped
    except (OSError, zipfile.BadZipFile, zlib.error, NotImplementedError, RuntimeError) as error:
        raise InputError("an intact zip file", found=str(error), file=str(packed)) from None


# --- bundled examples -------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """A bundled instance: its problem, its name and its file."""

    problem: str
    name: str
    path: Path

    @property
    def summary(self) -> str:
        """The instance's own description."""
        if self.name in TABLES:
            return TABLES[self.name]
        data = self.path.read_bytes()
        text = gzip.decompress(data) if self.path.suffix == ".gz" else data
        return str(msgspec.json.decode(text).get("description", ""))


@cache
def examples() -> dict[str, Example]:
    """Return the bundled instances by name, ordered by problem and name."""
    home = Path(__file__).parent
    paths = sorted([*home.glob("*/*.json"), *home.glob("*/*.json.gz")])
    return {
        (name := path.name.split(".")[0]): Example(path.parent.name, name, path)
        for path in paths
        if path.name != "schema.json"
    }


TABLES = {
    "farm.csv": "a table of eight jobs with seats, releases and deadlines, for plan and convert",
    "cloud.csv": "a table of four jobs, three of which may go to the cloud",
    "export-deadline.csv": "60 jobs of a render farm, as Deadline's monitor exports them, for plan",
    "export-opencue.csv": "60 jobs of a render farm, as OpenCue's monitor exports them, for plan",
    "jobs.csv": "a table of six jobs with predicted demands, for convert",
    "sacct-XP.txt": "178 jobs of a cluster of 64 processors, as Slurm's sacct -XP prints them",
    "model.swf": "a log in the Standard Workload Format, for convert",
}
"""Bundled files that become instances, and what each is."""


@cache
def tables() -> dict[str, Example]:
    """Return the bundled tables and logs by file name."""
    home = Path(__file__).parent
    paths = {path.name: path for path in home.glob("*/*") if path.name in TABLES}
    return {name: Example(paths[name].parent.name, name, paths[name]) for name in TABLES}


def locate(path: str | Path) -> Path:
    """Return the file of a bundled or archived name; any other path is returned as it is."""
    text = str(path)
    if text.startswith(ARCHIVE_PREFIX):
        return instance_path(text.removeprefix(ARCHIVE_PREFIX))
    if text.startswith(PREFIX):
        known = examples() | tables()
        return known[pick_name(text.removeprefix(PREFIX), known, "an example")].path
    return path if isinstance(path, Path) else Path(path)
