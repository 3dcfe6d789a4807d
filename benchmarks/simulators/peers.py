"""The other simulators: their sources, versions and schedulers."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.simulators.workloads import Workload

ADAPTERS = Path(__file__).with_name("adapters")
PATIENCE = 900.0  # time limit in seconds for all workloads under one scheduler


class MissingPeerError(RuntimeError):
    """A simulator cannot be installed or run; the message has the reason."""


@dataclass(frozen=True)
class Scheduler:
    """A scheduler of a simulator, and the policy that it should implement."""

    name: str
    policy: str
    estimates: tuple[str, ...] = ("given", "exact")


@dataclass(frozen=True)
class Peer:
    """A public simulator of schedulers.

    Attributes
    ----------
    version : str
        A release on PyPI, or a commit.
    paths : tuple of str
        Required paths of the repository; empty for a package of PyPI.
    packages, bare : tuple of str
        Packages to install, with and without their dependencies.
    python2 : bool
        Whether it needs Python 2.
    programs : tuple of str
        Required programs.
    """

    name: str
    url: str
    version: str
    adapter: str
    schedulers: tuple[Scheduler, ...]
    paths: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
    bare: tuple[str, ...] = ()
    python2: bool = False
    programs: tuple[str, ...] = ()


FCFS = ("given",)  # first come, first served, needs no estimates
PEERS = (
    Peer(
        "pyss",
        "https://github.com/dinesh121991/pyss",
        "44a24235f191ffcaf29b570328670d74099e8926",
        "run_pyss.py",
        (
            Scheduler("FcfsScheduler", "fcfs", FCFS),
            Scheduler("EasyBackfillScheduler", "easy"),
            Scheduler("ConservativeScheduler", "conservative"),
        ),
        paths=("src",),
        python2=True,
    ),
    Peer(
        "PyBatsim",
        "https://gitlab.inria.fr/batsim/pybatsim",
        "3.2.1",
        "run_pybatsim.py",
        (
            Scheduler("schedFcfs", "fcfs", FCFS),
            Scheduler("easyBackfillNotopo", "easy"),
            Scheduler("easyBackfill", "easy"),
        ),
        packages=("sortedcontainers", "procset==1.0", "docopt==0.6.2", "pyzmq"),
        bare=("pybatsim==3.2.1",),
    ),
    Peer(
        "AccaSim",
        "https://github.com/cgalleguillosm/accasim",
        "1.1.3",
        "run_accasim.py",
        (Scheduler("FIFO", "fcfs", FCFS), Scheduler("EBF", "easy")),
        packages=("accasim==1.1.3",),
    ),
    Peer(
        "CQSim",
        "https://github.com/SPEAR-UIC/CQSim",
        "d8bdbb00ad0775591b04fe631a99991700cff45e",
        "run_cqsim.py",
        (
            Scheduler("none", "fcfs", FCFS),
            Scheduler("EASY", "easy"),
            Scheduler("conservative", "conservative"),
        ),
        paths=("src",),
    ),
    Peer(
        "RAPS",
        "https://github.com/ExaDigiT/RAPS",
        "6c142bfdbfeb9f206cd4e552e9ac625895289f31",
        "run_raps.py",
        (Scheduler("fcfs", "fcfs", FCFS), Scheduler("easy", "easy")),
        paths=("raps",),
        packages=("numpy", "pandas", "scipy", "pydantic", "pydantic-settings", "pyyaml"),
    ),
    Peer(
        "sched-rl-gym",
        "https://github.com/renatolfc/sched-rl-gym",
        "44b7f1471739bc239877e2da3b49c98056d23107",
        "run_schedgym.py",
        (
            Scheduler("FifoScheduler", "fcfs", FCFS),
            Scheduler("EasyScheduler", "easy", ("exact",)),
            Scheduler("BackfillingScheduler", "conservative", ("exact",)),
        ),
        paths=("schedgym",),
        packages=("numpy", "intervaltree", "parallelworkloads"),
    ),
    Peer(
        "mjqm-simulator",
        "https://github.com/UniVe-NeDS-Lab/mjqm-simulator",
        "59410a56c9114b62de1b49ed4ef4121d5a3368c2",
        "run_mjqm.py",
        (
            Scheduler("Smash", "fcfs", FCFS),
            Scheduler("BackFilling", "easy", ("exact",)),
            Scheduler("BackFillingImperfect", "easy", ("given",)),
        ),
        paths=("libs",),
        programs=("g++",),
    ),
)


@dataclass
class Installed:
    """An installed simulator: the command that reads workloads from its standard input."""

    peer: Peer
    command: Sequence[str]
    folder: Path  # working directory

    def starts(self, scheduler: str, asked: Sequence[Workload]) -> list[list[float] | str]:
        """Return the starts of each workload's jobs, or the reason why there are none."""
        lines = "".join(json.dumps(message(scheduler, one)) + "\n" for one in asked)
        try:
            done = subprocess.run(
                self.command,
                cwd=self.folder,
                input=lines,
                capture_output=True,
                text=True,
                timeout=PATIENCE,
                check=False,
            )
            out, why = done.stdout, (done.stderr.strip().splitlines() or ["it ended"])[-1]
        except subprocess.TimeoutExpired as error:
            out = (error.stdout or b"").decode()
            why = f"no answer within {PATIENCE:g} s"
        answers = [json.loads(line) for line in out.splitlines()]
        found = [one["starts"] if "starts" in one else one["error"] for one in answers]
        return found + [why] * (len(asked) - len(found))


