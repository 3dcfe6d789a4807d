"""Logs of other formats in which jobs need several resources, in partitions: no line is lost."""

from pathlib import Path

import pytest
from builders.swf import line, said, saved

from schedopt.instances.errors import InputError
from schedopt.instances.files import dump, load
from schedopt.instances.msfq import Instance
from schedopt.instances.msfq.log_converters import convert


def accounted(queue: Instance, lines: int) -> list[str]:
    """Return the notes of a description which accounts for every line of a log."""
    kept, _, of = (queue.description or "").split(" jobs")[0].split(" ")
    gone = sum(int(note.split()[0]) for note in said(queue) if " left out, " in note)
    assert (int(kept), int(of), int(kept) + gone) == (len(queue.jobs), lines, lines)
    return said(queue)


SACCT = (
    "JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|AllocCPUS|AllocNodes|"
    "ReqMem|ReqTRES|AllocTRES|NodeList"
)


def dumped() -> list[str]:
    """Return 60 lines of ``sacct -P``: 20 jobs, their steps, arrays, and who never ran."""
    rows = []

    def row(job: str, part: str, state: str, minute: int, held: str, **more: str) -> None:
        cells = {
            "JobID": job,
            "JobName": "x",
            "User": f"u{minute % 3}",
            "Account": "a",
            "Partition": part,
            "State": state,
            "Submit": f"2024-03-01T10:{minute:02}:00",
            "Start": f"2024-03-01T11:{minute:02}:00",
            "End": f"2024-03-01T12:{minute:02}:00",
            "Elapsed": "01:00:00",
            "AllocCPUS": "4",
            "AllocNodes": "1",
            "ReqMem": "8Gn",
            "ReqTRES": "",
            "AllocTRES": held,
            "NodeList": "n1",
        } | more
        rows.append("|".join(cells[title] for title in SACCT.split("|")))

    never = {"Start": "Unknown", "End": "Unknown", "Elapsed": "00:00:00", "AllocCPUS": "0"}
    for job in range(10):  # one job and its steps
        row(f"{job}", "cpu", "COMPLETED", job, "billing=4,cpu=4,mem=16G,node=1")
        row(f"{job}.batch", "", "COMPLETED", job, "cpu=4,mem=16G,node=1")
        row(f"{job}.extern", "", "COMPLETED", job, "cpu=4,mem=16G,node=1")
        row(f"{job}.0", "", "FAILED", job, "cpu=4,mem=16G,node=1")
    for task in range(6):  # an array, of GPUs of a kind
        held = f"cpu=4,gres/gpu:a100={task},gres/gpu={task},mem=1536M,node=1"
        row(f"20_{task}", "gpu", "COMPLETED", 20, held)
    row("20_[6-99%4]", "gpu", "PENDING", 20, "", **never)
    for task in range(3):  # who went away before it ran, and one while it did
        row(f"3{task}", "cpu", "CANCELLED by 1000", 30, "", **never)
    row("33", "cpu", "CANCELLED by 1000", 31, "cpu=4,mem=2T,node=1")
    row("34", "gpu", "RUNNING", 32, "cpu=4,gres/gpu=1,mem=1G,node=1", End="Unknown")
    row("35", "debug", "TIMEOUT", 33, "cpu=2,mem=1G,node=1")
    row("36", "gpu", "NODE_FAIL", 34, "cpu=4,gres/gpu=9,mem=1G,node=1")
    row("37", "cpu", "COMPLETED", 35, "", AllocNodes="2", NodeList="n[1-2]")  # 8 GiB a node
    row("38", "gpu", "COMPLETED", 36, "", ReqTRES="cpu=4,gres/gpu=2,mem=3G,node=1")
    row("39", "cpu", "COMPLETED", 37, "cpu=64,mem=1G,node=1", AllocCPUS="64")
    row("40", "cpu", "COMPLETED", 38, "cpu=4,mem=1G,node=1", Submit="Unknown")
    rows.append("41|cut off")
    rows.append("")
    return rows


