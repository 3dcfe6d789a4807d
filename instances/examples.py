"""The bundled instances by name: ``example:night`` is a path that works from any folder."""

import gzip
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import msgspec

from schedopt.instances import archived
from schedopt.instances.decoding import decode_part
from schedopt.instances.naming import pick_name

PREFIX = "example:"  # the prefix of ``example:NAME``, a bundled instance in place of a path


@dataclass(frozen=True)
class Example:
    """A bundled instance: its problem, its name among the examples of all problems, its file."""

    problem: str
    name: str
    path: Path

    @property
    def summary(self) -> str:
        """What it shows, as it says itself."""
        data = self.path.read_bytes()
        text = gzip.decompress(data) if self.path.suffix == ".gz" else data
        return decode_part(text, _Said, file=str(self.path)).description or ""


class _Said(msgspec.Struct):
    description: str | None = None


@cache
def examples() -> dict[str, Example]:
    """Return the bundled instances by name, in the order of problems and names."""
    home = Path(__file__).parent
    paths = sorted([*home.glob("*/*.json"), *home.glob("*/*.json.gz")])
    return {
        (name := path.name.split(".")[0]): Example(path.parent.name, name, path)
        for path in paths
        if path.name != "schema.json"
    }


def find_example(name: str) -> Example:
    """Return a bundled instance by name; `InputError` with the nearest name if there is none."""
    return examples()[pick_name(name, examples(), "an example")]


def locate(path: str | Path) -> Path:
    """Return the path itself, or the file of the bundled or archived instance that it names."""
    text = str(path)
    if text.startswith(archived.PREFIX):
        return archived.instance_path(text.removeprefix(archived.PREFIX))
    if text.startswith(PREFIX):
        return find_example(text.removeprefix(PREFIX)).path
    return path if isinstance(path, Path) else Path(path)
