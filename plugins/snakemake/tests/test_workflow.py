"""Real Snakemake under ``--scheduler schedopt``: from start to end, failing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("snakemake")

SNAKEFILE = """
SAMPLES = range(COUNT)

rule all:
    input: "total.txt"

rule make:
    output: temp("made/{i}.txt")
    resources: mem_mb=lambda w: 50 + 10 * (int(w.i) % 5)
    priority: 1
    shell: "echo {wildcards.i} > {output}"

rule left:
    input: "made/{i}.txt"
    output: temp("left/{i}.txt")
    group: "pair"
    resources: mem_mb=100
    shell: "cp {input} {output}"

rule right:
    input: "made/{i}.txt", "left/{i}.txt"
    output: "right/{i}.txt"
    group: "pair"
    resources: mem_mb=60
    priority: 5
    shell: "cat {input} > {output}"

rule check:
    input: "right/{i}.txt"
    output: "check/{i}.txt"
    resources: mem_mb=40
    shell: "CHECKcp {input} {output}"

rule total:
    input: expand("check/{i}.txt", i=SAMPLES)
    output: "total.txt"
    shell: "cat {input} > {output}"
"""


def snakemake(folder: Path, *words: object) -> list[str]:
    flags = f"-s {folder}/Snakefile --directory {folder} --cores 4 --resources mem_mb=300"
    own = [*flags.split(), "--scheduler", "schedopt"]
    return [sys.executable, "-m", "snakemake", *own, *map(str, words)]


def ran(folder: Path, *words: object, status: int = 0) -> str:
    done = subprocess.run(
        snakemake(folder, *words), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == status, done.stderr[-3000:]
    assert "greedy scheduler takes over" not in done.stderr
    return done.stderr


def workflow(folder: Path, count: int, check: str = "") -> Path:
    text = SNAKEFILE.replace("COUNT", str(count)).replace("CHECK", check)
    (folder / "Snakefile").write_text(text)
    return folder


def test_a_workflow_of_two_hundred_jobs_from_start_to_end(tmp_path: Path) -> None:
    folder = workflow(tmp_path, 50)
    said = ran(folder)
    assert "202 of 202 steps (100%) done" in said
    assert len((folder / "total.txt").read_text().splitlines()) == 100
    assert not list((folder / "made").glob("*")), "temporary files are gone"


def test_a_job_that_fails_ends_what_needs_it_alone(tmp_path: Path) -> None:
    folder = workflow(tmp_path, 4, check="test {wildcards.i} != 2 && ")
    said = ran(folder, "--keep-going", status=1)
    assert "Error in rule check" in said
    assert sorted(path.stem for path in (folder / "check").glob("*")) == ["0", "1", "3"]
