"""Real Snakemake under ``--scheduler schedopt``."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("snakemake")

SNAKEFILE = """
SAMPLES = range(50)

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
    shell: "cp {input} {output}"

rule total:
    input: expand("check/{i}.txt", i=SAMPLES)
    output: "total.txt"
    shell: "cat {input} > {output}"
"""


def test_a_workflow_of_two_hundred_jobs_from_start_to_end(tmp_path: Path) -> None:
    (tmp_path / "Snakefile").write_text(SNAKEFILE)
    flags = [
        "-m",
        "snakemake",
        "--cores",
        "4",
        "--resources",
        "mem_mb=300",
        "--scheduler",
        "schedopt",
    ]
    done = subprocess.run(
        [sys.executable, *flags], capture_output=True, text=True, check=False, cwd=tmp_path
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "greedy scheduler takes over" not in done.stderr
    assert "202 of 202 steps (100%) done" in done.stderr
    assert len((tmp_path / "total.txt").read_text().splitlines()) == 100
    assert not list((tmp_path / "made").glob("*")), "temporary files are gone"
