"""Reading of files with precise errors, and writing that never leaves a partial file."""

import gzip
import importlib
import os
import shutil
import zlib
from collections.abc import Callable, Iterable
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from schedopt.instances import plugins
from schedopt.instances.encoding import decode, to_json
from schedopt.instances.errors import InputError, at_place, pick_name, printable, quote
from schedopt.instances.examples import PREFIX, locate
from schedopt.instances.protocol import AnyInstance

PROBLEMS = plugins.KnownNames("dssp", "hesrpt", "epoch", "msfq", kind="problems")
MOST_BYTES = 256 * 2**20
"""The largest file that is read, unpacked: about ten million tasks; it stops compression bombs."""
MOST_TABLE = 2**30  # the largest log, or unpacked table, in bytes
MOST_READ = "SCHEDOPT_MOST_MIB"
"""The environment variable that says how many MiB may be read of a file, unpacked."""
T = TypeVar("T")


class _Head(msgspec.Struct):
    problem: str
    log: Any = None


def read_bytes(path: str | Path, most: int = MOST_BYTES) -> bytes:
    """Return the contents of a file, decompressed if it is gzipped.

    The file may be a bundled ``example:NAME``, or a pipe of the shell such as ``/dev/stdin``.
    `InputError` if it cannot be read, or has more than ``most`` bytes, compressed or not, which
    the environment variable `MOST_READ` replaces.
    """
    path = locate(path)
    with at_place(file=path):
        limit = size_limit(most)
        try:
            with path.open("rb") as file:  # once: a pipe cannot be read again
                data = file.read(limit + 1)
            if data.startswith(b"\x1f\x8b") and len(data) <= limit:
                with gzip.GzipFile(fileobj=BytesIO(data)) as packed:
                    data = packed.read(limit + 1)
        except FileNotFoundError:
            raise InputError("a file that exists", found="nothing") from None
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise InputError("an intact gzip file", found=str(error)) from None
        except (OSError, ValueError) as error:
            raise InputError("a readable file", found=_reason(error)) from None
        check_size(len(data), most)
    return data.removeprefix(b"\xef\xbb\xbf")


def size_limit(most: int) -> int:
    """Return the size limit for a file: the environment variable `MOST_READ`, else ``most``."""
    setting = os.environ.get(MOST_READ)
    if setting is None:
        return most
    if not (setting.isdecimal() and setting.isascii() and 1 <= int(setting[:9]) <= 10**8):
        raise InputError("MiB, from 1 to 100000000", found=quote(setting), place=MOST_READ)
    return int(setting) * 2**20


def check_size(size: int, most: int) -> None:
    """Raise `InputError` if an unpacked file is larger than ``most`` or the user's own limit."""
    if size > (limit := size_limit(most)):
        more = f"(the environment variable {MOST_READ} can raise the limit)"
        raise InputError(f"at most {limit // 2**20} MiB, unpacked {more}", found="more")


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

    The record is that of the file's problem, such as `instances.dssp.Instance`. `InputError` says
    the file, the place, what was found and what is expected.
    """
    expect_instance(path)
    return parse(read_bytes(path), file=str(path))


TABLES = (".csv", ".tsv", ".parquet", ".xlsx", ".swf")


def expect_instance(path: str | Path) -> None:
    """Raise `InputError` if the file is a table or a log, which has to be converted first."""
    name = str(path).lower().removesuffix(".gz")
    if name.endswith(TABLES) and locate(path).exists():
        table = str(path) if str(path).startswith(PREFIX) else printable(Path(path).name)
        expected = (
            f"an instance in JSON, as `schedopt convert {table} --output made.json` makes one "
            f"(with `--option as=jobs` of a log); or `schedopt plan {table}` for a table of jobs"
        )
        raise InputError(expected, found=quote(Path(path).name), file=str(path))


def example(name: str) -> Any:
    """Return a bundled instance by name; ``schedopt list examples`` lists them."""
    return load(f"{PREFIX}{name}")


def parse(data: bytes, *, file: str | None = None) -> AnyInstance:
    """Decode an instance of any problem from JSON text, and read its companion table, if any."""
    kind: type[AnyInstance] = instance_type(problem_of(data, file=file))
    instance = decode(data, kind, file=file)
    rest: Callable[[str], AnyInstance] | None = getattr(instance, "read_beside", None)
    if file is None or rest is None:
        return instance
    with at_place(file=file):
        return rest(str(locate(file)))


def companion_files(data: bytes, *, file: str | None = None) -> tuple[str, ...]:
    """Return the names of the companion files that the text of an instance refers to."""
    log = decode(data, _Head, file=file).log
    return (log,) if isinstance(log, str) else ()


def problem_of(data: bytes, *, file: str | None = None) -> str:
    """Return the problem that an instance's JSON text names, which is one of `PROBLEMS`."""
    problem = decode(data, _Head, file=file).problem
    with at_place("problem", file):
        return pick_name(problem, PROBLEMS, "a problem")


@cache
def instance_type(problem: str) -> type[Any]:
    """Return the instance record of a problem; its module is imported only now."""
    record: type[Any] = importlib.import_module(module_path("instances", problem)).Instance
    return record


def module_path(layer: str, problem: str) -> str:
    """Return the module of a problem in a layer, also of a plug-in's problem."""
    if problem in PROBLEMS.own or problem not in PROBLEMS:
        return f"schedopt.{layer}.{problem}"
    return f"{plugins.points('problems')[problem].value}.{layer}"


def encode(record: Any, *, indent: int = 0) -> bytes:
    """Return a record as the JSON of a file; keys at their default may be omitted."""
    filed = getattr(record, "as_filed", None)
    data = to_json(record if filed is None else filed())
    return msgspec.json.format(data, indent=indent) + b"\n" if indent else data + b"\n"


def dump(record: Any, path: str | Path, *, indent: int = 0) -> None:
    """Write an instance or a result to a JSON file, completely or not at all.

    The jobs of a log are written to a companion table beside the file. The file is gzipped if its
    name ends in ``.gz``, and in one line if ``indent`` is 0.
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
        try:
            same = locate(path).samefile(target)
        except (OSError, ValueError):  # not there yet, or no path at all
            continue
        if same:
            expected = "another file than what is read"
            raise InputError(expected, found=quote(str(path)), file=str(target))


def write_bytes(path: str | Path, data: bytes) -> None:
    """Write a file completely or not at all; `InputError` if it cannot be written."""
    path = Path(path)
    try:
        if is_stream(path):
            path.write_bytes(data)
        else:
            _replace(Path(os.path.realpath(path)), data)  # behind a link, its target
    except (OSError, ValueError) as error:
        raise InputError("a place to write to", found=_reason(error), file=str(path)) from None


def _replace(path: Path, data: bytes) -> None:
    temporary = path.with_name(f".schedopt-{os.urandom(8).hex()}")
    try:
        with temporary.open("xb") as file:
            if path.exists():
                shutil.copymode(path, temporary)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def is_stream(path: Path) -> bool:
    """Return True if a path is a pipe or a device, such as ``/dev/stdout``."""
    return path.is_relative_to("/dev") or (path.exists() and not (path.is_file() or path.is_dir()))