def message(scheduler: str, workload: Workload) -> dict[str, Any]:
    """Return a workload as the adapters expect it."""
    jobs = [job._asdict() for job in workload.jobs]
    return {"scheduler": scheduler, "servers": workload.servers, "jobs": jobs}


def install(
    peer: Peer, folder: Path, source: str | None = None, python2: str | None = None
) -> Installed:
    """Install a simulator into its own folder, from its public address or a local copy.

    Raises
    ------
    MissingPeerError
        If a program is missing, or git or pip fail.
    """
    if lacking := [program for program in peer.programs if not shutil.which(program)]:
        raise MissingPeerError(f"{lacking[0]} is not installed")
    home = folder.resolve() / f"{peer.name}-{peer.version}"
    python = str(_python2(python2) if peer.python2 else home / "venv" / "bin" / "python")
    command = [python, str(ADAPTERS / peer.adapter)]
    if peer.paths:
        command.append(str(home / "checkout"))
    complete = home / "complete"
    if not complete.exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        if peer.paths:
            _check_out(peer, home, source)
        if not peer.python2:
            _run(sys.executable, "-m", "venv", str(home / "venv"))
        for packages, options in ((peer.packages, ()), (peer.bare, ("--no-deps",))):
            if packages:
                _run(python, "-m", "pip", "install", "--quiet", *options, *packages)
        complete.touch()
    return Installed(peer, command, home)


def _python2(path: str | None) -> str:
    """Return the path of Python 2; `MissingPeerError` if there is none."""
    for program in (path,) if path else ("python2.7", "python2"):
        try:
            subprocess.run([program, "--version"], capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return program
    raise MissingPeerError("it needs Python 2 (--python2 PATH)")


def _check_out(peer: Peer, home: Path, source: str | None) -> None:
    """Write the required files of the commit into home/checkout."""
    if source is None:
        _run("git", "clone", "--quiet", "--bare", peer.url, str(home / "repository"))
        source = str(home / "repository")
    archive = str(home / "files.tar")
    _run("git", "-C", source, "archive", "--output", archive, peer.version, *peer.paths)
    shutil.unpack_archive(archive, home / "checkout", filter="data")


def _run(*command: str) -> None:
    """Run a command; `MissingPeerError` with the last line of its output if it fails."""
    done = subprocess.run(
        command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False
    )
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or ["it failed"]
        raise MissingPeerError(f"{command[0]}: {lines[-1]}")
