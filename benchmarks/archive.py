"""Make the archive's instances, and solve what is not proven yet (``make archive-solve``).

recipes.json says how the instances of each group are made and solved. Instances that are there stay
as they are, whatever became of their generators: they are frozen. A result takes the place of
another only where it is better, or its bound is re-proved.
"""

import gzip
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks.dssp_provable import night
from schedopt import __version__
from schedopt.archive.entries import Entry, Group, Made, Provenance, entry_from
from schedopt.instances.constraints import (
    Apart,
    AtMost,
    Constraint,
    FairShare,
    Forbid,
    Imply,
    Require,
    Resource,
    Together,
)
from schedopt.instances.files import dump, encode, load, write_bytes
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.logs import Jobs
from schedopt.solvers.result import Document
from schedopt.solvers.stopping import ENDING, finishing, stoppable, stopped
from schedopt.verbs.generate import generate
from schedopt.verbs.solve import solve

HERE = Path(__file__).parent
HOME = HERE.parent / "archive"
VERSION = "2026.11"
LICENCE = "CC0-1.0"
OWN = "made by schedopt's generators, with the seed that the entry names"
Options = dict[str, Any]


class Recipe(msgspec.Struct, frozen=True):
    """How the instances of a group are made and solved."""

    title: str
    # ``problem/generator``; ``night`` for that of `benchmarks.dssp_provable`, ``log`` for `log`.
    generator: str
    seeds: int  # the last of them; the first is 1
    options: Options = {}
    # Options that differ from instance to instance, beside the seeds; taken in turn.
    sweep: tuple[Options, ...] = ({},)
    rules: str | None = None  # which of `RULES` gives an instance side constraints
    formulation: str | None = None
    seconds: float = 10.0  # the time limit of each
    unproven: bool = False  # whether only instances that stay open are kept


def _caps(instance: Any, seed: int) -> list[Constraint]:
    """Cap each team at a share that binds for the larger ones."""
    del seed
    teams = instance.groups["team"]
    return [FairShare(name="caps", by="team", at_most=dict.fromkeys(teams, 1.2 / len(teams)))]


def _mixed(instance: Any, seed: int) -> list[Constraint]:
    """Draw one side constraint of each kind, on jobs that are not its neighbours."""
    draw = np.random.Generator(np.random.PCG64(seed))
    names = [instance.jobs[j].name for j in draw.permutation(len(instance.jobs))]
    use = {name: float(draw.integers(1, 6)) for name in names[20:32]}
    return [
        Require(name="promised", jobs=(names[0],)),
        Forbid(name="on hold", jobs=(names[1],)),
        Imply(name="needs", if_=names[2], then=names[3]),
        Together(name="one shot", jobs=(names[4], names[5])),
        Apart(name="either", jobs=(names[6], names[7], names[8])),
        AtMost(name="few", jobs=tuple(names[9:20]), count=4),
        Resource(name="licences", capacity=round(sum(use.values()) / 3), use=use),
        FairShare(name="caps", by="team", at_most={"team-01": 0.3, "team-02": 0.35}),
    ]


RULES: dict[str, Callable[[Any, int], Sequence[Constraint]]] = {"caps": _caps, "mixed": _mixed}


def log(jobs: int, servers: int, load: float, seed: int) -> Instance:
    """Draw a log: Poisson arrivals, needs that are powers of 2, lognormal runs, rough estimates."""
    draw = np.random.Generator(np.random.PCG64(seed))
    most = servers.bit_length() - 2
    need = 2 ** np.minimum(draw.geometric(0.4, jobs) - 1, most)
    run = np.maximum(1.0, np.rint(600 * np.exp(1.2 * draw.standard_normal(jobs))))
    apart = float((need * run).mean()) / (load * servers)
    submit = np.rint(np.cumsum(draw.exponential(apart, jobs)))
    estimate = run * draw.uniform(1.0, 4.0, jobs).round(1)
    jobs_of_log = Jobs(submit=submit, need=need.astype(np.int32), run=run, estimate=estimate)
    name = f"msfq-logs-{seed:02d}"
    return Instance(name=name, servers=servers, log=f"{name}.parquet").with_jobs(jobs_of_log)


