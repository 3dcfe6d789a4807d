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
BREAKING = ("`", "<<", "$'")  # signs beside which a quoted value would not be safe
CLOSED_BY = {"((": ")", "(": ")", "${": "}", "$[": "]", "[": "]"}
READ_ONCE_MORE = {"((", "${", "$[", "["}
CONTINUED = "\v"  # stands for the end of a line that goes on
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
PROGRAM = re.compile(r"-\w*[ce]")  # the option after which comes a program; else it is told one


class Field(NamedTuple):
    """A field, and what stands around it."""

    name: str
    written: str  # as the template has it
    line: int
    within: tuple[str, ...]  # what is open around it
    words: tuple[str, ...]  # of its command, before its own
    part: str  # of its own word, before it

    @property
    def place(self) -> str:
        """In what a shell takes a value for more than a word; empty where in nothing."""
        if inside := next((sign for sign in self.within if sign in READ_ONCE_MORE), ""):
            return f"{self.written} within {inside}"
        if self.names_file or ASSIGNED.match(self.part):
            return ""
        begun = [n for n, word in enumerate(self.words, 1) if BEGINS.fullmatch(word)]
        words = self.words[max(begun, default=0) :]
        head = next((w for w in words if not (BEFORE.fullmatch(w) or ASSIGNED.match(w))), None)
        return "" if head else f"{self.written} as the command itself"

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
    levels: list[tuple[str, list[str], str]] = []
    words: list[str] = []
    part, at, line = "", 0, 0
    text = _bare(lines, first, last) + "\n"
    while at < len(text):
        sign, pair, inside = text[at], text[at : at + 2], first < line < last
        opening = pair if pair in CLOSED_BY else sign
        if field := FIELD.match(text, at):
            within = tuple(level[0] for level in levels)
            found += [Field(field[1], field[0], line + 1, within, tuple(words), part)] * inside
            part, at = part + "x", field.end()
        elif opening in CLOSED_BY:
            levels.append((opening, words, part))
            words, part, at = [], "", at + len(opening)
        elif levels and sign == CLOSED_BY[levels[-1][0]]:
            readers |= _readers([*words, part], inside=inside)
            opening, words, part = levels.pop()
            part, at = part + "x", at + 1 + (opening == "((")
        else:
            of_redirection = sign in "&|" and (part[-1:] in ("<", ">") or pair == "&>")
            if sign in "&|;)\n \t" and not of_redirection:
                words += [part] * bool(part)
                part = ""
                if sign in "&|;)\n" and text[at - 1] != CONTINUED:
                    readers |= _readers(words, inside=inside)
                    words = []
            elif sign != CONTINUED:
                part += sign
            at, line = at + 1, line + (sign == "\n")
    for field_ in found:
        if field_.place:
            expected = "a field as a word of a command, after the first"
            raise InputError(expected, found=field_.place, place=f"line {field_.line}")
    return found, readers


def _readers(words: list[str], *, inside: bool) -> set[str]:
    """Return those words of a command that read words once more."""
    named = [word.rpartition("/")[2] for word in words if word and not ASSIGNED.match(word)]
    found = {w for w in named if READERS.fullmatch(w) or (inside and DECLARING.fullmatch(w))}
    if "printf" in named and "-v" in named:
        found.add("printf")
    if any(map(PROGRAM.fullmatch, named)) or all(w[:1] == "-" for w in named[1:]):
        found |= {word for word in named if INTERPRETERS.fullmatch(word)}
    return found


def _bare(lines: list[str], first: int, last: int) -> str:
    """Return a script without what is quoted, escaped or a comment; each sign is where it was."""
    bare, quote = [], ""
    for n, line in enumerate(lines):
        where, quote = _read(line, quote)
        inside, place = first < n < last, f"line {n + 1}"
        for field in FIELD.finditer(line):
            at = where[field.start()]
            before = line[: field.start()][-1:]
            if not inside and at != "#":
                raise InputError("fields in the block alone", found=field[0], place=place)
            if inside and (at or before in ("\\", "$")):
                expected = "a field by itself: it is quoted already"
                raise InputError(expected, found=f"{at or before}{field[0]}", place=place)
        kept = [
            sign if not at else " " if at == "#" else "x"
            for sign, at in zip(line, where, strict=True)
        ]
        plain = "".join(kept)
        seen = line if inside else plain
        if sign := next((sign for sign in BREAKING if sign in seen and n < last), None):
            raise InputError("no such thing beside fields", found=sign, place=place)
        goes_on = (len(plain) - len(plain.rstrip("\\"))) % 2
        plain = re.sub(r"\\(.)", "xx", plain)
        bare.append(plain[:-1] + CONTINUED if goes_on else plain)
    return "\n".join(bare)


def _read(line: str, quote: str) -> tuple[list[str], str]:
    """Return the quote around each character (``#`` in comments), and any left open."""
    where: list[str] = []
    for i, sign in enumerate(line):
        where.append(quote)
        before = line[:i]
        if quote != "'" and (len(before) - len(before.rstrip("\\"))) % 2:
            continue
        if sign == "#" and not quote and (not before or before[-1] in " \t;&|()"):
            return [*where[:-1], *("#" * (len(line) - i))], ""
        if sign in ("'", '"') and quote in ("", sign):
            quote = "" if quote else sign
    return where, quote