def test_every_line_of_a_dump_is_accounted_for(tmp_path: Path) -> None:
    lines = dumped()
    assert len(lines) == 60
    path, told = tmp_path / "dump.txt", list[str]()
    path.write_text("\n".join([SACCT, *lines]))
    parts = {"partition:cpu": "32,memory=65536", "partition:gpu": "16,memory=65536,gpu=8"}
    queue = convert(path, told.append, **parts)
    assert accounted(queue, 59) == [  # one line is empty
        "1 left out, of another number of cells than the header's 16 (first: line 60)",
        "30 left out, a step of a job",
        "1 left out, of an array that has not begun",
        "1 left out, that had not ended",
        "3 left out, that never ran",
        "times shifted: 0 is 2024-03-01T10:00:00 on the local clock",
        "columns not taken: jobname",
        "1 left out, of unknown submit time",
        "1 left out, of no partition of the machine",
        "1 left out, wider than its partition's processors",
        "needs not taken, for want of resource:NAME=AMOUNT: gpu:a100",
        "1 left out, in need of more gpu than its partition's",
        "1 left out, in need of more memory than its partition's",
        "no estimates",
    ]
    assert told[0] == queue.description
    for words in (
        "alloctres: need:memory, need:gpu:a100, need:gpu",
        "jobname: not taken",
        "partition: queue, partition",
    ):
        assert words in told[1]
    jobs = queue.jobs
    needs = dict(zip(jobs.needs.names, jobs.needs.amounts.T.tolist(), strict=True))
    assert needs["gpu"] == [0] * 10 + [0, 1, 2, 3, 4, 5] + [0, 2]
    assert needs["memory"] == [16384] * 10 + [1536] * 6 + [2 * 8192, 3072]
    assert [part.name for part in queue.parts()] == ["cpu", "gpu"]
    dump(queue, tmp_path / "dump.json")
    again = load(tmp_path / "dump.json")
    assert again.jobs.needs.amounts.tolist() == jobs.needs.amounts.tolist()
    assert again.partitions == queue.partitions
    plain = convert(path, processors=32)  # without a word of partitions, as ever
    assert (plain.jobs.needs, plain.jobs.partition) == (None, None)
    words = "needs not taken, for want of resource:NAME=AMOUNT: memory, gpu:a100, gpu"
    assert words in accounted(plain, 59)


def test_a_table_and_a_log_with_memory(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        "submit,need,run,need:gpu,GB,partition\n0,1,5,2,1.5,a\n1,2,5,,1,b\n2,1,5,9,1,a\n"
    )
    given = {"processors": 4, "resource:gpu": 8, "resource:memory": 4, "need:memory": "GB"}
    queue = convert(path, log="other.parquet", **given)
    assert queue.jobs.needs.amounts.tolist() == [[2, 2], [0, 1]]
    assert queue.jobs.partition.names == ("a", "b")
    notes = accounted(queue, 3)
    assert "1 of unknown gpu, taken to need none" in notes
    assert "1 in need of a part of a memory, taken to need all of it" in notes
    clipped = convert(path, log="other.parquet", wide="clip", **given)
    assert clipped.jobs.needs.amounts[:, 0].tolist() == [2, 0, 8]
    with pytest.raises(InputError, match="disk"):
        convert(path, log="other.parquet", **given | {"resource:disk": 1})
    with pytest.raises(InputError, match="option partition:a"):
        convert(path, log="other.parquet", **{"partition:a": "4,gpu"})
    more = {"asked": 4, "memory": 1000, "partition": 2}
    swf_path = saved(tmp_path, line(1, 0, 60, 2, **more), line(2, 0, 60, 2, **more), name="m.swf")
    from_swf = convert(swf_path, **{"partition:2": "8,memory=4000"})
    assert from_swf.jobs.needs.amounts.tolist() == [[4000], [4000]]
    assert from_swf.partitions["2"].resources == {"memory": 4000}
