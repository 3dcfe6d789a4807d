"""The parts of a page that stand in files: templates, style and script; and what may run in it."""

import base64
import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

from schedopt.instances.errors import InputError, shown


def expect_html(path: str | Path) -> None:
    """Refuse a path that does not end in .html."""
    if Path(path).suffix.lower() != ".html":
        raise InputError("a report's name ending in .html", found=shown(Path(path).name))


@cache
def asset(name: str) -> str:
    """Return one of the package's own files: a template, the style or a part of a script."""
    return files("schedopt.report").joinpath(name).read_text(encoding="utf-8")


@cache
def script(parts: tuple[str, ...]) -> str:
    """Return a page's script, made of its parts."""
    return '"use strict";\n(() => {\n' + "\n".join(map(asset, parts)) + "})();\n"


def content_policy(*scripts: str) -> str:
    """Return a content security policy: these very scripts, no other, and no network at all."""
    hashes = " ".join(
        f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'"
        for script in scripts
    )
    return (
        f"default-src 'none'; script-src {hashes}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
