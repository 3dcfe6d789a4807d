"""Write docs/reproduction.md, and the record behind it, from a run of the whole ledger.

``python -m benchmarks.reproduction`` runs everything in full; ``--quick`` on fewer instances;
``--results FILE ...`` takes documents of ``schedopt reproduce --json`` in place of a run, the later
ones for entries that are in several. ``--plots FOLDER`` writes all plots.
"""

import argparse
import sys
from pathlib import Path

import msgspec

from schedopt.instances.files import write_bytes
from schedopt.validation.reproduce.ledger import FILE, Entry, ledger
from schedopt.validation.reproduce.record import page, record
from schedopt.verbs.reproduce import reproduce

PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--results", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--plots", type=Path, help="a folder for all plots")
    given = parser.parse_args()
    if given.results is None:
        if given.plots:
            given.plots.mkdir(parents=True, exist_ok=True)
        watch = lambda name: print(name, "...", file=sys.stderr)  # noqa: E731
        run = reproduce(quick=given.quick, output=given.plots, watch=watch)
        texts = [msgspec.json.encode(run)]
    else:
        texts = [file.read_bytes() for file in given.results]
    documents = [msgspec.json.decode(text, type=list[Entry]) for text in texts]
    entries = {entry.name: entry for document in documents for entry in document}
    if missing := [name for name in ledger() if name not in entries]:
        sys.exit(f"no result of {', '.join(missing)}")
    write_bytes(FILE, record([entries[name] for name in ledger()]))
    write_bytes(PAGE, page(ledger()).encode())
    print(f"wrote {PAGE.name} and {FILE.name}")


if __name__ == "__main__":
    main()
