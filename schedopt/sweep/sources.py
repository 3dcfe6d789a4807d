"""Where a sweep's instances come from: files, and generators with a seed."""

from __future__ import annotations

import gzip
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol

import msgspec

from schedopt import __version__
from schedopt.instances.archived import PREFIX, members, result_path
from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import beside, located, parse, problem_of, read_bytes
from schedopt.instances.options import Options
from schedopt.instances.protocol import AnyInstance
from schedopt.problems import problem as record_of
from schedopt.sweep.seeds import seeds_of

MOST_BESIDE = 4 * 2**30
"""No file beside an instance is read beyond this."""

TINY = 4096
"""Bytes up to which compressing a text takes longer than sending it."""


class Source(Protocol):
    """Where one instance comes from.

    Attributes
    ----------
    label : str
        How rows and messages speak of it: a path, or what it is generated from.
    """

    @property
    def label(self) -> str:
        """Return the label."""

    def problem(self) -> str:
        """Return the problem that it is an instance of."""

    def beside(self) -> bool:
        """Tell whether a table stands beside the instance."""

    def digest(self) -> str:
        """Return what tells this instance, as it is now, from every other."""

    def load(self) -> AnyInstance:
        """Return the instance."""

    def opened(self) -> Source:
        """Return the same source, its file read once for all that is asked of it now."""

    def packed(self) -> Source:
        """Return the same source for a machine that does not see our files."""

    def known(self) -> bytes | None:
        """Return the document of the best known result, None where there is none."""


@dataclass(frozen=True)
class FileSource:
    """An instance file.

    Attributes
    ----------
    path : Path
    """

    path: Path

    @cached_property
    def label(self) -> str:
        """The path, as it was given."""
        return str(self.path)

    def problem(self) -> str:
        """Return the problem that the file says it is an instance of."""
        return self.opened().problem()

    def beside(self) -> bool:
        """Tell whether the file names others beside it."""
        return self.opened().beside()

    def digest(self) -> str:
        """Return a digest of the contents, with those of the files beside it that it names."""
        return self.opened().digest()

    def load(self) -> AnyInstance:
        """Read the instance, strictly."""
        return self.opened().load()

    def opened(self) -> OpenedSource:
        """Read the file."""
        return OpenedSource(self.path, self.label, read_bytes(self.path))

    def packed(self) -> Source:
        """Return the contents themselves, compressed."""
        return self.opened().packed()

    def known(self) -> bytes | None:
        """Return the best known result, for an instance of the archive."""
        return _known(self.label)


def _known(label: str) -> bytes | None:
    return read_bytes(result_path(label.removeprefix(PREFIX))) if label.startswith(PREFIX) else None


@dataclass(frozen=True)
class OpenedSource:
    """An instance file that has been read.

    Attributes
    ----------
    path : Path
    label : str
        The path, as it was given.
    data : bytes
        Its text.
    """

    path: Path
    label: str
    data: bytes = field(repr=False)

    def problem(self) -> str:
        """Return the problem that the text says it is an instance of."""
        return self._problem

    @cached_property
    def _problem(self) -> str:
        return problem_of(self.data, file=self.label)

    def beside(self) -> bool:
        """Tell whether the text names others beside it."""
        return bool(beside(self.data, file=self.label, problem=self._problem))

    def digest(self) -> str:
        """Return a digest of the text, and of the files beside it, which are read."""
        found = hashlib.sha256(self.data)
        for other in self._beside().values():
            found.update(hashlib.sha256(other).digest())
        return found.hexdigest()

    def load(self) -> AnyInstance:
        """Decode the instance, strictly."""
        return parse(self.data, file=self.label)

    def opened(self) -> OpenedSource:
        """Return itself."""
        return self

    def packed(self) -> Source:
        """Return the contents themselves, compressed where that pays."""
        text = gzip.compress(self.data, 1, mtime=0) if len(self.data) > TINY else self.data
        return PackedSource(self.label, text, self._beside(), self.known())

    def known(self) -> bytes | None:
        """Return the best known result, for an instance of the archive."""
        return _known(self.label)

    def _beside(self) -> dict[str, bytes]:
        names = beside(self.data, file=self.label, problem=self._problem)
        if not names:
            return {}
        folder = located(self.path).parent
        return {name: read_bytes(folder / name, MOST_BESIDE) for name in names}


