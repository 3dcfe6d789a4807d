"""Files that unpack to more than memory, and paths that are no files: refused in time."""

import gzip
import os
import socket
import tracemalloc
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl
import pytest
from builders import swf
from builders.cli import ROOT, run
from builders.refusals import refusal

from schedopt import example
from schedopt.instances import files
from schedopt.instances.cells import Cells
from schedopt.instances.dssp import Instance
from schedopt.instances.files import MOST_READ, load, read_bytes
from schedopt.instances.msfq import log_converters
from schedopt.instances.msfq.log_files import read_jobs
from schedopt.instances.msfq.traces import read_trace
from schedopt.instances.swf import read_log

CSV = b"submit,need,run\n" + b"1,1,1\n" * 50_000
SACCT = b"JobID|Submit|ElapsedRaw|AllocCPUS\n" + b"1|1|1|1\n" * 40_000
SWF = (swf.HEADER + f"{swf.line(1, 0, 5)}\n" * 8_000).encode()
_log = partial(log_converters.convert, processors=4)
_trace = partial(read_trace, queue=example("small"))
READERS: list[tuple[str, bytes, Callable[[Path], object]]] = [
    ("a.csv", CSV, partial(read_jobs, servers=4)),
    ("b.csv", CSV, _log),
    ("c.csv", SACCT, _log),
    ("d.swf", SWF, _log),
    ("e.swf", SWF, read_log),
    ("f.csv", b"time,need,size\n" + b"1,1,1\n" * 10_000, _trace),
    ("g.csv", b"name,tasks\n" + b"a,1x1\n" * 9_000, Cells.of),
    ("h.json", b'{"problem": "dssp"}' + b" " * 2**20, load),
]


@pytest.mark.parametrize(("name", "data", "read"), READERS, ids=[name for name, _, _ in READERS])
def test_what_unpacks_to_too_much(
    name: str,
    data: bytes,
    read: Callable[[Path], object],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv(MOST_READ, "1")
    for path, text in ((name, data), (f"{name}.gz", gzip.compress(data))):
        (tmp_path / path).write_bytes(text)
        error = refusal(read, tmp_path / path)
        assert "1 MiB" in error.expected
        assert MOST_READ in error.expected


def test_parquet_is_measured_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bomb.parquet"
    pl.select(submit=pl.repeat(0, 500_000), need=1, run=1).write_parquet(path)
    assert path.stat().st_size < 50_000
    monkeypatch.setenv(MOST_READ, "10")

    def unpack(*_: object) -> None:
        raise AssertionError("unpacked")

    monkeypatch.setattr(pl, "read_parquet", unpack)
    for read in (partial(read_jobs, servers=4), Cells.of):
        assert "500,000" in str(refusal(read, path))
    monkeypatch.undo()
    pl.DataFrame({"job": ["x" * 2**16] * 200}).write_parquet(path)
    monkeypatch.setenv(MOST_READ, "10")
    assert "10 MiB" in str(refusal(Cells.of, path))


def test_a_bomb_takes_no_more_memory_than_may_be_read(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b" " * 2**19) * 128)  # pieces, of which only the last is told
    most = 2**20
    tracemalloc.start()
    try:
        assert "1 MiB" in str(refusal(read_bytes, path, most))
        assert tracemalloc.get_traced_memory()[1] < 4 * most
    finally:
        tracemalloc.stop()
    whole = gzip.compress(b" " * 2**24)
    path.write_bytes(whole)
    assert "1 MiB" in str(refusal(read_bytes, path, most))


def test_how_much_is_read_can_be_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "n.json"
    path.write_bytes(files.encode(example("two-shots")) + b" " * 2**21)
    assert load(path) == example("two-shots")
    monkeypatch.setenv(MOST_READ, "1")
    assert "more" in str(refusal(load, path))
    monkeypatch.setenv(MOST_READ, "3")
    assert isinstance(load(path), Instance)
    monkeypatch.setenv(MOST_READ, "much")
    assert "MiB" in str(refusal(load, path))


def test_what_is_no_file_is_refused_at_once(tmp_path: Path) -> None:
    fifo, folder, door = tmp_path / "fifo.json", tmp_path / "folder.json", tmp_path / "s.json"
    os.mkfifo(fifo)
    folder.mkdir()
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(door))
        kinds = {
            fifo: "a pipe by name",
            folder: "a directory",
            door: "a socket",
            Path("/dev/zero"): "a device",
            Path("/dev/null"): "a device",
        }
        for path, found in kinds.items():
            for read in (load, _log, read_log, Cells.of, partial(read_jobs, servers=4)):
                assert refusal(read, path).found == found
    os.mkfifo(tmp_path / "log.csv")
    queue = '{"problem": "msfq", "name": "n", "servers": 4, "log": "log.csv"}'
    (tmp_path / "queue.json").write_text(queue)
    said = run("evaluate", tmp_path / "queue.json", "--policy", "easy", status=2).stderr
    assert "a pipe by name" in said
    assert said.count("\n") == 1


def test_a_pipe_of_the_shell_is_read() -> None:
    there, here = os.pipe()
    os.write(here, (ROOT / "instances/dssp/two-shots.json").read_bytes())
    os.close(here)
    assert load(f"/dev/fd/{there}") == example("two-shots")
    os.close(there)
