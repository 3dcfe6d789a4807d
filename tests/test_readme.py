"""The README's commands and snippets, run as a new user would, in their order."""

import re
import sys
from pathlib import Path

import pytest
from builders.cli import ROOT, scripted

TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_and_snippet_works(tmp_path: Path) -> None:
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    scripts = "".join(re.findall(r"```sh\n(.*?)```", TEXT, flags=re.DOTALL))
    lines = [line for line in scripts.splitlines() if not line.startswith(("make", "source"))]
    (tmp_path / "snippet.py").write_text("".join(re.findall(r"```python\n(.*?)```", TEXT, re.S)))
    printed = scripted("\n".join([*lines, f"{sys.executable} snippet.py"]), tmp_path)
    assert "optimal" in printed
    assert sum("schedopt" in line for line in lines) >= 8


def test_folders_and_files_that_it_names_exist() -> None:
    for name in re.findall(r"\]\(([\w./-]+)\)", TEXT):
        assert (ROOT / name).exists(), name
    for name in re.findall(r"`([a-z]+/)`", TEXT):
        assert (ROOT / name).is_dir(), name


OURS = "instances|formulations|solvers|policies|validation"


@pytest.mark.parametrize(
    "path",
    [
        ROOT / "README.md",
        *sorted(ROOT.glob("docs/**/*.md")),
        *sorted(ROOT.glob("notebooks/*.ipynb")),
    ],
    ids=lambda path: path.name,
)
def test_users_import_schedopt_alone(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    if path.parent.name == "howto":
        return  # a how-to on adding kinds subclasses what it adds to
    assert not re.findall(rf'^[ "]*(?:from|import) (?:{OURS})\b', text, re.MULTILINE)
