"""The identity of an instance, whatever its file: a digest of its canonical JSON."""

import hashlib
from typing import Any

import msgspec


class Identity(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The identity of an instance: SHA-256 of its canonical JSON, and of its log's jobs."""

    name: str
    digest: str
    log: str = ""


def identity(instance: Any) -> Identity:
    """Return the identity of an instance."""
    data = msgspec.json.encode(instance, order="sorted")
    return Identity(name=instance.name, digest=hashlib.sha256(data).hexdigest(), log=_log(instance))


def _log(instance: Any) -> str:
    """Return a digest of the jobs of a log, empty where there is none."""
    if getattr(instance, "log", None) is None:
        return ""
    jobs, made = instance.jobs, hashlib.sha256()
    for column in (jobs.submit, jobs.need, jobs.run):
        made.update(column.astype(float).tobytes())
    if jobs.needs is not None:
        made.update(jobs.needs.amounts.tobytes())
    if instance.partitions:
        made.update(",".join(jobs.partition.names).encode() + jobs.partition.codes.tobytes())
    return made.hexdigest()
