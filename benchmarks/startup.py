"""What starting costs: CPU time of whole processes, beside importing numpy."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.table import Table

from benchmarks.timing import out, verdict

RUNS = 5
INSTALLED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Modules are compiled once and kept, ours as numpy's, as in every installation by pip."""

NUMPY = (sys.executable, "-c", "import numpy")
HELP = (sys.executable, "-m", "schedopt", "--help")


def cpu(command: tuple[str, ...]) -> float:
    """Return the least CPU seconds of a command over several runs, warm."""
    spent = []
    for _ in range(RUNS + 1):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, stdout=subprocess.DEVNULL, env=INSTALLED, check=True)  # noqa: S603
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
        spent.append(user + system)
    return min(spent[1:])


def starting() -> None:
    """Print what verbs cost on a tiny instance, as multiples of what they are held against."""
    from schedopt.problems import problems

    table = Table(title="starting, CPU time of the process", title_justify="left")
    for heading in ("command", "milliseconds", "beside", "ratio", "target"):
        table.add_column(heading, justify="left" if heading in ("command", "beside") else "right")
    met = True
    base = {"import numpy": cpu(NUMPY), "--help": cpu(HELP)}
    for name, seconds in base.items():
        table.add_row(name, f"{1000 * seconds:.0f}", "", "", "")
    with tempfile.TemporaryDirectory() as folder:
        tiny = Path(folder) / "tiny.json"
        tiny.write_bytes(problems()[0].tiny)
        verbs = (
            (("solve", str(tiny)), "import numpy", 4.0),
            (("list",), "--help", 2.0),
        )
        for words, beside, target in verbs:
            seconds = cpu((sys.executable, "-m", "schedopt", *words))
            ratio = seconds / base[beside]
            table.add_row(
                " ".join(["schedopt", words[0]]),
                f"{1000 * seconds:.0f}",
                beside,
                f"{ratio:.1f}",
                f"{target:g}",
            )
            met = met and ratio <= target
    out.print(table)
    verdict(met, "no more than these ratios")


if __name__ == "__main__":
    starting()
