"""What bench does for its report: refuse a bad name early, draw, write, name the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import typer

from schedopt.cli.common import INTERRUPTED, say, writable


def ready(report: Path | None, read: Iterable[str | Path]) -> None:
    """Refuse a report that cannot be written before hours of work, not after."""
    if report is not None:
        from schedopt.report import need_plotly

        need_plotly()
    writable(report, (".html",), read)


def deliver(
    report: Path, rows: Sequence[Any], sweep: Any, failures: Sequence[str], pictures: int
) -> None:
    """Write the report and say where it is."""
    from schedopt.report import write
    from schedopt.terminal.progress import bar

    try:
        with bar("pictures") as progress:
            write(
                rows,
                report,
                sweep=sweep,
                failures=failures,
                pictures=pictures,
                progress=progress,
            )
    except KeyboardInterrupt:
        say(f"interrupted; {report} is there, but lacks pictures")
        raise typer.Exit(INTERRUPTED) from None
    say(f"wrote {report}: open it in a browser")
