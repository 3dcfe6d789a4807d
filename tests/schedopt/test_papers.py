"""Tables for papers: LaTeX that compiles whatever the names, and CSV with every digit."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from builders.cli import refused, run
from builders.reports import EVIL, row
from hypothesis import given
from hypothesis import strategies as st

from schedopt.analysis.markup import SPECIAL, escaped, latex
from schedopt.analysis.summary import overview, summary
from schedopt.analysis.tables import for_papers, printed
from schedopt.problems import problems
from schedopt.problems.shown import ShownTable
from schedopt.sweep.rows import table

TEX = [*EVIL, 'a_b & c % $d$ #e {f} ~g ^h \\i <j> |k| "l" `m\' – µs …', "\\end{document}"]


@given(st.text())
def test_no_letter_is_left_that_latex_reads_as_something_else(name: str) -> None:
    text = escaped(name)
    written = "|".join(re.escape(v) for v in SPECIAL.values())
    left = re.sub(written, "", text)
    assert not set(left) & set("\\{}$&#%_^~<>|\"`'")


def test_a_table_has_as_many_cells_in_each_line() -> None:
    rows = [row(instance=f"i{i}", policy=name, gap=i / 100) for i in range(12) for name in TEX]
    (shown,) = for_papers(summary(rows), overview(rows))
    text = latex(shown)
    lines = [line for line in text.splitlines() if line.endswith(r" \\")]
    assert len(lines) == 1 + len(TEX)
    assert {len(re.findall(r"(?<!\\)&", line)) for line in lines} == {len(shown.heads) - 1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_latex_compiles(tmp_path: Path) -> None:
    shown = ShownTable(title=TEX[0], heads=("policy", "x"), rows=tuple((n, n) for n in TEX))
    packages = "\\usepackage{booktabs,textcomp}\\usepackage[T1]{fontenc}"
    text = f"\\documentclass{{article}}{packages}\\begin{{document}}{latex(shown)}\\end{{document}}"
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    words = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "t.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]


def test_names_are_those_that_papers_print() -> None:
    assert printed("hesrpt", "hesrpt") == "heSRPT"
    assert printed("dssp", "greedy+lcpf fill=0.9") == "greedy+LCPF fill=0.9"
    assert printed("dssp", "unheard-of") == "unheard-of"
    for record in problems():
        assert record.printed
        assert set(record.printed) <= set(record.policies()), record.name


@pytest.fixture
def file(tmp_path: Path) -> Path:
    gaps = [1 / 3, 0.0, 2 / 7]
    rows = [
        row(instance=f"i{i}", policy=p, gap=g) for i, g in enumerate(gaps) for p in ("a", "b,c")
    ]
    (tmp_path / "rows.jsonl").write_bytes(table(rows, ".jsonl"))
    return tmp_path / "rows.jsonl"


def printed_by(file: Path, *words: str) -> str:
    return run("summary", file, *words).stdout


def test_csv_keeps_every_digit(file: Path) -> None:
    told = json.loads(printed_by(file, "--json"))["summary"]
    lines = list(csv.DictReader(StringIO(printed_by(file, "--csv"))))
    assert [line["contender"] for line in lines] == ["a", "b,c"]
    for line, standing in zip(lines, told, strict=True):
        assert float(line["mean"]) == standing["mean"]
        assert line["low"] == ""
        assert json.loads(line["endings"]) == standing["endings"]
    steps = list(csv.DictReader(StringIO(printed_by(file, "--csv", "--profiles"))))
    assert {line["ratio"] for line in steps} == {"1.0"}
    (pair,) = csv.DictReader(StringIO(printed_by(file, "--csv", "--compare", "a,a")))
    assert (pair["same"], pair["instances"]) == ("3", "3")


def test_latex_has_a_table_for_each_thing_asked(file: Path) -> None:
    text = printed_by(file, "--latex", "--profiles", "--compare", "a,a")
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 3
    assert "performance" not in printed_by(file, "--latex")


@pytest.mark.parametrize(
    "words", ["--json --csv", "--csv --latex", "--csv --profiles --compare a,a", "FILE --latex"]
)
def test_one_sort_of_output_at_a_time(file: Path, words: str) -> None:
    assert refused("summary", file, *words.replace("FILE", str(file)).split())
