"""Run the whole ledger, and write docs/reproduction.md and claims.json.

``python -m benchmarks.reproduction`` takes an hour. Arguments are files of ``schedopt reproduce
--json`` that are used in place of a run; if an entry is in several files, the last one counts.
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
    """Write the page and claims.json."""
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
