"""Kueue workloads and Kubernetes pods, as JSON lines: what they requested, and when they ran.

A line is an object as ``kubectl get workloads -A -o json | jq -c '.items[]'`` prints it (or pods),
or one with the keys ``requests`` (``{"cpu": "500m", "memory": "2Gi", "nvidia.com/gpu": 1}``),
``created``, ``started`` and ``finished``, and perhaps ``name``, ``queue``, ``user`` and
``partition``. CPUs are servers; where some job asks for a part of one, all are counted in
thousandths. Memory is in MiB. Other resources are called by what follows the last slash.

Source: Kubernetes' documentation, "Resource Management for Pods and Containers"; Kueue's, of a
workload.
"""

import re
from collections.abc import Iterator
from itertools import compress
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from schedopt.instances.errors import InputError, shown
from schedopt.instances.files import MOST_TABLE, read_bytes
from schedopt.instances.msfq.log_converters.cleaning import Raw
from schedopt.instances.msfq.log_converters.times import ZONE, points
from schedopt.instances.msfq.log_files import labels_of, names_of
from schedopt.instances.msfq.logs import Labels

OPTIONS = {"timezone": ZONE}
_UNITS = {
    "": 1.0,
    "n": 1e-9,
    "u": 1e-6,
    "m": 1e-3,
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "G": 1e9,
    "T": 1e12,
    "P": 1e15,
    "Ki": 2.0**10,
    "Mi": 2.0**20,
    "Gi": 2.0**30,
    "Ti": 2.0**40,
    "Pi": 2.0**50,
}
_QUANTITY = re.compile(r"([0-9.]+(?:[eE][0-9]+)?)([A-Za-z]*)")
_QUEUE = "kueue.x-k8s.io/queue-name"
_TIMES = ("created", "started", "finished")
_MIB = 2.0**20
_THOUSANDTHS = 1000


def read(path: str | Path, *, timezone: str | None = None) -> Raw:
    """Read workloads, pods or plain lines, perhaps gzipped; `InputError` names a line."""
    import polars as pl

    titles: dict[str, str] = {}
    notes: list[str] = []
    rows, lines, count = _rows(read_bytes(path, MOST_TABLE), titles, notes)
    at = np.array(lines, dtype=np.int64)
    clocks = {
        key: points(
            pl.Series(key, [_text(row.get(key)) for row in rows], dtype=pl.String), at, timezone
        )
        for key in _TIMES
    }
    notes += clocks["created"].notes()
    submit, zero = clocks["created"].since_first("UTC" if timezone else "UTC, or as given", notes)
    held = [row["requests"] for row in rows]
    names = dict.fromkeys(name for each in held for name in each)
    columns = {name: np.array([each.get(name, 0.0) for each in held]) for name in names}
    need = columns.pop("cpu", np.full(len(rows), np.nan))
    unit = 1
    if (np.isfinite(need) & (need != np.floor(need))).any():
        unit, need = _THOUSANDTHS, np.ceil(np.round(need * _THOUSANDTHS, 6))
        notes.append("processors counted in thousandths, of which some job asks for a part")
    if "memory" in columns:
        columns["memory"] = columns["memory"] / _MIB

    def labels(key: str) -> Labels | None:
        texts = [_text(row.get(key)) for row in rows]
        return labels_of(pl.Series(key, texts, dtype=pl.String)) if any(texts) else None

    raw = Raw(
        submit=submit,
        need=need,
        run=clocks["finished"].seconds - clocks["started"].seconds,
        estimate=np.full(len(rows), np.nan),
        line=at,
        rows=count,
        user=labels("user"),
        queue=labels("queue"),
        name=names_of(pl.Series([_text(row.get("name")) for row in rows], dtype=pl.String)),
        notes=notes,
        zero=zero,
        zone=timezone or "UTC",
        unit=unit,
        partition=labels("partition"),
        needs=columns,
    )
    for name in names:
        raw.became(name, "need" if name == "cpu" else f"need:{name}")
    for title, what in titles.items():
        raw.became(title, what)
    return raw


