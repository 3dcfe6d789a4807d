"""The worker's side of a sweep: it does tasks and reports outcomes."""

import gc
import multiprocessing
import os
import sys
import threading
from multiprocessing.connection import Connection, wait

from schedopt.instances.encoding import to_json
from schedopt.policies.from_file import load_only
from schedopt.solvers.stopping import ignored
from schedopt.sweep.journal import Keyed
from schedopt.sweep.measure import Done, Step, Task, steps

ORPHANED = 1.0  # seconds between two looks at who the parent is
INTERRUPTED = 130  # exit status of a worker whose policy was interrupted, or raised that


def serve(line: Connection) -> None:
    """Do tasks as they come down a line, and tell each step."""
    ignored()  # Ctrl-C is the parent's
    parent = multiprocessing.parent_process()

    def follow() -> None:
        # A worker forked later holds the other end of our sentinel too, and may be at work.
        while parent is not None and not wait([parent.sentinel], ORPHANED):
            if os.getppid() != parent.pid:
                break
        os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
    line.send_bytes(b"ready")
    gc.freeze()  # loaded objects stay: rescanning them costs time
    while True:
        try:
            task = line.recv()
        except EOFError:
            sys.stdout.flush()
            os._exit(0)  # taking down an interpreter full of compiled code would take longer
        try:
            _do(line, task)
        except KeyboardInterrupt:  # a policy's own: signals are the parent's
            os._exit(INTERRUPTED)


def _do(line: Connection, task: Task) -> None:
    load_only(task.policy_files)
    told: list[Step[Keyed]] = []
    for step in steps(task):
        told.append(step)
        if not isinstance(step, Done):  # after which the next comes at once
            line.send_bytes(to_json(told))
            told.clear()
