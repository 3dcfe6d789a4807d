"""What is installed: a wheel made from the sdist, beside whatever names a user's own files have."""

import re
import subprocess
import sys
from pathlib import Path

from builders.cli import ROOT, process

LAYERS = ("instances", "formulations", "solvers", "policies", "validation")
BARE = re.compile(rf"^\s*(?:from|import)\s+(?:{'|'.join(LAYERS)})\b(?!\s*$)", re.MULTILINE)


def test_no_file_imports_a_layer_by_its_bare_name() -> None:
    words = ["git", "ls-files", "*.py", "*.md", "*.ipynb"]
    tracked = subprocess.run(words, cwd=ROOT, check=False, capture_output=True).stdout.split()
    files = [ROOT / name.decode() for name in tracked] or list(ROOT.glob("*/**/*.py"))
    wrong = [
        f"{path}: {found}"
        for path in files
        if path.is_file()
        for found in BARE.findall(path.read_text(encoding="utf-8").replace('    "', ""))
    ]
    assert not wrong


def test_the_layers_are_links() -> None:
    for layer in LAYERS:
        assert (ROOT / "schedopt" / layer).is_symlink()
        assert (ROOT / "schedopt" / layer).resolve() == ROOT / layer


def test_one_package_is_installed(installed: Path) -> None:
    assert {path.name for path in installed.iterdir() if path.suffix != ".dist-info"} == {
        "schedopt"
    }
    for layer in LAYERS:
        assert (installed / "schedopt" / layer / "__init__.py").is_file()


HOSTILE = """
import schedopt
for name in ("two-shots", "twins", "fig8", "small"):
    result = schedopt.solve(f"example:{name}")
    assert result.solution is not None and not result.violations, result
    print(name, result.objective, schedopt.__file__)
"""


def test_a_users_own_files_do_not_break_it(installed: Path, tmp_path: Path) -> None:
    for name in ("solvers", "policies", "validation", "formulations"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('the wrong file')\n")
    (tmp_path / "instances").mkdir()
    (tmp_path / "instances" / "__init__.py").write_text("raise RuntimeError('the wrong file')\n")
    (tmp_path / "mine.py").write_text(HOSTILE)
    found = {"PYTHONPATH": str(installed)}
    done = process(sys.executable, "mine.py", directory=tmp_path, env=found)
    lines = done.stdout.splitlines()
    assert len(lines) == 4
    assert all(str(installed) in line for line in lines)
