"""Where the archive is: ``archive:GROUP/NAME`` is the path of one of its instances."""

import os
from pathlib import Path

from schedopt.instances.errors import InputError
from schedopt.instances.naming import pick_name

PREFIX = "archive:"  # the prefix of ``archive:GROUP`` and ``archive:GROUP/NAME`` in place of a path
PLACE = "SCHEDOPT_ARCHIVE"
"""The environment variable with the folder of the archive, if that is not beside the packages."""


def archive_folder() -> Path:
    """Return the folder of the archive; `InputError` if it is not there."""
    given = os.environ.get(PLACE)
    folder = Path(given) if given else Path(__file__).resolve().parent.parent / "archive"
    if not folder.is_dir() or not any(folder.glob("*/entries.jsonl")):
        raise InputError(
            "the archive, which comes with a clone of the repository and not with the package: "
            f"unpack a release's schedopt-archive.zip, and say where it is in {PLACE}",
            found="none",
            file=str(folder),
        )
    return folder


def groups() -> list[str]:
    """Return the names of the groups."""
    return sorted(path.parent.name for path in archive_folder().glob("*/entries.jsonl"))


def folder_of(group: str) -> Path:
    """Return the folder of a group; `InputError` if there is none, or no archive."""
    return archive_folder() / pick_name(group, groups(), "a group of the archive")


def names_in(group: str) -> list[str]:
    """Return the names of a group's instances."""
    files = (folder_of(group) / "instances").glob("*.json.gz")
    return sorted(path.name.removesuffix(".json.gz") for path in files)


def instance_path(name: str) -> Path:
    """Return the file of an instance that is given as ``GROUP/NAME``; `InputError` if none is."""
    group, _, own = name.partition("/")
    pick_name(own, names_in(group), f"an instance of {group}")
    return folder_of(group) / "instances" / f"{own}.json.gz"


def result_path(name: str) -> Path:
    """Return the file of the best known result of an instance that is given as ``GROUP/NAME``."""
    path = instance_path(name)
    return path.parent.parent / "results" / path.name


def members(path: str | Path) -> list[Path] | None:
    """Return the paths that ``archive:GROUP`` names; None for any other path."""
    text = str(path)
    if not text.startswith(PREFIX):
        return None
    group, slash, own = text.removeprefix(PREFIX).partition("/")
    names = [own] if slash else names_in(group)
    return [Path(f"{PREFIX}{group}/{name}") for name in names]
