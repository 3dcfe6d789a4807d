"""The command line: ``python -m schedopt`` and ``schedopt`` are the same."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; bad input ends with one message and exit status 2."""
    from schedopt.cli import app, streams
    from schedopt.instances.errors import InputError

    streams.prepare()
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except InputError as error:
        streams.discard()
        print(f"schedopt: {error}", file=sys.stderr)
        sys.exit(2)
    except MemoryError:
        streams.discard()
        print("schedopt: found more than fits into memory; expected less", file=sys.stderr)
        sys.exit(2)
    except streams.ReaderGoneError:  # as `head` does
        streams.discard()
        sys.exit(streams.PIPE)


if __name__ == "__main__":
    main()
