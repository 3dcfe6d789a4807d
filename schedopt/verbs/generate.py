"""The verbs generate, new and convert: instances at random, to start from, and of other files."""

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from schedopt.instances import plugins
from schedopt.instances.encoding import strip_comments
from schedopt.instances.errors import InputError, quote
from schedopt.instances.examples import locate
from schedopt.instances.extras import report_missing_extras
from schedopt.instances.files import encode, parse
from schedopt.instances.options import Options, check_options
from schedopt.instances.protocol import AnyInstance
from schedopt.instances.tables import Source
from schedopt.problems import Problem, problems
from schedopt.problems import problem as record_of


@report_missing_extras()
def generate(
    problem: str,
    generator: str | None = None,
    *,
    seed: int = 0,
    options: Options | None = None,
) -> Any:
    """Return a random instance; the same seed gives the same instance.

    Parameters
    ----------
    problem : str
        The name of a problem, such as ``dssp``.
    generator : str, optional
        The name of a generator; by default the first of the problem.
    seed : int
        The random seed, at least 0.
    options : mapping, optional
        Options of the generator.

    Raises
    ------
    InputError
        If the problem, the generator or an option is unknown or not valid.
    """
    chosen = record_of(problem).generator(generator)
    if seed < 0:
        raise InputError("a whole number >= 0", found=quote(seed), parameter="seed")
    return chosen(seed, **check_options(options or {}, chosen.options, chosen.name))


def new(problem: str, *, comments: bool = True) -> str:
    """Return the text of a small instance file of a problem, as a start for one's own.

    Parameters
    ----------
    problem : str
        The name of a problem, such as ``dssp``.
    comments : bool
        Whether to explain the fields in lines that begin with ``//``. `load` ignores them; other
        readers of JSON may not.

    Raises
    ------
    InputError
        If there is no such problem.
    """
    text = record_of(problem).commented()
    return (text if comments else encode(parse(strip_comments(text)), indent=1)).decode()


# The verb convert.

ENDINGS = {
    **dict.fromkeys((".csv", ".tsv", ".parquet", ".xlsx"), "table"),
    ".swf": "log",
    ".json": "workflow",
}
"""The format of a file by its ending, before .gz; a pipe, which has none, is a workflow."""

WORDS = {"table": "table of jobs", "log": "log (.swf)", "workflow": "workflow"}


def convert(
    paths: Source | Sequence[str | Path],
    *,
    name: str | None = None,
    options: Options | None = None,
    tell: Callable[[str], None] | None = None,
) -> Any:
    """Return an instance made from files of another format.

    Parameters
    ----------
    paths : path, frame, or sequence of paths
        A table of jobs (CSV, Parquet, or a frame of pandas or polars), one or several WfCommons
        workflows (WfFormat JSON), or a log in the Standard Workload Format (.swf, .swf.gz); with
        the option ``as=jobs`` a log of any kind.
    name : str, optional
        The name of the instance; by default that of the first file.
    options : mapping, optional
        ``problem``, if several problems read the format, and the options of its converter.
    tell : callable, optional
        Called with lines on the conversion: the use of each column, and the number of jobs that
        were left out.

    Raises
    ------
    InputError
        If a file cannot be read or an option is not valid.
    """
    given_files: list[Source] = [paths] if isinstance(paths, Source) else list(paths)
    files = [locate(file) if isinstance(file, str | Path) else file for file in given_files]
    kinds = {_format_of(file, (options or {}).get("as") == "jobs") for file in files}
    if (options or {}).get("as") == "jobs":  # a table, or a dump, that is read as a log
        kinds = {"log"}
    plugged = next((kind for kind in kinds if kind.startswith(".")), "workflow")
    kind = "log" if "log" in kinds else "table" if "table" in kinds else plugged
    given = dict(options or {})
    record = _pick_problem(kind, given.pop("problem", None), given)
    converter = record.known_converters()[kind]
    if len(files) > 1 and (len(kinds) > 1 or not converter.several):
        raise InputError(
            f"one {WORDS.get(kind, f'file {kind}')}{', or workflows only' * (kind == 'table')}",
            found=f"{len(files)} files",
        )
    module = import_module(converter.home)
    own = check_options(given, module.OPTIONS, f"convert to {record.name}")
    more = {"tell": tell} if converter.tells else {}
    instance: AnyInstance = module.convert(
        files if converter.several else files[0], **({"name": name} if name else {}) | own | more
    )
    if tell is not None and instance.description and not converter.tells:
        tell(instance.description)
    return instance


def _pick_problem(kind: str, wanted: object, given: Options) -> Problem:
    """Return the problem that files of a format are converted to; ``wanted`` chooses of several."""
    able = {record.name: record for record in problems() if kind in record.known_converters()}
    if wanted is None and "as" in given:
        able = {
            name: record
            for name, record in able.items()
            if "as" in import_module(record.known_converters()[kind].home).OPTIONS
        }
    if wanted is None and len(able) == 1:
        return next(iter(able.values()))
    if wanted not in able:
        expected = (
            f"one of {', '.join(able)}: what the {WORDS.get(kind, f'file {kind}')} is to become"
        )
        found = None if wanted is None else quote(wanted)
        raise InputError(expected, found=found, place="option problem")
    return able[str(wanted)]


def _format_of(path: Source, as_jobs: bool) -> str:
    """Return the format of a file; `InputError` if it cannot be read or its format is unknown."""
    if not isinstance(path, str | Path):
        return "table"
    if not Path(path).exists():
        raise InputError("a file that exists", found="nothing", file=str(path))
    endings = [ending.lower() for ending in Path(path).suffixes]
    plugged = {f".{name.partition('.')[2]}" for name in plugins.points("converters")}
    if supported := plugged.intersection(endings):
        return supported.pop()
    kind = next((ENDINGS[ending] for ending in endings if ending in ENDINGS), None)
    if kind is None and endings and not as_jobs:
        expected = (
            "a table (.csv, .tsv, .parquet), a workflow (.json) or a log (.swf) by "
            "its ending; a log in another format, such as of sacct, needs the option as=jobs"
        )
        raise InputError(expected, found=quote(Path(path).name), file=str(path))
    return kind or "workflow"
