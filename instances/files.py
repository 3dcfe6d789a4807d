"""Reading of files with precise errors, and writing that never leaves a partial file."""

import gzip
import importlib
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from io import BytesIO, FileIO
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import msgspec

from schedopt.instances import plugins
from schedopt.instances.decoding import decode
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, at_place, listing, quote, suggestion
from schedopt.instances.examples import PREFIX, locate
from schedopt.instances.protocol import AnyInstance

PROBLEMS = plugins.KnownNames("dssp", "hesrpt", "epoch", "msfq", kind="problems")
MOST_BYTES = 256 * 2**20
"""The largest file that is read, unpacked: about ten million tasks; it stops compression bombs."""
MOST_TABLE = 2**30  # the largest log, or unpacked table, in bytes
SHORT = 2**16  # bytes of the first read of a file; each further read doubles what there is
_FIRST = re.compile(rb'\s*\{\s*"problem"\s*:\s*"([a-z]+)"')


class _Head(msgspec.Struct):
    problem: str


T = TypeVar("T")


class _Logged(msgspec.Struct):
    log: str | None = None


def read_bytes(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return the contents of a file, decompressed if it is gzipped.

    Parameters
    ----------
    path : str or Path
        A file, a bundled ``example:NAME``, or a pipe of the shell such as ``/dev/stdin``.
    most : int
        The most bytes, compressed or not; the environment variable `MOST_READ` replaces it.

    Raises
    ------
    InputError
        If the file cannot be read or is too large.
    """
    path, most = locate(path), size_limit(most)
    with _read_error(path):
        with path.open("rb", buffering=0) as file:  # once: a pipe cannot be read again
            data = _read(file, most)
        if data.startswith(b"\x1f\x8b"):
            with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                data = _read(packed, most)
    return data.removeprefix(b"\xef\xbb\xbf")


@contextmanager
def _read_error(path: Path) -> Iterator[None]:
    """Turn an error of the operating system or of gzip in the block into an `InputError`."""
    try:
        yield
    except InputError as error:
        error.file = str(path)
        raise
    except FileNotFoundError:
        raise InputError("a file that exists", found="nothing", file=str(path)) from None
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        raise InputError("an intact gzip file", found=str(error), file=str(path)) from None
    except (OSError, ValueError) as error:
        raise InputError("a readable file", found=_reason(error), file=str(path)) from None


def first_bytes(path: str | Path, most: int = 4096) -> bytes:
    """Return the first bytes of a file, decompressed; nothing of a pipe, which is read once."""
    path = locate(path)
    with _read_error(path):
        if is_stream(path):
            return b""
        with path.open("rb") as file:
            packed = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if packed else path.open("rb") as file:
            return file.read(most).removeprefix(b"\xef\xbb\xbf")


MOST_READ = "SCHEDOPT_MOST_MIB"
"""The environment variable that says how many MiB may be read of a file, unpacked."""
_MORE = f"(the environment variable {MOST_READ} can raise the limit)"


def size_limit(most: int) -> int:
    """Return the size limit for a file: the environment variable `MOST_READ`, else ``most``."""
    setting = os.environ.get(MOST_READ)
    if setting is None:
        return most
    if not (setting.isdecimal() and setting.isascii() and 1 <= int(setting[:9]) <= 10**8):
        raise InputError("MiB, from 1 to 100000000", found=quote(setting), place=MOST_READ)
    return int(setting) * 2**20


def check_rows(rows: int, each: int) -> None:
    """Raise `InputError` if a table with rows of ``each`` bytes would be too large in memory."""
    most = size_limit(MOST_TABLE)
    if rows * each > most:
        expected = (
            f"at most {most // each:,} rows of this width, {most // 2**20} MiB unpacked {_MORE}"
        )
        raise InputError(expected, found=f"{rows:,} rows")


def _too_large(most: int) -> InputError:
    return InputError(f"at most {most // 2**20} MiB, unpacked {_MORE}", found="more")


def _read(file: FileIO | gzip.GzipFile, most: int) -> bytes:
    """Return the contents of an open file; short files are read in one call."""
    parts, size = [], 0
    while part := file.read(min(most + 1 - size, max(size, SHORT))):
        parts.append(part)
        size += len(part)
        if size > most:
            raise _too_large(most)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _reason(error: OSError | ValueError) -> str:
    return getattr(error, "strerror", None) or str(error)


def stem(path: str | Path, ending: str | None = None) -> str:
    """Return a file's name without its endings, such as ``.json.gz``."""
    name = Path(path).name.encode("utf-8", "replace").decode("utf-8")  # any bytes may name a file
    plain = name.removesuffix(".gz")
    return (plain.rsplit(".", 1)[0] if ending is None else plain.removesuffix(ending)) or name


def read(path: str | Path, wanted: type[T]) -> T:
    """Read a JSON file, possibly gzipped, strictly into a type."""
    return decode(read_bytes(path), wanted, file=str(path))


def load(path: str | Path) -> AnyInstance:
    """Read an instance file of any problem, or the bundled instance ``example:NAME``.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    Instance
        The record of the file's problem, such as `instances.dssp.Instance`.

    Raises
    ------
    InputError
        With the file, the place, what was found and what is expected.
    """
    expect_instance(path)
    return parse(read_bytes(path), file=str(path))


TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".swf")


