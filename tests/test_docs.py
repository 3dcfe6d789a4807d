"""The documentation site: every snippet runs, it builds without warnings, and needs no network."""

import importlib.util
import json
import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import chdir, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from builders.cli import ROOT, Ran, process, scripted
from typer.main import get_command

from schedopt.cli import app
from schedopt.solvers.result import Document
from schedopt.sweep.rows import Row
from schedopt.verbs.contents import sections

DOCS = ROOT / "docs"
PAGES = sorted(  # those that are written by hand
    path for path in DOCS.rglob("*.md") if not any(part.startswith("_") for part in path.parts)
)
BLOCK = re.compile(r"^```(python|sh)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LASTING = re.compile(r"^\s*(class |@)|jobs=|cluster", re.MULTILINE)
"""What stays in a process, or starts others."""
WITH_SNIPPETS = [page for page in PAGES if BLOCK.search(page.read_text(encoding="utf-8"))]


def run(*command: str, directory: Path) -> Ran:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = {"PATH": path, "PYTHONPATH": str(ROOT), "MPLBACKEND": "agg"}
    return process(*command, directory=directory, env=found)


@pytest.mark.parametrize("page", WITH_SNIPPETS, ids=lambda page: page.stem)
def test_every_snippet_of_a_page_works(page: Path, tmp_path: Path) -> None:
    """Shell lines first and then Python, each in the page's order, as one script each."""
    (tmp_path / "instances").symlink_to(ROOT / "instances")
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    shell = "".join(code for language, code in blocks if language == "sh")
    python = "".join(code for language, code in blocks if language == "python")
    scripted(shell, tmp_path)
    if LASTING.search(python):
        run(sys.executable, "-c", python, directory=tmp_path)
    elif python:  # in this very process: starting another one takes longer than what most do
        with chdir(tmp_path), redirect_stdout(StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(python, {"__name__": "__main__"})  # noqa: S102  ours


def test_there_are_snippets_to_run() -> None:
    stems = {page.stem for page in WITH_SNIPPETS}
    assert stems >= {"index", "dssp", "hesrpt", "epoch", "msfq", "traces", "cluster", "constraint"}


ORDER = ["words", "mathematics", "example", "result", "constraints", "speed", "sources"]


@pytest.mark.parametrize("problem", ["dssp", "hesrpt", "epoch", "msfq"])
def test_a_problem_s_page_keeps_the_order(problem: str) -> None:
    text = (DOCS / "problems" / f"{problem}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.*)$", text, re.MULTILINE)
    rest = iter(headings)  # further headings may stand between these
    assert all(any(word in heading.lower() for heading in rest) for word in ORDER), headings


def test_the_site_is_built_without_a_warning_and_asks_for_no_network(tmp_path: Path) -> None:
    words = ["-m", "sphinx", "-W", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    words += ["-D", "toc_object_entries=0"]  # in the margins of pages, which take a fifth of all
    run(sys.executable, *words, directory=ROOT)
    pages = [path.read_text(encoding="utf-8") for path in tmp_path.rglob("*.html")]
    assert len(pages) >= len(PAGES)
    for text in pages:
        for tag in re.findall(r"<(?:script|link|img|iframe)\b[^>]*>", text):
            assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", tag), tag
    for style in tmp_path.rglob("*.css"):
        assert not re.search(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", style.read_text("utf-8"))
    mathematics = (tmp_path / "problems" / "hesrpt.html").read_text(encoding="utf-8")
    assert mathematics.count("<math") > 5
    assert str(ROOT) not in "".join(pages)
    index = (tmp_path / "searchindex.js").read_text(encoding="utf-8")
    for word in ("backfil", "licenc", "gap", "deadlin"):  # stemmed
        assert re.search(rf'\b"?{word}"?:', index), word


@pytest.fixture(scope="module")
def reference() -> dict[str, str]:
    """Return the pages that are written from the code, by name."""
    spec = importlib.util.spec_from_file_location("reference", DOCS / "reference.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return {name: page() for name, page in module.PAGES.items()}


def options_of(group: Any, before: str = "schedopt") -> Iterator[tuple[str, list[str]]]:
    """Yield each verb with its flags."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from options_of(command, f"{before} {name}")
        else:
            yield f"{before} {name}", [flag for option in command.params for flag in option.opts]


def test_every_verb_and_option_stands_in_the_reference(reference: dict[str, str]) -> None:
    found = list(options_of(get_command(app)))
    assert len(found) >= 14
    for verb, flags in found:
        section = reference["command-line"].split(f"## {verb}\n")[1].split("\n## ")[0]
        for flag in flags:
            assert f"`{flag}`" in section or f"`{flag.upper()}`" in section, (verb, flag)


def test_every_name_that_list_lists_stands_in_the_reference(reference: dict[str, str]) -> None:
    for section in ("constraints", "policies", "formulations", "generators"):
        for entry in sections([section])[section]:
            assert str(entry["name"]) in reference[section], entry
            for option in entry.get("options", ()):
                assert f"`{option.partition('=')[0]}`" in reference[section], (entry, option)
    for policy in sections(["policies"])["policies"]:
        assert str(policy["source"]) in reference["policies"].replace("&lt;", "<")


@pytest.mark.parametrize("problem", ["dssp", "hesrpt", "epoch", "msfq"])
def test_every_field_of_a_format_stands_in_the_reference(
    problem: str, reference: dict[str, str]
) -> None:
    """The fields are those of the published schema, which is made apart from these pages."""
    schema = json.loads((ROOT / "instances" / problem / "schema.json").read_text())
    instance = reference["formats"].split(f"## An instance of {problem}\n")[1]
    instance = instance.split("\n## An instance of")[0]
    for name, definition in schema["$defs"].items():
        properties = definition.get("properties", {})
        kind = next(iter(properties.get("kind", {}).get("enum", [])), None)
        text = instance + reference["constraints"]
        if f"## {kind}\n" in text:
            text = reference["constraints"].split(f"## {kind}\n")[1].split("\n## ")[0]
        for key in properties.keys() - {"problem", "kind"}:
            assert f"| `{key}` |" in text, (name, key)
    for key in Document.__struct_fields__:
        assert f"| `{key}` |" in reference["formats"].split("## A result\n")[1]
    for key in Row.__struct_fields__:
        assert f"| `{key}` |" in reference["formats"].split("## A row of a bench\n")[1]


def test_make_docs_is_the_same_command() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "-m sphinx -W --keep-going -q -b html docs build/docs" in makefile
