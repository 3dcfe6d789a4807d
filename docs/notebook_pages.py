"""The notebooks as pages, with the outputs that they are stored with."""

import base64
import json
import re
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
NOTEBOOKS = HERE.parent / "notebooks"
FOLDER = HERE / "_notebooks"
LINK = re.compile(r"\]\((?:\.\./)+notebooks/(\w+)\.ipynb\)")
"""A link of a page to a notebook, which works in a clone."""
ACTING = re.compile(r"\x1b\[[0-9;]*m")


def output(found: Any, name: str, number: int) -> str:
    """Return an output as Markdown; a picture goes into a file beside the page."""
    data = found.get("data", {})
    if "image/png" in data:
        picture = FOLDER / f"{name}-{number}.png"
        picture.write_bytes(base64.b64decode("".join(data["image/png"])))
        return f"![Picture {number} of the notebook]({picture.name})\n\n"
    text = "".join(found.get("text") or data.get("text/plain", ""))
    return f"```text\n{ACTING.sub('', text).rstrip()}\n```\n\n" if text.strip() else ""


def page(path: Path) -> str:
    """Return a notebook as Markdown."""
    parts, number = [], 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(f"{source}\n\n")
            continue
        parts.append(f"```python\n{source}\n```\n\n")
        for shown in cell["outputs"]:
            number += 1
            parts.append(output(shown, path.stem, number))
    parts.append(f"This page is `notebooks/{path.name}` with its stored outputs.\n")
    return "".join(parts)


def write(app: Any) -> None:
    """Write every notebook's page."""
    del app
    FOLDER.mkdir(exist_ok=True)
    for path in sorted(NOTEBOOKS.glob("*.ipynb")):
        text, target = page(path), FOLDER / f"{path.stem}.md"
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            target.write_text(text, encoding="utf-8")


def link_pages(_app: Any, _name: str, source: list[str]) -> None:
    """Link to the page of a notebook in place of the notebook."""
    source[0] = LINK.sub(r"](/_notebooks/\1.md)", source[0])


def setup(app: Any) -> dict[str, bool]:
    """Write before anything is read."""
    app.connect("builder-inited", write)
    app.connect("source-read", link_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
