"""CSV tables of jobs, read as instances."""

from pathlib import Path
from typing import Any

from schedopt.instances.dssp import Instance
from schedopt.instances.dssp.jobtable import convert

HEADER = "name,reward,priority,demand,critical_path,team\n"


def table(tmp_path: Path, text: str | bytes, **options: Any) -> Instance:
    """Read a table as it would stand in a file, of two processors until 10."""
    path = tmp_path / "jobs.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return convert(path, **{"processors": 2, "deadline": 10, **options})


def told(tmp_path: Path, text: str, **options: Any) -> tuple[Instance, list[str]]:
    """Read a table, and return also what is told of its columns."""
    lines: list[str] = []
    return table(tmp_path, text, tell=lines.append, **options), lines