def made(recipe: Recipe, name: str, index: int, seed: int) -> tuple[Any, Made]:
    """Return an instance of a group, and what it is made by."""
    options = recipe.options | recipe.sweep[index % len(recipe.sweep)]
    if recipe.generator in ("night", "log"):
        draw = night if recipe.generator == "night" else log
        instance = draw(**options, seed=seed)
        whence = "benchmarks.dssp_provable.night" if draw is night else "benchmarks.archive.log"
    else:
        problem, _, generator = recipe.generator.partition("/")
        instance = generate(problem, generator, seed=seed, options=options)
        whence = recipe.generator
    if recipe.generator == "log":
        return instance, Made(generator=whence, seed=seed, options=options)
    rules = RULES[recipe.rules](instance, seed) if recipe.rules else ()
    instance = msgspec.structs.replace(
        instance, name=name, constraints=(*instance.constraints, *rules)
    )
    return instance, Made(generator=whence, seed=seed, options=options, rules=bool(rules))


def known(folder: Path) -> dict[str, Entry]:
    """Return the entries that there are."""
    path = folder / "entries.jsonl"
    lines = path.read_bytes().splitlines() if path.exists() else []
    return {(entry := msgspec.json.decode(line, type=Entry)).name: entry for line in lines}


def better(entry: Entry, than: Entry | None) -> bool:
    """Tell whether an entry is to take the place of another."""
    if than is None or None in (than.objective, than.bound):
        return True
    if bool(than.certificate) > bool(entry.certificate) or entry.gap is None:
        return False
    return (entry.gap, not entry.certificate) < (than.gap or 0.0, not than.certificate)


def solved(recipe: Recipe, folder: Path, name: str, whence: Made) -> tuple[Entry, bytes]:
    """Solve an instance, and return its entry and its result's text."""
    file = folder / "instances" / f"{name}.json.gz"
    result = solve(
        load(file),
        formulation=recipe.formulation,
        time_limit=recipe.seconds,
        threads=1,
        certificate=True,
    )
    document: Document = msgspec.structs.replace(result.document(), trace=())
    text = encode(document)
    proof = ""
    if document.bound_checked:
        proof = str((document.certificate or {}).get("kind", "none needed"))
    by = Provenance(
        by=str(document.solver),
        date=datetime.now(UTC).date().isoformat(),
        version=document.version,
    )
    return entry_from(document, instance=file, text=text, made=whence, by=by, proof=proof), text


def wanted(recipe: Recipe, group: str, folder: Path) -> Iterator[tuple[str, Made]]:
    """Yield each instance's name and origin, and write those that are not there."""
    (folder / "instances").mkdir(parents=True, exist_ok=True)
    (folder / "results").mkdir(exist_ok=True)
    for index, seed in enumerate(range(1, recipe.seeds + 1)):
        name = f"{group}-{seed:02d}"
        instance, whence = made(recipe, name, index, seed)
        file = folder / "instances" / f"{name}.json.gz"
        if not file.exists():
            dump(instance, file)
        yield name, whence


def build(group: str, recipe: Recipe) -> None:
    """Make a group's instances, and solve those that are not proven; stopped, keep what is new."""
    folder = HOME / group
    entries = known(folder)
    try:
        for name, whence in wanted(recipe, group, folder):
            before = entries.get(name)
            if before and before.status == "proven" and before.certificate:
                continue
            entry, text = solved(recipe, folder, name, whence)
            if recipe.unproven and before is None and entry.status == "proven":
                (folder / "instances" / f"{name}.json.gz").unlink()
                continue
            if better(entry, before):
                entries[name] = entry
                write_bytes(folder / "results" / f"{name}.json.gz", gzip.compress(text, mtime=0))
            print(f"{name}: {entry.status}, gap {entry.gap}, {entry.certificate or 'believed'}")
            if stopped():
                raise KeyboardInterrupt
    finally:
        with finishing():
            write_group(group, recipe, entries)


def write_group(group: str, recipe: Recipe, entries: Mapping[str, Entry]) -> None:
    """Write a group's entries, and what it says of itself."""
    folder = HOME / group
    about = Group(
        name=group,
        version=VERSION,
        title=recipe.title,
        source=f"{OWN} (schedopt {__version__})",
        licence=LICENCE,
    )
    write_bytes(folder / "group.json", encode(about, indent=1))
    lines = b"".join(encode(entries[name]) for name in sorted(entries))
    write_bytes(folder / "entries.jsonl", lines)


def recipes() -> dict[str, Recipe]:
    """Return how each group is made."""
    return msgspec.json.decode((HERE / "recipes.json").read_bytes(), type=dict[str, Recipe])


def main(names: Sequence[str]) -> None:
    """Build groups: those that are named, or all; a signal ends it as it ends the command."""
    known = recipes()
    with stoppable(*ENDING) as stop:
        try:
            for one in names or known:
                build(one, known[one])
        except KeyboardInterrupt:
            print("interrupted: what is new is kept", file=sys.stderr)
    if stop.signal is not None:
        sys.exit(stop.status)


if __name__ == "__main__":
    main(sys.argv[1:])
