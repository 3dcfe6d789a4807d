"""What a release is: built, described, installed into empty environments, tried by the README.

Needs the network: ``make release-check``, or ``python -m benchmarks.release --python python3.12``.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from tempfile import TemporaryDirectory
from zipfile import ZipFile

import typer

ROOT = Path(__file__).parents[1]
PYTHONS = tuple(f"python3.{minor}" for minor in range(11, 14))
MOST_WHEEL = 2_000_000  # bytes of the wheel: instances and code


def built(folder: Path, *targets: str) -> list[Path]:
    """Build the package's wheel (or other targets) into a folder, and return the files."""
    words = [word for target in targets or ("wheel",) for word in ("-t", target)]
    command = (sys.executable, "-m", "hatchling", "build", "-d", str(folder), *words)
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    return sorted(folder.iterdir())


def environment(folder: Path, wheel: Path, extra: str = "", python: str = sys.executable) -> Path:
    """Install a wheel with an extra into an empty environment; return the folder of its commands.

    pip itself is not a part of it: it installs from outside.
    """
    subprocess.run((python, "-m", "venv", "--without-pip", str(folder)), check=True)
    what = f"{wheel}[{extra}]" if extra else str(wheel)
    pip = (sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python"), "install")
    subprocess.run((*pip, "--quiet", "--disable-pip-version-check", what), check=True)
    return folder / "bin"


def commands() -> list[str]:
    """Return what the README tells to type that a package alone can do."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    lines = "\n".join(re.findall(r"```sh\n(.*?)```", text, re.S)).splitlines()
    return [line for line in lines if line and not line.startswith(("make ", "pip ", "source "))]


def described(wheel: Path) -> None:
    """Check what the wheel says of itself against what the repository says."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = project["version"]
    files = ZipFile(wheel).namelist()
    info = f"schedopt-{version}.dist-info"
    assert f"{info}/licenses/LICENSE" in files, "the wheel has no licence"
    assert f"{info}/entry_points.txt" in files, "the wheel has no command"
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\n## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    size = wheel.stat().st_size
    assert size <= MOST_WHEEL, f"the wheel has {size:,} bytes"
    print(f"{wheel.name}: {size / 1e6:.1f} MB, {len(files)} files, licence, command, version")


def tried(bin_folder: Path, home: Path) -> None:
    """Run the README's commands from an installed package, in a folder with the instances alone."""
    home.mkdir()
    (home / "instances").symlink_to(ROOT / "instances")
    path = f"{bin_folder}{os.pathsep}{os.environ['PATH']}"
    for line in ["schedopt --version", "schedopt doctor", *commands()]:
        done = subprocess.run(
            ("bash", "-c", line),
            cwd=home,
            env=os.environ | {"PATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        print(f"  {'ok   ' if done.returncode == 0 else 'FAILS'} {line[:110]}", flush=True)
        assert done.returncode == 0, done.stderr[-2000:]


def main(python: list[str] | None = None, docs: bool = True) -> None:
    """Check a release: build, metadata, environments, README, documentation."""
    with TemporaryDirectory() as scratch:
        home = Path(scratch)
        wheel = next(
            file for file in built(home / "dist", "sdist", "wheel") if file.suffix == ".whl"
        )
        described(wheel)
        (sdist,) = (home / "dist").glob("*.tar.gz")
        again = home / "again"
        pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
        made = ("wheel", "--no-deps", "--no-build-isolation", "-w", str(again), str(sdist))
        subprocess.run((*pip, *made), check=True)
        (other,) = again.iterdir()
        assert ZipFile(other).namelist() == ZipFile(wheel).namelist(), "the sdist lacks files"
        print(f"{sdist.name}: a wheel made of it has the same files")
        tools = home / "tools"
        subprocess.run((sys.executable, "-m", "venv", "--without-pip", str(tools)), check=True)
        inside = ("--python", str(tools / "bin" / "python"), "install", "twine")
        subprocess.run((*pip, *inside), check=True)
        subprocess.run((tools / "bin" / "twine", "check", "--strict", wheel, sdist), check=True)
        there = [name for name in python or PYTHONS if _runs(name)]
        for name in there:
            print(f"{name}: {shlex.join(('pip', 'install', 'schedopt[all]'))}", flush=True)
            tried(environment(home / name, wheel, "all", name), home / f"try-{name}")
            shutil.rmtree(home / name)
        print(f"not here: {', '.join(name for name in PYTHONS if not _runs(name)) or 'none'}")
    if docs:
        subprocess.run(("make", "docs"), cwd=ROOT, check=True)


def _runs(python: str) -> bool:
    found = shutil.which(python)
    said = found and subprocess.run((found, "-V"), check=False, capture_output=True)
    return bool(said) and said.returncode == 0


if __name__ == "__main__":
    typer.run(main)