@dataclass(frozen=True)
class PackedSource:
    """The contents of an instance file, on their way to another machine.

    Attributes
    ----------
    label : str
        The path where the file is at home.
    data : bytes
        Its text, compressed unless it is tiny.
    others : dict of str to bytes
        The files beside it that it names.
    best : bytes, optional
        Its best known result.
    """

    label: str
    data: bytes = field(repr=False)
    others: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    best: bytes | None = field(default=None, repr=False)

    def problem(self) -> str:
        """Return the problem that the text says it is an instance of."""
        return problem_of(self._text(), file=self.label)

    def _text(self) -> bytes:
        packed = self.data.startswith(b"\x1f\x8b")  # as no JSON begins
        return gzip.decompress(self.data) if packed else self.data

    def beside(self) -> bool:
        """Tell whether there are others."""
        return bool(self.others)

    def digest(self) -> str:
        """Return a digest of the text, and of the files beside it."""
        found = hashlib.sha256(self._text())
        for other in self.others.values():
            found.update(hashlib.sha256(other).digest())
        return found.hexdigest()

    def load(self) -> AnyInstance:
        """Decode the instance, strictly."""
        text = self._text()
        found: AnyInstance
        if not self.others:
            found = parse(text, file=self.label)
            return found
        with TemporaryDirectory() as folder:
            for name, other in self.others.items():
                (Path(folder) / name).write_bytes(other)
            found = parse(text, file=str(Path(folder) / Path(self.label).name))
        return found

    def opened(self) -> Source:
        """Return itself."""
        return self

    def packed(self) -> Source:
        """Return itself."""
        return self

    def known(self) -> bytes | None:
        """Return the best known result, for an instance of the archive."""
        return self.best


@dataclass(frozen=True)
class GeneratedSource:
    """A random instance, made where it is needed: the seed fixes it bit for bit.

    Attributes
    ----------
    family, generator : str
        The problem, and one of its generators.
    seed : int
    options : mapping
        Those of the generator that are not at their default.
    """

    family: str
    generator: str
    seed: int
    options: Options = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return it as ``--generate`` takes it."""
        options = "".join(f",{key}={_text(value)}" for key, value in self.options.items())
        return f"{self.family}/{self.generator},seed={self.seed}{options}"

    def problem(self) -> str:
        """Return the generator's problem."""
        return self.family

    def beside(self) -> bool:
        """Tell what the generator says."""
        return record_of(self.family).generator(self.generator).beside

    def digest(self) -> str:
        """Return a digest of all that the instance depends on."""
        return hashlib.sha256(f"{self.label} {__version__}".encode()).hexdigest()

    def load(self) -> AnyInstance:
        """Make the instance."""
        from schedopt.verbs.generate import generate

        try:
            return generate(self.family, self.generator, seed=self.seed, options=self.options)
        except InputError as error:
            error.file = self.label
            raise

    def opened(self) -> Source:
        """Return itself."""
        return self

    def packed(self) -> Source:
        """Return itself: a few words are all it takes."""
        return self

    def known(self) -> bytes | None:
        """Return None: what is random has no best known result."""
        return None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def instance_files(paths: Iterable[str | Path]) -> list[Path]:
    """Return the instance files among paths, folders opened, each file once.

    Raises
    ------
    InputError
        If a path is not there, or nothing is found.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        try:
            if (archived := members(path)) is not None:
                found.update(dict.fromkeys(archived))
            elif path.is_dir():
                inside = sorted([*path.glob("*.json"), *path.glob("*.json.gz")])
                found.update(dict.fromkeys(p for p in inside if p.name != "schema.json"))
            else:
                located(path).stat()
                found[path] = None
        except (FileNotFoundError, NotADirectoryError):
            raise InputError("a file that exists", found="nothing", file=str(path)) from None
        except InputError:  # is a ValueError
            raise
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError("a readable file", found=reason, file=str(path)) from None
    if not found:
        raise InputError("instance files, or folders that hold some", found="none")
    return list(found)


def generated(
    problem: str,
    generator: str | None = None,
    *,
    seeds: Iterable[int],
    options: Options | None = None,
) -> list[GeneratedSource]:
    """Return a generator's instances, one for each seed.

    Raises
    ------
    InputError
        If problem, generator or an option is not known or not right.
    """
    from schedopt.instances.options import checked

    chosen = record_of(problem).generator(generator)
    given = checked(options or {}, chosen.options, chosen.name)
    made = []
    for seed in seeds:
        if seed < 0:
            raise InputError("a whole number >= 0", found=shown(seed), place="seeds")
        made.append(GeneratedSource(problem, chosen.name, seed, given))
    return made


def from_label(label: str) -> Source:
    """Return what a row's ``file`` speaks of: a file, or what was generated.

    Raises
    ------
    InputError
        If it is neither.
    """
    if "/" not in label or "," not in label or Path(label).exists():
        return FileSource(Path(label))
    (source,) = from_text(label)
    return source


def from_text(text: str) -> list[GeneratedSource]:
    """Return what ``--generate`` names, such as ``dssp/uncorrelated,seeds=1-20,jobs=100``.

    A row's ``file`` is such a text where its instance was generated.

    Raises
    ------
    InputError
        If it is not of that form, or what it names is not known.
    """
    from schedopt.instances.options import split

    head, *words = text.split(",")
    problem, _, generator = head.partition("/")
    options = split(words)
    seeds = [options.pop(key) for key in ("seed", "seeds") if key in options]
    if len(seeds) > 1:
        raise InputError("`seed` or `seeds`, not both", found=shown(text), place="--generate")
    return generated(
        problem, generator or None, seeds=seeds_of(seeds[0] if seeds else 0), options=options
    )
