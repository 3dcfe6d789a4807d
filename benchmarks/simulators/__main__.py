"""Compare other simulators on the archive's workloads with known starts.

``python -m benchmarks.simulators [NAME ...]`` installs each simulator into its own folder under
build/simulators and runs every workload without GPUs, one partition at a time. The table has the
number of workloads on which every start is that of the policy. Below it is the first difference on
the smallest workload on which a scheduler differs.
"""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.simulators import slurm
from schedopt.instances import examples
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.policies.msfq.logs.start_check import first_wrong_start

ROOT = Path(__file__).parents[2]
ARCHIVE, BUILD = ROOT / "archive" / "backfilling.zip", ROOT / "build" / "simulators"
ADAPTERS = Path(__file__).with_name("adapters.py")
PATIENCE = 900.0  # time limit in seconds for all workloads under one scheduler
HEAD = (
    "| simulator | scheduler | policy | starts agree, estimates as given "
    "| starts agree, run times known |\n| --- | --- | --- | --- | --- |"
)


class Scheduler(msgspec.Struct):
    """A scheduler of a simulator, and the policy that it should follow."""

    name: str
    policy: str
    # Planned with the users' estimates ("given"), or with run times ("exact").
    estimates: tuple[str, ...]


class Peer(msgspec.Struct):
    """A public simulator of schedulers."""

    name: str
    url: str
    version: str  # a commit, or a release on PyPI
    schedulers: tuple[Scheduler, ...]
    folder: str = ""  # the required folder of the repository
    packages: tuple[str, ...] = ()  # the words of each call of pip


PEERS = msgspec.json.decode(Path(__file__).with_name("peers.json").read_bytes(), type=list[Peer])


def workloads() -> Iterator[Instance]:
    """Yield the archive's workloads without GPUs, one instance for each partition.

    A run time of 0 becomes 1. Estimates are at least the run time, since some simulators would end
    a job at its estimate.
    """
    for path in sorted((examples.unpack(ARCHIVE, "instances/") / "instances").glob("*.csv")):
        machine = json.loads(path.with_suffix(".json").read_bytes())
        if machine.get("resources"):
            continue
        with path.open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        for part, has in (machine.get("partitions") or {"": machine}).items():
            mine = [row for row in rows if row.get("partition", "") == part]
            submit, need, run, estimate = (
                np.array([int(row[column]) for row in mine])
                for column in ("submit", "need", "run", "estimate")
            )
            run = np.maximum(run, 1)
            jobs = Jobs.of(submit, need, run, np.maximum(run, estimate))
            name = path.stem.removeprefix("backfilling-") + (f"/{part}" if part else "")
            yield Instance(name=name, servers=has["servers"], log="log.csv").with_jobs(jobs)


def install(peer: Peer, home: Path) -> list[str]:
    """Install a simulator into a folder; return the command of its adapter."""
    python = "python2" if peer.name == "pyss" else str(home / "venv" / "bin" / "python")
    checkout = home / "checkout"
    commands: list[list[Any]] = [[sys.executable, "-m", "venv", home / "venv"]]
    if peer.folder:
        commands += [
            ["git", "clone", "--quiet", "--no-checkout", peer.url, checkout],
            ["git", "-C", checkout, "checkout", "--quiet", peer.version, "--", peer.folder],
        ]
    commands += [[python, "-m", "pip", "install", "-q", *p.split()] for p in peer.packages]
    if not (home / "complete").exists():
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        for command in commands:
            subprocess.run(command, check=True)
        (home / "complete").touch()
    return [python, str(ADAPTERS), peer.name, str(checkout)]


def starts_of(
    command: Sequence[str], scheduler: str, queues: Sequence[Instance]
) -> list[list[float] | str]:
    """Return the starts of each workload's jobs, or the reason why there are none."""
    lines = []
    for queue in queues:
        columns = (queue.jobs.submit, queue.jobs.need, queue.jobs.run, queue.jobs.estimate)
        titles = ("submit", "need", "run", "planned")
        rows = zip(*(map(int, column) for column in columns), strict=True)
        jobs = [dict(zip(titles, row, strict=True)) for row in rows]
        lines.append(json.dumps({"scheduler": scheduler, "servers": queue.servers, "jobs": jobs}))
    text = "".join(f"{line}\n" for line in lines)
    done = subprocess.run(
        command,
        cwd=Path(command[-1]).parent,  # some simulators write files
        input=text,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    found = [one["starts"] if "starts" in one else one["error"] for one in answers]
    why = (done.stderr.strip().splitlines() or ["it ended"])[-1]
    return found + [why] * (len(queues) - len(found))


def in_words(queue: Instance) -> str:
    """Return a workload in the notation of docs/howto/check-starts.md."""
    words = []
    for submit, need, run, planned in zip(
        queue.jobs.submit, queue.jobs.need, queue.jobs.run, queue.jobs.estimate, strict=True
    ):
        brackets = f" ({planned:g})" if planned != run else ""
        words.append(f"{need}×{run:g}{brackets}" + (f" @{submit:g}" if submit else ""))
    return f"{queue.servers} processors; jobs {', '.join(words)}"


def compare(
    command: Sequence[str], scheduler: str, policy: str, queues: Sequence[Instance]
) -> tuple[str, str]:
    """Compare every start with the policy's.

    Return the number of workloads on which all partitions agree, and the difference on the smallest
    one that does not.
    """
    agrees: dict[str, bool] = {}
    differences: list[tuple[int, str]] = []
    for queue, starts in zip(queues, starts_of(command, scheduler, queues), strict=True):
        difference = starts
        if not isinstance(starts, str):
            wrong = first_wrong_start(queue, policy, np.array(starts, dtype=float), "given", {})
            difference = wrong.in_words() if wrong else ""
        whole = queue.name.partition("/")[0]
        agrees[whole] = agrees.get(whole, True) and not difference
        if difference:
            differences.append((len(queue.jobs), f"{in_words(queue)}: {difference}"))
    return f"{sum(agrees.values())} of {len(agrees)}", min(differences, default=(0, ""))[1]


def with_run_times(queue: Instance) -> Instance:
    """Return a workload whose estimates are the run times."""
    return queue.with_jobs(replace(queue.jobs, estimate=queue.jobs.run))


def main(names: Sequence[str]) -> None:
    """Print the table and the differences."""
    known = [*(peer.name for peer in PEERS), "Slurm"]
    if unknown := set(names) - set(known):
        sys.exit(f"found {', '.join(unknown)}; expected names out of {', '.join(known)}")
    queues = {"given": list(workloads())}
    queues["exact"] = list(map(with_run_times, queues["given"]))
    print(HEAD)
    below: list[str] = []
    for peer in PEERS:
        if names and peer.name not in names:
            continue
        try:
            command = install(peer, BUILD / f"{peer.name}-{peer.version}")
        except (OSError, subprocess.CalledProcessError) as error:
            below.append(f"- {peer.name} is not compared: {error}")
            continue
        for scheduler in peer.schedulers:
            name, policy = scheduler.name, scheduler.policy
            cells = dict.fromkeys(queues, "")
            for kind in scheduler.estimates:
                cells[kind], case = compare(command, name, policy, queues[kind])
                below += [f"- {peer.name} {name}, {kind}: {case}"] if case else []
            title = f"[{peer.name}]({peer.url}) {peer.version[:7]}"
            print(f"| {title} | {name} | `{policy}` | {' | '.join(cells.values())} |")
    print("", *below, sep="\n", flush=True)
    if not names or "Slurm" in names:
        slurm.main(queues["given"])


if __name__ == "__main__":
    main(sys.argv[1:])
