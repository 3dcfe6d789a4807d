"""The sources of a sweep's instances: files, and generators with a seed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from schedopt import __version__
from schedopt.instances import files
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, at_parameter, at_place, quote
from schedopt.instances.examples import ARCHIVE_PREFIX, members, read_result
from schedopt.instances.options import Options, check_options, split
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem as record_of


class Source:
    """The source of one instance, which any machine can load."""

    label: str  # a path, or the text that generates it
    problem: str
    digest: str  # of everything that the instance depends on
    beside: bool  # whether its jobs are in a table beside the file

    def load(self) -> AnyInstance:
        """Return the instance."""
        raise NotImplementedError


@dataclass(frozen=True)
class Contents(Source):
    """The contents of an instance file, of the tables beside it, and of its best known result."""

    label: str
    text: bytes = field(repr=False)
    others: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    best_known: bytes | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        digest = hashlib.sha256(self.text)
        for other in self.others.values():
            digest.update(hashlib.sha256(other).digest())
        object.__setattr__(self, "problem", files.problem_of(self.text, file=self.label))
        object.__setattr__(self, "digest", digest.hexdigest())
        object.__setattr__(self, "beside", bool(self.others))

    def load(self) -> AnyInstance:
        """Decode the instance, strictly."""
        if not self.others:
            return files.parse(self.text, file=self.label)
        with TemporaryDirectory() as folder:
            for name, other in self.others.items():
                (Path(folder) / name).write_bytes(other)
            return files.parse(self.text, file=str(Path(folder) / Path(self.label).name))


def read_source(path: Path) -> Contents:
    """Read an instance file; `InputError` if it is not one."""
    label, text = str(path), files.read_bytes(path)
    names, folder = files.companion_files(text, file=label), files.locate(path).parent
    others = {name: files.read_bytes(folder / name, files.MOST_TABLE) for name in names}
    archived = label.startswith(ARCHIVE_PREFIX)
    best = read_result(label.removeprefix(ARCHIVE_PREFIX)) if archived else None
    return Contents(label, text, others, best)


@dataclass(frozen=True)
class GeneratedSource(Source):
    """A random instance, which is generated from its seed where it is needed."""

    problem: str
    generator: str
    seed: int
    options: Options = field(default_factory=dict)

    def __post_init__(self) -> None:
        texts = {
            k: v if isinstance(v, str) else to_json(v).decode() for k, v in self.options.items()
        }
        options = "".join(f",{key}={value}" for key, value in texts.items())
        label = f"{self.problem}/{self.generator},seed={self.seed}{options}"
        digest = hashlib.sha256(f"{label} {__version__}".encode()).hexdigest()
        beside = record_of(self.problem).generator(self.generator).beside
        object.__setattr__(self, "label", label)
        object.__setattr__(self, "digest", digest)
        object.__setattr__(self, "beside", beside)

    def load(self) -> AnyInstance:
        """Make the instance."""
        from schedopt.verbs.generate import generate

        with at_place(file=self.label):
            drawn: AnyInstance = generate(
                self.problem, self.generator, seed=self.seed, options=self.options
            )
        return drawn


def instance_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the instance files among paths and in folders, each file once."""
    unique: dict[Path, None] = {}
    for path in map(Path, paths):
        try:
            if (archived := members(path)) is not None:
                unique.update(dict.fromkeys(archived))
            elif path.is_dir():
                inside = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
                unique.update(dict.fromkeys(p for p in inside if p.name != "schema.json"))
            else:
                files.locate(path).stat()
                unique[path] = None
        except (FileNotFoundError, NotADirectoryError):
            raise InputError("a file that exists", found="nothing", file=str(path)) from None
        except OSError as error:
            raise InputError("a readable file", found=error.strerror, file=str(path)) from None
    if not unique:
        raise InputError("instance files, or folders that hold some", found="none")
    return list(unique)


def generated_sources(
    problem: str,
    generator: str | None = None,
    *,
    seeds: Iterable[int],
    options: Options | None = None,
) -> list[GeneratedSource]:
    """Return a generator's instances, one for each seed.

    Raises `InputError` if the problem, the generator or an option is not known or not right.
    """
    chosen, numbers = record_of(problem).generator(generator), list(seeds)
    if len(numbers) > 1 and not chosen.random:
        expected = f"one seed: {chosen.name} draws nothing; seeds of policies replicate simulations"
        raise InputError(expected, found=f"{len(numbers)}", parameter="seeds")
    if any(seed < 0 for seed in numbers):
        raise InputError("whole numbers >= 0", found=quote(min(numbers)), parameter="seeds")
    checked = check_options(options or {}, chosen.options, chosen.name)
    return [GeneratedSource(problem, chosen.name, seed, checked) for seed in numbers]


def parse_generated(text: str) -> list[GeneratedSource]:
    """Parse a text such as ``dssp/uncorrelated,seeds=1-20,jobs=100``."""
    head, *words = text.split(",")
    problem, _, generator = head.partition("/")
    with at_parameter("generated"):
        options = split(words)
        seeds = [options.pop(key) for key in ("seed", "seeds") if key in options]
        if len(seeds) > 1:
            raise InputError("`seed` or `seeds`, not both", found=quote(text))
        numbers = parse_seeds(str(seeds[0] if seeds else 0))
        return generated_sources(problem, generator or None, seeds=numbers, options=options)


def parse_seeds(
    text: str,
    *,
    most_seeds: int = 1_000_000,  # a larger range of seeds is taken for a mistake
) -> range:
    """Return the seeds of a text such as ``7`` or ``1-20``."""
    if not (ends := re.fullmatch(r"(\d{1,20})(?:-(\d{1,20}))?", text)):
        raise InputError("seeds, such as 7 or 1-20", found=quote(text), parameter="seeds")
    low, high = int(ends[1]), int(ends[2] or ends[1])
    if not 0 <= high - low < most_seeds:
        expected = f"a first and a last seed, at most {most_seeds} in all"
        raise InputError(expected, found=quote(text), parameter="seeds")
    return range(low, high + 1)
