"""Solve again what is open in the archive, or believed, and keep what is better.

``python -m benchmarks.archive [GROUP ...]`` (``make archive-solve``): an instance gets a minute;
what `submit` takes of the answer, whole or in part, takes the place of the entry. The instances
themselves are frozen, whatever became of what they were drawn by, which their entries name.
"""

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from schedopt.archive.entries import Entry, asking, entries
from schedopt.archive.judging import Judgement, submit
from schedopt.instances.examples import folder_of, groups, instance_path
from schedopt.instances.files import dump, encode, load, write_bytes
from schedopt.solvers.stopping import ENDING, finishing, stoppable, stopped
from schedopt.verbs.solve import solve

SECONDS = 60.0


def solve_again(group: str, entry: Entry) -> Judgement:
    """Solve an instance once more, and judge the answer as anybody's."""
    path = instance_path(f"{group}/{entry.name}")
    result = solve(
        load(path),
        formulation=entry.formulation,
        options=asking(entry.problem, entry.formulation, entry.options),
        time_limit=SECONDS,
        threads=1,
        certificate=True,
    )
    with TemporaryDirectory() as folder:
        claim = Path(folder) / "claim.json"
        dump(msgspec.structs.replace(result.document(), trace=()), claim)
        return submit(path, claim, str(result.solver))


def improve(group: str) -> None:
    """Solve a group's entries that are not proven, or believed; stopped, keep what is new."""
    folder, recorded = folder_of(group), {entry.name: entry for entry in entries(group)}
    try:
        for name, entry in recorded.items():
            if entry.status == "proven" and entry.certificate:
                continue
            judged = solve_again(group, entry)
            if judged.entry is not None and judged.result is not None:
                recorded[name] = judged.entry
                text = gzip.compress(encode(judged.result), mtime=0)
                write_bytes(folder / "results" / f"{name}.json.gz", text)
            print(f"{name}: {'; '.join(judged.why)}")
            if stopped():
                raise KeyboardInterrupt
    finally:
        with finishing():
            lines = b"".join(map(encode, recorded.values()))
            write_bytes(folder / "entries.jsonl", lines)


def main(names: Sequence[str]) -> None:
    """Go through groups: those that are named, or all; a signal ends it as it ends the command."""
    with stoppable(*ENDING) as stop:
        try:
            for one in names or groups():
                improve(one)
        except KeyboardInterrupt:
            print("interrupted: what is new is kept", file=sys.stderr)
    if stop.signal is not None:
        sys.exit(stop.status)


if __name__ == "__main__":
    main(sys.argv[1:])
