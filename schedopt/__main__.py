"""The command line, ``schedopt`` or ``python -m schedopt``."""

import sys
from contextlib import suppress
from errno import ENOSPC


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
    from schedopt.cli import app, output
    from schedopt.instances.errors import InputError
    from schedopt.instances.extras import missing_import
    from schedopt.solvers.clock import compiling

    output.prepare()
    compiling.tell = lambda: print("compiling, once", file=sys.stderr)
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except InputError as error:
        message = str(error)
    except ModuleNotFoundError as error:
        message = str(missing_import(error))
    except MemoryError:
        message = "out of memory"
    except (BrokenPipeError, SystemExit) as ended:
        # the reader of the output has closed it, such as `head`: rich and click end with 1
        if not isinstance(ended.__context__ or ended, BrokenPipeError):
            raise
        output.discard()
        sys.exit(output.PIPE)
    except OSError as error:
        if error.errno != ENOSPC:
            raise
        message = str(InputError("room to write", found=error.strerror, file="standard output"))
    else:
        return
    output.discard()
    print(f"schedopt: {message}", file=sys.stderr)
    sys.exit(2)


if __name__ == "__main__":
    main()
