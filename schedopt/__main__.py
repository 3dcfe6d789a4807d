"""The command line, ``schedopt`` or ``python -m schedopt``."""

import sys
from contextlib import suppress
from io import TextIOWrapper


def main() -> None:
    """Run the command line; a signal that ends it sets the exit status."""
    from schedopt.solvers.stopping import ENDING, stoppable

    with stoppable(*ENDING) as stop:
        try:
            try:
                _run()
            finally:  # signals are ignored from here on
                stop.held = True
        except BaseException as ended:
            stop.held = True
            if stop.signal is None:
                raise
            if not isinstance(ended, SystemExit):
                with suppress(OSError):  # a terminal that has closed
                    print("schedopt: interrupted", file=sys.stderr)
        if stop.signal is not None:
            sys.exit(stop.status)


def _run() -> None:
    """Run the command line; bad input ends with one message and exit status 2."""
    from schedopt.cli import app
    from schedopt.instances.errors import InputError
    from schedopt.instances.extras import missing_import
    from schedopt.solvers.clock import compiling

    if isinstance(sys.stdout, TextIOWrapper):  # escape the characters that the encoding lacks
        sys.stdout.reconfigure(errors="backslashreplace")
    compiling.tell = lambda: print("compiling, once", file=sys.stderr)
    try:
        app()
    except InputError as error:
        message = str(error)
    except ModuleNotFoundError as error:
        message = str(missing_import(error))
    except MemoryError:
        message = "out of memory"
    else:
        return
    print(f"schedopt: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
