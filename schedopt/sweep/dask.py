"""Many machines: a sweep on a Dask cluster (the extra ``cluster``)."""

import multiprocessing
import socket
import threading
import time
from asyncio import CancelledError
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent import futures
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

import msgspec

from schedopt import __version__
from schedopt.instances.encoding import to_json
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.sweep.measure import Outcome, Task, said
from schedopt.sweep.rows import Row
from schedopt.sweep.workers import Group, PolicyInterruptedError, Worker, WorkerError

PATIENCE = 30.0  # seconds to wait for a scheduler, and for its first worker
BATCH_SECONDS = 0.5  # seconds that a batch of tasks is meant to take

LOST = (OSError, TimeoutError, CancelledError, futures.CancelledError)
"""Errors raised where the scheduler is gone."""

_MINE = threading.local()


class Batch(msgspec.Struct, frozen=True):
    """Outcomes of tasks that were sent together."""

    outcomes: list[Outcome[Row]]  # one for each task
    seconds: float  # how long they took


def work(tasks: Sequence[Task], grace: float | None) -> bytes:
    """Do tasks in a process beside Dask's worker, which survives them; return a `Batch` as JSON."""
    began = time.monotonic()
    multiprocessing.current_process().daemon = False  # or it may have no process beside it
    if not hasattr(_MINE, "worker"):
        _MINE.worker = Worker()
    outcomes = [_MINE.worker.compute(task, grace) for task in tasks]
    return to_json(Batch(outcomes, time.monotonic() - began))


def release() -> str:
    """Return the version of schedopt that a cluster's machine has."""
    return __version__


def remote(tasks: Sequence[Task], address: str, grace: float | None) -> Iterator[Group]:
    """Do tasks on a Dask cluster, and yield outcomes as they arrive."""
    need("distributed", "--cluster")
    distributed = import_module("distributed")
    wrong = InputError(
        "the address of a Dask scheduler that answers, such as tcp://host:8786",
        found=shown(address),
        place="--cluster",
    )
    try:
        _knock(address)
        client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, TimeoutError, ValueError):
        raise wrong from None
    try:
        with client:
            threads = _workforce(client)
            yield from _through(client, distributed, tasks, grace, most=2 * threads)
    except LOST as error:
        raise InputError(
            "a cluster that answers; run again to go on",
            found=f"none any more ({type(error).__name__})",
            place="--cluster",
        ) from None


def _knock(address: str) -> None:
    """Check that the scheduler answers: a client without one would leave a thread behind."""
    parts = urlsplit(address)
    if parts.hostname is None or parts.port is None:
        raise ValueError
    socket.create_connection((parts.hostname, parts.port), timeout=PATIENCE).close()


def _workforce(client: Any) -> int:
    """Check that every worker has this version, and return the number of threads."""
    try:
        client.wait_for_workers(1, timeout=PATIENCE)
    except TimeoutError:
        raise InputError("a cluster with workers", found="none", place="--cluster") from None
    try:
        found = client.run(release)
    except Exception as error:  # noqa: BLE001  what a worker lacks comes back as whatever it raised
        raise InputError(
            "workers that have schedopt installed", found=shown(str(error)), place="--cluster"
        ) from None
    for worker, version in found.items():
        if version != __version__:
            raise InputError(
                f"schedopt {__version__} on every worker",
                found=f"{version} on {worker}",
                place="--cluster",
            )
    return max(1, sum(map(int, client.nthreads().values())))


def _through(
    client: Any, distributed: Any, tasks: Sequence[Task], grace: float | None, most: int
) -> Iterator[Group]:
    """Submit tasks, a few batches more at a time than there are workers, and yield outcomes."""
    waiting = deque(tasks)
    running: dict[str, tuple[Task, ...]] = {}
    submitted: dict[str, Any] = {}
    stream = distributed.as_completed(loop=client.loop)
    size = 1

    while True:
        while len(running) < most and waiting:
            batch: list[Task] = []
            packed: list[Task] = []
            while waiting and len(batch) < min(size, 1 + len(waiting) // most):
                task = waiting.popleft()
                try:
                    packed.append(replace(task, source=task.source.packed()))
                    batch.append(task)
                except InputError as error:
                    yield [(task, Outcome(rows=[], why=str(error)))]
            if not batch:
                continue
            future = client.submit(work, packed, grace, pure=False)
            running[future.key], submitted[future.key] = tuple(batch), future
            stream.add(future)
        if not running:
            return
        future = next(stream)
        done, found = running.pop(future.key), _outcomes(distributed, future)
        del submitted[future.key]
        if isinstance(found, Batch):
            size = max(1, min(2 * size, int(BATCH_SECONDS * len(done) / max(found.seconds, 1e-3))))
            yield list(zip(done, found.outcomes, strict=True))
        elif len(done) > 1:  # one of them is to blame, and only it
            waiting.extendleft(done)
            size = 1
        else:
            yield [(done[0], found)]


def _outcomes(distributed: Any, future: Any) -> Batch | Outcome[Row]:
    """Return a future's outcomes, or why its worker returned none."""
    if future.status == "finished":
        return msgspec.json.decode(future.result(), type=Batch)
    if future.status in ("cancelled", "lost"):
        raise CancelledError
    error = future.exception()
    if isinstance(error, PolicyInterruptedError):
        raise KeyboardInterrupt
    why = said(error)
    if isinstance(error, distributed.scheduler.KilledWorker):
        why = "the worker was killed on every attempt"
    elif isinstance(error, WorkerError):
        why = "its worker was closed"
    return Outcome(rows=[], why=why)
