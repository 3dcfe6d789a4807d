"""Logs as instances: the table beside the file, what is refused in it, and that nothing is lost."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from builders.refusals import refusal

from schedopt.instances.errors import InputError
from schedopt.instances.files import companion_files, dump, load
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert
from schedopt.instances.msfq.log_files import read_jobs, write_jobs
from schedopt.instances.msfq.logs import Jobs
from schedopt.instances.protocol import identity

TABLE = "submit,need,run,estimate,user,queue\n0,2,5,10,ann,q\n0,1,2.5,,,q\n7,4,1,1,bob,\n"


def logged(folder: Path, text: str = TABLE, servers: int = 4, log: str = "toy.csv") -> Path:
    """Write a CSV and an instance beside it."""
    (folder / log).write_text(text)
    path = folder / "toy.json"
    document = {"problem": "msfq", "name": "toy", "servers": servers, "log": log}
    path.write_bytes(msgspec.json.encode(document))
    return path


def test_load_finds_the_log_beside_its_instance(tmp_path: Path) -> None:
    queue = load(logged(tmp_path))
    jobs = queue.jobs
    assert jobs.submit.tolist() == [0, 0, 7]
    assert jobs.need.tolist() == [2, 1, 4]
    assert jobs.run.tolist() == [5, 2.5, 1]
    assert jobs.planned().tolist() == [10, 2.5, 1]
    assert jobs.planned("exact").tolist() == [5, 2.5, 1]
    assert (jobs.user.names, jobs.user.codes.tolist()) == (("ann", "bob"), [0, -1, 1])
    assert (jobs.queue.names, jobs.queue.codes.tolist()) == (("q",), [0, 0, -1])
    assert jobs.group is None
    assert queue.load == pytest.approx((10 + 2.5 + 4) / (4 * 7))
    assert queue.arrival_rate == pytest.approx(2 / 7)
    assert list(queue.groups["need"]) == ["1", "2", "4"]
    assert queue.one_or_all is None
    assert not queue.memoryless
    assert companion_files((tmp_path / "toy.json").read_bytes()) == ("toy.csv",)


@pytest.mark.parametrize("log", ["a.parquet", "a.csv.gz"])
def test_dump_and_load_of_a_log_round_trip(tmp_path: Path, log: str) -> None:
    jobs = Jobs.of(
        [0, 0.5, 0.5],
        [1, 2, 3],
        [1, 1e-3, 7],
        [2, np.nan, 8],
        user=["=1+1", None, "'a,b"],
        queue=["x", "y", "x"],
    )
    queue = Instance(name="a", servers=3, log=log).with_jobs(jobs)
    dump(queue, tmp_path / "a.json.gz")
    back = load(tmp_path / "a.json.gz")
    assert identity(back) == identity(queue)
    for key in ("submit", "need", "run", "estimate"):
        np.testing.assert_array_equal(getattr(back.jobs, key), getattr(jobs, key))
    assert back.jobs.user.names == jobs.user.names
    assert back.jobs.user.codes.tolist() == jobs.user.codes.tolist()
    assert back.jobs.group is None
    first = (tmp_path / log).read_bytes()
    dump(queue, tmp_path / "a.json.gz")
    assert (tmp_path / log).read_bytes() == first, "the same log is the same file"
    assert {p.name for p in tmp_path.iterdir()} == {"a.json.gz", log}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("submit,need\n0,1\n", "columns: found submit, need; expected a column 'run'"),
        ("submit,need,run,estimte\n0,1,1,1\n", "did you mean 'estimate'?"),
        ("submit,need,run\n0,1,abc\n1,1,x\n", "row 0, column 'run': found 'abc', and 1 more"),
        ("submit,need,run\n0,1,1\n0,,1\n", "row 1, column 'need': found an empty cell"),
        ("submit,need,run\n0,1,0\n", "row 0, column 'run': found 0; expected a number > 0"),
        ("submit,need,run\n5,1,1\n4,1,1\n", "row 1, column 'submit': found 4; expected no less"),
    ],
)
def test_load_names_wrong_cells_of_a_log(tmp_path: Path, text: str, words: str) -> None:
    error = refusal(load, logged(tmp_path, text))
    assert words in str(error)
    assert str(error).startswith(str(tmp_path / "toy.csv"))


PARTS = {"partitions": {"a": {"servers": 3, "resources": {"gpu": 2}}, "b": {"servers": 1}}}
VECTORS = "submit,need,run,partition,need:gpu\n0,2,5,a,2\n1,1,5,b,0\n"


@pytest.mark.parametrize(
    ("text", "keys", "words"),
    [
        (TABLE, {"log": "../toy.csv"}, "without a folder"),
        (TABLE, {"log": "none.csv"}, "expected a file that exists"),
        (TABLE, {"classes": [{"need": 1, "arrival_rate": 1, "service_rate": 1}]}, "classes or a"),
        (VECTORS, {}, "expected 'gpu' in resources"),
        (VECTORS, {"resources": {"gpu": 1}}, "need:gpu of at most 1, all that there is"),
        (VECTORS, PARTS | {"servers": 5}, "4, the total of all partitions"),
        (VECTORS.replace("b,0", "b,1"), PARTS, "at most 0, all .* partition b"),
        (VECTORS.replace("b,0", "c,0"), PARTS, "1 jobs of none, the first in row"),
    ],
)
def test_load_refuses_invalid_instances_of_a_log(
    tmp_path: Path, text: str, keys: dict[str, object], words: str
) -> None:
    path = logged(tmp_path, text)
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | keys))
    with pytest.raises(InputError, match=words):
        load(path)


def test_load_reads_resources_and_partitions(tmp_path: Path) -> None:
    path = logged(tmp_path, VECTORS)
    path.write_bytes(msgspec.json.encode(msgspec.json.decode(path.read_bytes()) | PARTS))
    queue = load(path)
    for log in ("again.parquet", "again.csv.gz"):
        write_jobs(queue.jobs, tmp_path / log)
        again = read_jobs(tmp_path / log, queue.servers)
        assert again.needs.names == ("gpu",)
        assert again.needs.amounts.tolist() == [[2], [0]]
        assert again.partition.names == ("a", "b")


def test_load_refuses_another_table_than_the_instance_was_written_with(tmp_path: Path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("submit,need,run\n0,1,5\n1,2,9\n")
    dump(convert(log, processors=2), tmp_path / "a.json")
    dump(convert(log, processors=2, jobs=1), tmp_path / "b.json")
    (tmp_path / "b.parquet").replace(tmp_path / "a.parquet")
    error = refusal(load, tmp_path / "a.json")
    assert error.file == str(tmp_path / "a.parquet")
    assert "convert the log again" in error.expected
