"""Tables of plain numbers as text, parsed eight characters at a time in machine words."""

from collections.abc import Iterator, Sequence
from typing import overload

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.alike import MIX, alike, mixed, slots

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Letters = NDArray[np.uint8]
Positions = NDArray[np.intp]

PAD = 8
DIGITS = 15
NEWLINE, MINUS, POINT, ZERO = (np.uint8(ord(letter)) for letter in "\n-.0")
BLOCK, FEW = 1 << 13, 1 << 10
LACKS = np.array([64 - 8 * k for k in range(9)], dtype=np.uint64)
"""Bits that are not of a word of so many letters."""
MASKS = np.array([2 ** (64 - 8 * k) - 1 for k in range(9)], dtype=np.uint64)
SIXTY_FOUR = np.uint64(64)
ZEROS, ABOVE, HIGH = (np.uint64(0x0101010101010101 * k) for k in (0x30, 0x46, 0x80))


class Names(Sequence[str]):
    """Names in a text, decoded when asked for."""

    def __init__(self, data: bytes, words: Words, start: Integers, end: Integers) -> None:
        self._data, self._words, self._start, self._end = data, words, start, end

    def __len__(self) -> int:
        return len(self._start)

    @overload
    def __getitem__(self, i: int) -> str: ...
    @overload
    def __getitem__(self, i: slice) -> list[str]: ...
    def __getitem__(self, i: int | slice) -> str | list[str]:
        if isinstance(i, slice):
            ends = zip(self._start[i].tolist(), self._end[i].tolist(), strict=True)
            return [self._data[start:end].decode() for start, end in ends]
        return self._data[self._start[i] : self._end[i]].decode()

    def differ(self) -> bool:
        """Tell whether all differ: True is certain, False is not."""
        parts = [self._hashed(part) for part in _blocks(len(self))]
        if any(part is None for part in parts):
            return False
        numbers = np.concatenate(
            [part for part in parts if part is not None] or [np.zeros(0, "u8")]
        )
        while len(numbers) > FEW:  # what shares a slot is dealt out anew
            slot, holder = slots(numbers)
            shared = np.zeros(len(holder), dtype=np.bool_)
            shared[slot[holder[slot] != np.arange(len(slot))]] = True
            some = numbers[shared[slot]]
            if 2 * len(some) > len(numbers):
                break
            numbers = mixed(some, MIX)
        return len(np.unique(numbers)) == len(numbers)

    def _hashed(self, part: slice) -> Words | None:
        """Return a hash for each of some names; None where these are long."""
        start, length = self._start[part], self._end[part] - self._start[part]
        most = int(length.max(initial=0))
        if most > 8 * PAD:
            return None
        numbers = length.astype(np.uint64)
        for k in range(0, most, 8):
            lacks = LACKS[np.clip(length - k, 0, 8)]
            word = self._words[np.minimum(start + k, len(self._words) - 1)] << (lacks % SIXTY_FOUR)
            numbers = mixed(numbers, np.where(lacks < SIXTY_FOUR, word, np.uint64(0)))
        return numbers


def _blocks(count: int) -> Iterator[slice]:
    """Cut a table into blocks of rows that are small enough for the cache."""
    return (slice(start, start + BLOCK) for start in range(0, count, BLOCK))


def quickly(
    body: bytes, delimiter: str, at: Sequence[int], width: int
) -> tuple[Names, Floats, Positions] | None:
    """Return names, the numbers of each kind, and jobs' kinds; None where cells are not plain."""
    if width < 2 or b'"' in body or b" " in body:
        return None
    data = b"0" * PAD + body + (b"" if body.endswith(b"\n") else b"\n") + b"0" * PAD
    text = np.frombuffer(data, dtype=np.uint8)
    words = np.ndarray((len(data) - 7,), np.dtype("<u8"), data, strides=(1,))
    mark = text == NEWLINE
    rows = int(np.count_nonzero(mark))
    mark |= text == np.uint8(ord(delimiter))
    marks = np.flatnonzero(mark)
    if len(marks) != rows * width or (text[marks[width - 1 :: width]] != NEWLINE).any():
        return None
    ends = [marks[i::width] for i in range(width)]
    starts = [np.append(PAD, ends[-1][:-1] + 1), *(end + 1 for end in ends[:-1])]
    numbers = np.empty((len(at) - 1, rows))
    for part in _blocks(rows):
        for column, i in zip(numbers, at[1:], strict=True):
            cells = _numbers(text, words, starts[i][part], ends[i][part])
            if cells is None:
                return None
            column[part] = cells
    return Names(data, words, starts[at[0]], ends[at[0]]), *_kinds(numbers)


def _numbers(text: Letters, words: Words, start: Integers, end: Integers) -> Floats | None:
    """Read a column of cells of some digits, with a sign and a point; None where some is not."""
    negative = text[start] == MINUS
    signed = bool(negative.any())
    if signed:
        start = start + negative
    length = end - start
    most = int(length.max(initial=0))
    if most > DIGITS or (signed and (length[negative] == 0).any()):
        return None
    found = _digits(words, end, length) if most <= 8 else None
    if found is None:
        found = _decimals(text, start, length, most)
    return np.where(negative, -found, found) if signed and found is not None else found


def _digits(words: Words, end: Integers, length: Integers) -> Floats | None:
    """Read cells of up to eight digits; None where there is anything else.

    Source: D. Lemire, "Quickly parsing eight digits", 2018.
    """
    mask = MASKS[length]
    word = (words[end - 8] & ~mask) | (ZEROS & mask)
    if (((word + ABOVE) | (word - ZEROS)) & HIGH).any():
        return None
    word = word - ZEROS
    word = word * np.uint64(10) + (word >> np.uint64(8))
    pairs = np.uint64(0x000000FF000000FF)
    low = (word & pairs) * np.uint64(0x000F424000000064)
    high = ((word >> np.uint64(16)) & pairs) * np.uint64(0x0000271000000001)
    return np.asarray(((low + high) >> np.uint64(32)).astype(float))


def _decimals(text: Letters, start: Integers, length: Integers, most: int) -> Floats | None:
    """Read cells of digits and a point, letter by letter; None where there is anything else."""
    number, after = np.zeros(len(start), dtype=np.int64), np.zeros(len(start), dtype=np.int64)
    point = np.zeros(len(start), dtype=np.bool_)
    for k in range(most):
        there = length > k
        letter = text[np.minimum(start + k, len(text) - 1)]
        digit = letter - ZERO  # what is below wraps around
        good = there & (digit <= 9)
        dot = there & ~good
        if (letter[dot] != POINT).any() or (point & dot).any() or (length[dot] == 1).any():
            return None
        after += good & point
        point |= dot
        number = np.where(good, number * 10 + digit, number)
    return number / 10.0**after  # both are exact, so that it is rounded once


def _kinds(numbers: Floats) -> tuple[Floats, Positions]:
    """Return the numbers of each kind of job, and the kind of each; columns are rows here."""
    numbers += 0.0  # -0 is 0
    found = alike(numbers)
    if found is None:
        return numbers.T.copy(), np.arange(numbers.shape[1])
    first, number = found
    return numbers[:, first].T.copy(), number
