"""Write docs/reproduction.md, and the record behind it, from a run of the whole ledger.

``python -m benchmarks.reproduction`` runs everything in full; names of files are documents of
``schedopt reproduce --json`` in place of a run, the later ones for entries that are in several.
"""

import sys
from pathlib import Path

import msgspec

from schedopt.instances.files import write_bytes
from schedopt.validation.reproduce.ledger import FILE, Entry, ledger
from schedopt.validation.reproduce.record import page, record
from schedopt.verbs.reproduce import reproduce

PAGE = Path(__file__).parent.parent / "docs" / "reproduction.md"


def main() -> None:
    """Write both."""
    texts = [Path(file).read_bytes() for file in sys.argv[1:]]
    texts = texts or [msgspec.json.encode(reproduce(watch=print))]
    documents = [msgspec.json.decode(text, type=list[Entry]) for text in texts]
    entries = {entry.name: entry for document in documents for entry in document}
    if missing := [name for name in ledger() if name not in entries]:
        sys.exit(f"no result of {', '.join(missing)}")
    write_bytes(FILE, record([entries[name] for name in ledger()]))
    write_bytes(PAGE, page(ledger()).encode())
    print(f"wrote {PAGE.name} and {FILE.name}")


if __name__ == "__main__":
    main()
