"""The command line: ``python -m schedopt`` and ``schedopt`` are the same."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line; bad input ends with one message and exit status 2."""
    from instances.errors import InputError
    from schedopt.cli import app

    try:
        app()
    except InputError as error:
        print(f"schedopt: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:  # the reader of our output has gone, as `head` does
        sys.stderr.close()
        sys.exit(0)


if __name__ == "__main__":
    main()
