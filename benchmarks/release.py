"""Check a release: build it, install it into an empty environment, and run the README's commands.

Needs the network: ``make release-check``, or ``python -m benchmarks.release python3.12``.
"""

import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

ROOT = Path(__file__).parents[1]
MOST_WHEEL = 2_000_000  # bytes
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")


def call(*words: object, **how: object) -> None:
    """Run a command, printed first; a failure ends the check."""
    print("$", *words, flush=True)
    subprocess.run([str(word) for word in words], check=True, **how)  # type: ignore[call-overload]


def main(pythons: list[str]) -> None:
    """Check the build, its metadata, installation for each Python, and the README's commands."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S)).splitlines()
    typed = [line for line in lines if line and not line.startswith(("make ", "pip ", "source "))]
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        targets = ("-t", "sdist", "-t", "wheel")
        call(sys.executable, "-m", "hatchling", "build", "-d", home / "dist", *targets, cwd=ROOT)
        (wheel,), (sdist,) = (home.glob(f"dist/*.{ending}") for ending in ("whl", "tar.gz"))
        assert wheel.stat().st_size <= MOST_WHEEL, f"the wheel has {wheel.stat().st_size:,} bytes"
        call(*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", home / "again", sdist)
        (again,) = (home / "again").iterdir()
        assert ZipFile(again).namelist() == ZipFile(wheel).namelist(), "the sdist lacks files"
        for number, python in enumerate(["", *pythons]):  # the first is for twine alone
            place = home / f"env-{number}"
            call(python or sys.executable, "-m", "venv", "--without-pip", place)
            what = f"{wheel}[all]" if python else "twine"
            call(*PIP, "--python", place / "bin" / "python", "install", what)
            if not python:
                call(place / "bin" / "twine", "check", "--strict", wheel, sdist)
                continue
            (folder := home / f"try-{number}").mkdir()
            (folder / "instances").symlink_to(ROOT / "instances")
            path = os.environ | {"PATH": f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"}
            for line in ("schedopt --version", "schedopt doctor", *typed):
                call("bash", "-c", line, cwd=folder, env=path, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main(sys.argv[1:] or [sys.executable])
