"""Many machines: a sweep on a Dask cluster (the extra ``cluster``)."""

import socket
from asyncio import CancelledError
from collections.abc import Generator, Sequence
from concurrent import futures
from dataclasses import replace
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from schedopt import __version__
from schedopt.instances.errors import InputError, shown
from schedopt.instances.extras import need
from schedopt.sweep.measure import Task
from schedopt.sweep.pool import Group, PolicyInterruptedError, in_batches, work

PATIENCE = 30.0  # seconds to wait for a scheduler, and for its first worker

LOST = (OSError, TimeoutError, CancelledError, futures.CancelledError)
"""Errors raised where the scheduler is gone."""


def remote(tasks: Sequence[Task], address: str, grace: float | None) -> Generator[Group]:
    """Compute tasks on a Dask cluster, and yield outcomes as they arrive."""
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
            most = 2 * _workforce(client)
            yield from _through(client, tasks, grace, most)
    except PolicyInterruptedError:
        raise KeyboardInterrupt from None
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


def release() -> str:
    """Return the version of schedopt that a cluster's machine has."""
    return __version__


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
    client: Any, tasks: Sequence[Task], grace: float | None, most: int
) -> Generator[Group]:
    executor = client.get_executor(pure=False)
    yield from in_batches(
        lambda batch: executor.submit(work, list(map(_packed, batch)), grace), tasks, most
    )


def _packed(task: Task) -> Task:
    """Return a task with what its files hold, which no worker sees."""
    try:
        return replace(task, source=task.source.packed())
    except InputError:  # which the worker will say
        return task