def _rows(
    data: bytes, titles: dict[str, str], notes: list[str]
) -> tuple[list[dict[str, Any]], list[int], int]:
    """Return jobs that ran, their lines, and how many there are in all."""
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    for number, text in enumerate(data.splitlines(), start=1):
        if text.strip():
            rows.append(_flat(text, number, titles))
            lines.append(number)
    count = len(rows)
    for key, words in (("started", "that never ran"), ("finished", "that had not ended")):
        there = [row.get(key) not in (None, "") for row in rows]
        if not all(there):
            notes.append(f"{there.count(False)} left out, {words}")
        lines, rows = list(compress(lines, there)), list(compress(rows, there))
    return rows, lines, count


def _flat(text: bytes, line: int, titles: dict[str, str]) -> dict[str, Any]:
    """Return a line as its plain form has it; `titles` collects what became of its keys."""
    try:
        given = msgspec.json.decode(text, type=dict[str, Any])
        kind = given.get("kind")
        row = _workload(given) if kind == "Workload" else _pod(given) if kind == "Pod" else given
        if row is not given:
            keys = {"metadata": "name, submit, user, queue", "spec": "requests", "status": "run"}
        else:
            keys = {
                "name": "name",
                "queue": "queue",
                "user": "user",
                "partition": "partition",
                "created": "submit",
                "started": "run",
                "finished": "run",
            }
        titles |= {key: keys.get(key, "") for key in given if key != "requests"}
        asked = row["requests"]
        row["requests"] = {
            name.rsplit("/", 1)[-1]: quantity(value) for name, value in asked.items()
        }
    except (msgspec.DecodeError, KeyError, TypeError, AttributeError, ValueError) as error:
        expected = "an object with requests, created, started and finished, a Pod or a Workload"
        raise InputError(expected, found=shown(str(error)), place=f"line {line}") from None
    return row


def quantity(value: object) -> float:
    """Return an amount such as 500m, 2Gi or 3; `ValueError` if it is none."""
    matched = _QUANTITY.fullmatch(str(value).strip())
    if matched is None or isinstance(value, bool) or matched[2] not in _UNITS:
        raise ValueError(f"the quantity {value}")
    return float(matched[1]) * _UNITS[matched[2]]


def _asked(containers: Any, times: int = 1) -> Iterator[tuple[str, float]]:
    for container in containers:
        for name, value in container.get("resources", {}).get("requests", {}).items():
            yield name, times * quantity(value)


def _summed(pairs: Iterator[tuple[str, float]]) -> dict[str, float]:
    total: dict[str, float] = {}
    for name, value in pairs:
        total[name] = total.get(name, 0.0) + value
    return total


def _meta(given: dict[str, Any]) -> dict[str, Any]:
    about = given["metadata"]
    queue = about.get("labels", {}).get(_QUEUE)
    return {
        "name": about.get("name"),
        "user": about.get("namespace"),
        "queue": queue,
        "created": about["creationTimestamp"],
    }


def _pod(given: dict[str, Any]) -> dict[str, Any]:
    """Return a pod's line: it ran from its start to the end of its last container."""
    status = given.get("status", {})
    states = [one.get("state", {}) for one in status.get("containerStatuses", ())]
    ends = [state["terminated"].get("finishedAt") for state in states if "terminated" in state]
    over = bool(ends) and len(ends) == len(states) and all(ends)
    return _meta(given) | {
        "requests": _summed(_asked(given["spec"]["containers"])),
        "started": status.get("startTime"),
        "finished": max(ends) if over else None,
    }


def _workload(given: dict[str, Any]) -> dict[str, Any]:
    """Return a workload's line: it ran from when it was admitted to when it finished."""
    spec, true = given["spec"], {}
    for condition in given.get("status", {}).get("conditions", ()):
        if condition.get("status") == "True":
            true[condition.get("type")] = condition.get("lastTransitionTime")
    asked = (
        pair
        for part in spec["podSets"]
        for pair in _asked(part["template"]["spec"]["containers"], part.get("count", 1))
    )
    admitted = given.get("status", {}).get("admission", {}).get("clusterQueue")
    return _meta(given) | {
        "requests": _summed(asked),
        "queue": spec.get("queueName"),
        "partition": admitted,
        "started": true.get("Admitted"),
        "finished": true.get("Finished"),
    }


def _text(value: object) -> str | None:
    return None if value is None else str(value)
