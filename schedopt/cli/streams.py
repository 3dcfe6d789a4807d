"""Standard output: failures in one line, and JSON without terminal control characters."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from schedopt.instances.errors import InputError

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PIPE = 128 + 13  # exit status where the reader of the output has gone: that of SIGPIPE

_ACTING = re.compile(
    rb"\x7f|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xa9]"  # UTF-8, as below
)


class ReaderGoneError(Exception):
    """Nobody reads standard output any more."""


class _Output(io.FileIO):
    """Standard output, whose failures have names of their own."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderGoneError from None
        except OSError as error:
            raise InputError(
                "room to write", found=error.strerror, file="standard output"
            ) from None


def prepare() -> None:
    """Put such an output in the place of standard output.

    What its encoding cannot say is written as an escape, not as a traceback.
    """
    if sys.stdout is None:  # closed from the start
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115  open as long as we run
        return
    try:
        raw = _Output(sys.stdout.fileno(), "w", closefd=False)
    except (OSError, ValueError):  # a buffer, of a caller in Python
        return
    sys.stdout = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=sys.stdout.encoding,
        errors="backslashreplace",
        line_buffering=raw.isatty(),
    )


def discard() -> None:
    """Discard what is still to be written to standard output."""
    with suppress(OSError, ValueError):  # a buffer takes all there is
        descriptor = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, descriptor)
        os.close(nowhere)


def print_bytes(data: bytes) -> None:
    """Print JSON; characters that act on a terminal become JSON's own escapes."""
    safe = _ACTING.sub(lambda found: b"\\u%04x" % ord(found[0].decode()), data)
    sys.stdout.buffer.write(safe)
    sys.stdout.buffer.flush()