def expect_instance(path: str | Path) -> None:
    """Raise `InputError` if the file is a table or a log, which has to be converted first."""
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(TABLES) and locate(path).exists():
        table = str(path) if str(path).startswith(PREFIX) else quote(Path(path).name)[1:-1]
        expected = (
            f"an instance in JSON, as `schedopt convert {table} --output made.json` makes one, "
            "with `--option as=jobs` of a log, or `--option processors=16 --option deadline=8h` of "
            f"a table; or `schedopt plan {table}` for a plan of a table of jobs"
        )
        raise InputError(expected, found=quote(Path(path).name), file=str(path))


def example(name: str) -> Any:
    """Return a bundled instance by name; ``schedopt list examples`` lists them."""
    return load(f"{PREFIX}{name}")


def parse(data: bytes, *, file: str | None = None) -> AnyInstance:
    """Decode an instance of any problem from JSON text, and read its companion table, if any."""
    first = _FIRST.match(data)  # most files begin with the problem: then they are decoded once
    problem = first[1].decode() if first else problem_of(data, file=file)
    instance = decode(data, instance_type(problem, file=file), file=file)
    rest: Callable[[str], AnyInstance] | None = getattr(instance, "read_beside", None)
    if file is None or rest is None:
        return instance
    with at_place(file=file):
        return rest(str(locate(file)))


def companion_files(
    data: bytes, *, file: str | None = None, problem: str | None = None
) -> tuple[str, ...]:
    """Return the names of the companion files that the text of an instance refers to.

    ``problem`` is the instance's problem, if the caller knows it.
    """
    if not hasattr(instance_type(problem or problem_of(data, file=file)), "read_beside"):
        return ()
    log = decode(data, _Logged, file=file).log
    return () if log is None else (log,)


def problem_of(data: bytes, *, file: str | None = None) -> str:
    """Return the problem that an instance's JSON text names, which is one of `PROBLEMS`."""
    problem = decode(data, _Head, file=file).problem
    instance_type(problem, file=file)
    return problem


def instance_type(problem: str, *, file: str | None = None) -> type[AnyInstance]:
    """Return the instance record of a problem; its module is imported only now."""
    if problem not in PROBLEMS:
        hint = suggestion(problem, PROBLEMS) or listing(PROBLEMS)
        raise InputError(f"a problem{hint}", found=quote(problem), place="problem", file=file)
    return _record(problem)


def module_path(layer: str, problem: str) -> str:
    """Return the module of a problem in a layer, also of a plug-in's problem."""
    if problem in PROBLEMS.own or problem not in PROBLEMS:
        return f"schedopt.{layer}.{problem}"
    return f"{plugins.points('problems')[problem].value}.{layer}"


@cache
def _record(problem: str) -> type[Any]:
    record: type[Any] = importlib.import_module(module_path("instances", problem)).Instance
    return record


def encode(record: Any, *, indent: int = 0) -> bytes:
    """Return a record as the JSON of a file; keys at their default may be omitted."""
    filed = getattr(record, "as_filed", None)
    data = to_json(record if filed is None else filed())
    return msgspec.json.format(data, indent=indent) + b"\n" if indent else data + b"\n"


def dump(record: Any, path: str | Path, *, indent: int = 0) -> None:
    """Write an instance or a result to a JSON file, completely or not at all.

    The jobs of a log are written to a companion table beside the file.

    Parameters
    ----------
    record : Instance, Result or other record
        What to write.
    path : str or Path
        The file; it is gzipped if the name ends in ``.gz``.
    indent : int
        Spaces of indentation for each level; 0 writes one line.
    """
    if hasattr(record, "write_beside"):
        record = record.write_beside(path)
    data = encode(record.written() if hasattr(record, "written") else record, indent=indent)
    # No time stamp and no file name inside: the same record is the same file.
    packed = str(path).lower().endswith(".gz")
    write_bytes(path, gzip.compress(data, mtime=0) if packed else data)


def refuse_overwriting(read: Iterable[str | Path], target: str | Path) -> None:
    """Raise `InputError` if ``target`` is one of the files that are read, by any name or link."""
    for path in read:
        if _same(locate(path), target):
            expected = "another file than what is read"
            raise InputError(expected, found=quote(str(path)), file=str(target))


def _same(one: Path, other: str | Path) -> bool:
    """Return True if two paths lead to the same file, whether or not it exists."""
    try:
        return os.path.realpath(one) == os.path.realpath(other) or one.samefile(other)
    except (OSError, ValueError):  # not there, or no path at all
        return False


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file completely or not at all; `InputError` if it cannot be written."""
    with open_replacement(path) as file:
        file.write(data)


@contextmanager
def open_replacement(path: str | Path) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces ``path`` when the block succeeds.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    path = Path(path)
    try:
        if is_stream(path):  # written as it is
            with path.open("wb") as file:
                yield file
        else:
            with _temporary_name(Path(os.path.realpath(path))) as file:  # behind a link, its target
                yield file
    except (OSError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError("a place to write to", found=_reason(error), file=str(path)) from None


@contextmanager
def _temporary_name(path: Path) -> Iterator[BinaryIO]:
    temporary = path.with_name(f".schedopt-{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            if path.exists():
                shutil.copymode(path, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_stream(path: Path) -> bool:
    """Return True if a path is a pipe or a device, such as ``/dev/stdout``."""
    return path.is_relative_to("/dev") or (path.exists() and not (path.is_file() or path.is_dir()))
