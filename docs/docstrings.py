"""What Sphinx needs to be told of this house's docstrings."""

import re
from collections import namedtuple
from typing import Any

SEVERAL = re.compile(r"^(\w+(?:, \w+)+) : ")
FIELD = type(namedtuple("_Pair", "a").a)


def join_names(
    _app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]
) -> None:
    """Let ``a, b : type`` be one name, of which Sphinx would take all but the last for a type."""
    for at, line in enumerate(lines):
        if several := SEVERAL.match(line):
            lines[at] = several[1].replace(", ", ",") + line[several.end(1) :]


def skip_fields(
    _app: Any, _what: str, _name: str, obj: Any, skip: bool, _options: Any
) -> bool | None:
    """Leave out fields of named tuples, which are described among the attributes."""
    return True if skip or isinstance(obj, FIELD) else None


def setup(app: Any) -> dict[str, bool]:
    """Come before napoleon, which reads the sections."""
    app.connect("autodoc-process-docstring", join_names, priority=400)
    app.connect("autodoc-skip-member", skip_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
