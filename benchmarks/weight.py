"""What an installation weighs: the base, and the extra ``all``, each in an empty environment.

Needs the network: pip fetches what the wheel depends on. ``python -m benchmarks.weight``.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
LARGEST = 8


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


def weight(folder: Path) -> float:
    """Return the megabytes of the files of a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) / 1e6


def main() -> None:
    """Print both, and the largest parts of each."""
    print("fetching from the package index, a few minutes", file=sys.stderr)
    with TemporaryDirectory() as scratch:
        (wheel,) = built(Path(scratch, "dist"))
        print(f"wheel  {wheel.stat().st_size / 1e6:6.1f} MB")
        for name, extra in (("base", ""), ("all", "all")):
            home = Path(scratch, name)
            environment(home, wheel, extra)
            (packages,) = home.glob("lib/python*/site-packages")
            count = len([*packages.glob("*.dist-info")])
            parts = sorted(((weight(part), part.name) for part in packages.iterdir()), reverse=True)
            told = ", ".join(f"{part} {size:.0f}" for size, part in parts[:LARGEST])
            print(f"{name:5}  {weight(home):6.0f} MB, {count} packages: {told}")
            made = sum(file.stat().st_size for file in packages.rglob("*.pyc")) / 1e6
            print(
                f"{'':5}  {made:6.0f} MB of it bytecode, which pip writes at once and uv does not"
            )


if __name__ == "__main__":
    main()
