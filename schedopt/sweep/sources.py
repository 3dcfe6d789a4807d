"""The sources of a sweep's instances: files, and generators with a seed."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
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


@dataclass(frozen=True)
class Source:
    """The source of one instance, which any machine can load."""

    label: str  # a path, or the text that generates it
    problem: str
    digest: str  # of everything that the instance depends on
    beside: bool  # whether its jobs are in a table beside the file
    load: Callable[[], AnyInstance] = field(repr=False)  # reads or generates the instance
    best_known: bytes | None = field(default=None, repr=False)  # the archive's result


def read_source(path: Path) -> Source:
    """Read an instance file and the tables beside it; `InputError` if it is not one."""
    label, text = str(path), files.read_bytes(path)
    names, folder = files.companion_files(text, file=label), files.locate(path).parent
    others = {name: files.read_bytes(folder / name, files.MOST_TABLE) for name in names}
    digest = hashlib.sha256(text)
    for other in others.values():
        digest.update(hashlib.sha256(other).digest())
    archived = label.startswith(ARCHIVE_PREFIX)
    return Source(
        label=label,
        problem=files.problem_of(text, file=label),
        digest=digest.hexdigest(),
        beside=bool(others),
        load=partial(_parse, label, text, others),
        best_known=read_result(label.removeprefix(ARCHIVE_PREFIX)) if archived else None,
    )


def _parse(label: str, text: bytes, others: Mapping[str, bytes]) -> AnyInstance:
    if not others:
        return files.parse(text, file=label)
    with TemporaryDirectory() as folder:
        for name, other in others.items():
            (Path(folder) / name).write_bytes(other)
        return files.parse(text, file=str(Path(folder) / Path(label).name))


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
) -> list[Source]:
    """Return a generator's instances, one for each seed; each is generated where it is needed.

    Raises `InputError` if the problem, the generator or an option is not known or not right.
    """
    chosen, numbers = record_of(problem).generator(generator), list(seeds)
    if len(numbers) > 1 and not chosen.random:
        expected = f"one seed: {chosen.name} draws nothing; seeds of policies replicate simulations"
        raise InputError(expected, found=f"{len(numbers)}", parameter="seeds")
    if any(seed < 0 for seed in numbers):
        raise InputError("whole numbers >= 0", found=quote(min(numbers)), parameter="seeds")
    checked = check_options(options or {}, chosen.options, chosen.name)
    texts = {k: v if isinstance(v, str) else to_json(v).decode() for k, v in checked.items()}
    words = "".join(f",{key}={value}" for key, value in texts.items())
    labels = {seed: f"{problem}/{chosen.name},seed={seed}{words}" for seed in numbers}
    return [
        Source(
            label=label,
            problem=problem,
            digest=hashlib.sha256(f"{label} {__version__}".encode()).hexdigest(),
            beside=chosen.beside,
            load=partial(_generate, label, problem, chosen.name, seed, checked),
        )
        for seed, label in labels.items()
    ]


def _generate(label: str, problem: str, generator: str, seed: int, options: Options) -> AnyInstance:
    from schedopt.verbs.generate import generate

    with at_place(file=label):
        drawn: AnyInstance = generate(problem, generator, seed=seed, options=options)
    return drawn


def parse_generated(text: str) -> list[Source]:
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
