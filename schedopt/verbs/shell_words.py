"""Where the fields of a shell script stand, and what a shell would do with their values there.

A quoted value is one word of a command. A shell reads it once more in arithmetic, in brackets and
in here-documents, and does what it says where it is the command itself; some commands read their
words once more too.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from schedopt.instances.errors import InputError

FIELD = re.compile(r"\{\{\s*([^{}\n]*?)\s*\}\}")
SHELLS = re.compile(r"#!\s*(/usr/bin/env\s+)?(\S*/)?(sh|bash|dash|ash|ksh|mksh|zsh)\b")
PART = re.compile(  # of a script: the first that suits at each place
    r"(?P<comment>(?<![^\s;&|()])\#[^\n]*)"
    r"|(?P<quoted>(?<!\$)'[^']*'|\"(?:\\.|[^\"\\])*\")"
    r"|(?P<continued>\\\n)|(?P<escaped>\\(?:\{\{[^{}\n]*\}\}|.))"
    r"|(?P<field>\{\{[^{}\n]*\}\})"
    r"|(?P<breaking>`|<<|\$'|['\"])"
    r"|(?P<opening>\(\(|\$\{(?!\{)|\$\[|\[|\()|(?P<closing>\)|\}|\])"
    r"|(?P<redirected>&>|[<>]&?)|(?P<ending>[;&|\n])|(?P<space>[ \t]+)|(?P<other>.)",
    re.DOTALL,
)
READ_ONCE_MORE = {"((", "${", "$[", "["}
ASSIGNED = re.compile(r"\w+\+?=")
BEGINS = re.compile(r"if|then|else|elif|do|while|until|!|\{")  # words after which a command begins
BEFORE = re.compile(  # words that a command stands after, and their options
    r"time|exec|command|builtin|coproc|nohup|env|nice|sudo|timeout|setsid|source|\.|-.*|\d+[smhd]?"
)
READERS = re.compile(  # commands that read their words, or what they are told, as a shell does
    r"alias|eval|ssh|rsh|pdsh|su|xargs|parallel|at|batch|crontab|watch|trap|[gm]?awk|sed|--wrap\b.*"
)
DECLARING = re.compile(  # commands that do so with names of variables
    r"let|declare|typeset|local|readonly|export|unset|read|mapfile|readarray|getopts|test"
)
INTERPRETERS = re.compile(r"(ba|da|a|k|mk|z)?sh|busybox|python[\d.]*|perl|ruby|node")
PROGRAM = re.compile(r"-\w*[ce]|-s")  # the option after which comes a program, or that tells of one


class Field(NamedTuple):
    """A field, and what stands around it."""

    name: str
    written: str  # as the template has it
    line: int
    words: tuple[str, ...]  # of its command, before its own
    part: str  # of its own word, before it

    @property
    def names_file(self) -> bool:
        """Whether it names a file that is read or written."""
        return bool(re.search("[<>]", self.part or "".join(self.words[-1:])))

    @property
    def may_be_option(self) -> bool:
        """Whether a value that begins with a dash is an option here."""
        return not self.part and "--" not in self.words


def fields_of(lines: list[str], first: int, last: int) -> tuple[list[Field], set[str]]:
    """Return the fields between two lines of a script, and the commands that read words once more.

    `InputError` where a field is not a word or a part of one, but might be more to a shell.
    """
    if lines[0].startswith("#!") and not SHELLS.match(lines[0]):
        raise InputError("a script for a shell that quotes as sh does", found=lines[0])
    found: list[Field] = []
    readers: set[str] = set()
    levels: list[tuple[str, list[str], str]] = []  # what is open, and the command around it
    words: list[str] = []
    part, line = "", 0
    for match in PART.finditer("\n".join(lines) + "\n"):
        kind, text = str(match.lastgroup), match[0]
        inside, place = first < line < last, f"line {line + 1}"
        hidden = kind in ("quoted", "escaped") or (kind == "comment" and inside)
        if hidden and (field := FIELD.search(text)):
            raise InputError(_expected(inside), found=f"{text[0]}{field[0]}", place=place)
        if kind == "breaking" and line < last:
            raise InputError("no such thing beside fields", found=text, place=place)
        if kind == "field":
            if not inside or part.endswith("$"):
                raise InputError(_expected(inside), found=text, place=place)
            _expect_word(text, words, part, {level[0] for level in levels}, place)
            name = str(FIELD.fullmatch(text)[1])  # type: ignore[index]
            found.append(Field(name, text, line + 1, tuple(words), part))
        if kind in ("ending", "space", "continued"):
            words += [part] * bool(part)
            part = ""
        if kind in ("ending", "closing"):
            readers |= _readers([*words, part], inside=inside)
            words = []
        if kind == "opening":
            levels.append((text, words, part))
            words, part = [], ""
        elif kind == "closing" and levels:
            _, words, part = levels.pop()
            part += "x"
        elif kind in ("quoted", "escaped", "field"):
            part += "x"
        elif kind in ("redirected", "other", "closing"):
            part += text
        line += text.count("\n")
    return found, readers


def _expected(inside: bool) -> str:
    if inside:
        return "a field by itself: it is quoted already"
    return "fields in the block alone"


def _expect_word(field: str, words: list[str], part: str, around: set[str], place: str) -> None:
    """Refuse a field that is more to a shell than a word, or a part of one."""
    expected = "a field as a word of a command, after the first"
    if inside := around & READ_ONCE_MORE:
        raise InputError(expected, found=f"{field} within {min(inside)}", place=place)
    if ASSIGNED.match(part) or re.search("[<>]", part or "".join(words[-1:])):
        return
    begun = [n for n, word in enumerate(words, 1) if BEGINS.fullmatch(word)]
    own = words[max(begun, default=0) :]
    if all(BEFORE.fullmatch(word) or ASSIGNED.match(word) for word in own):
        raise InputError(expected, found=f"{field} as the command itself", place=place)


def _readers(words: list[str], *, inside: bool) -> set[str]:
    """Return those words of a command that read words once more."""
    named = [word.rpartition("/")[2] for word in words if word and not ASSIGNED.match(word)]
    found = {w for w in named if READERS.fullmatch(w) or (inside and DECLARING.fullmatch(w))}
    if "printf" in named and "-v" in named:
        found.add("printf")
    if any(map(PROGRAM.fullmatch, named)) or all(w[:1] == "-" for w in named[1:]):
        found |= {word for word in named if INTERPRETERS.fullmatch(word)}
    return found
