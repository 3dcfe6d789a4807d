"""Ready jobs: a table of names, values and needs, as integers.

The table is a CSV, JSON lines, a frame, a mapping of columns or a list of rows. A CSV of plain
numbers is parsed eight characters at a time in machine words. Rows that say the same of everything
but the name are one: of a rule's thousand jobs numbers are read once.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from schedopt.instances.alike import MIX, alike, mixed, slots
from schedopt.instances.decimals import SAFE, as_written, scale_of
from schedopt.instances.errors import InputError, decoded, listing, placed, shown, suggestion

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


NAME = "name"
MOST = 2**52  # largest number of a column, in its common unit
ROOM = 2**60  # upper limit of the sum of a column


class Jobs(NamedTuple):
    """Ready jobs."""

    names: Sequence[str]
    numbers: Floats  # what jobs of each kind say, shape (kinds, columns)
    kind: NDArray[np.intp]  # of each job, shape (jobs,)


def read_jobs(source: Any, columns: Sequence[str], resources: Sequence[str]) -> Jobs:
    """Read ready jobs; of the ``columns`` the ``resources`` are amounts, none below 0."""
    if isinstance(source, str | Path):
        from schedopt.instances.files import read_bytes

        with placed(file=source):
            return read_jobs(read_bytes(source), columns, resources)
    jobs = _of_text(source, columns) if isinstance(source, bytes) else _of_rows(source, columns)
    for i, column in enumerate(columns):
        _check(jobs, i, column, column in resources)
    if not (isinstance(jobs.names, Names) and jobs.names.differ()) and (
        len(set(jobs.names)) < len(jobs.names)
    ):
        twice = next(name for name, count in Counter(jobs.names).items() if count > 1)
        raise InputError("each name once", found=f"{shown(twice)} twice", place=NAME)
    return jobs


def _check(jobs: Jobs, i: int, column: str, amount: bool) -> None:
    """Refuse numbers that are none, or amounts below 0."""
    numbers = jobs.numbers[:, i]
    wrong = ~np.isfinite(numbers)
    if amount:
        wrong |= numbers < 0
    if wrong.any():
        kind = int(wrong.argmax())
        job = int((jobs.kind == kind).argmax())
        expected = "a number >= 0" if amount else "a number"
        found = shown(float(numbers[kind]))
        raise InputError(expected, found=found, place=f"job {shown(jobs.names[job])}, {column}")


def _of_text(data: bytes, columns: Sequence[str]) -> Jobs:
    data = data.removeprefix(b"\xef\xbb\xbf")
    data.isascii() or decoded(data)
    if data.lstrip()[:1] == b"{":
        return _of_rows(_lines(data.decode()), columns)
    title, _, body = data.replace(b"\r", b"").lstrip(b"\n").partition(b"\n")
    head = title.decode()
    delimiter = max(",;\t", key=head.count)
    titles = [title.strip().strip('"') for title in head.split(delimiter)]
    at = _positions(titles, columns)
    jobs = quickly(body, delimiter, at, len(titles))
    return Jobs(*jobs) if jobs else _carefully(data, at)


def _carefully(data: bytes, at: Sequence[int]) -> Jobs:
    """Read a CSV cell by cell, and say which is wrong."""
    from schedopt.instances.tables import read_csv

    rows = read_csv(data).rows
    cells = [[_number(row[i], place) for i in at[1:]] for place, row in rows]
    numbers = np.array(cells, dtype=float).reshape(len(rows), len(at) - 1)
    return Jobs([row[at[0]] for _, row in rows], numbers, np.arange(len(rows)))


def _lines(text: str) -> Iterable[Mapping[str, object]]:
    """Yield the rows of JSON lines."""
    import msgspec

    decode = msgspec.json.Decoder(dict[str, Any]).decode
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                yield decode(line)
            except (msgspec.DecodeError, msgspec.ValidationError) as error:
                raise InputError(
                    "a JSON object on each line", found=str(error), place=f"line {number}"
                ) from None


def _positions(titles: Sequence[str], columns: Sequence[str]) -> list[int]:
    """Return where the name and each column are."""
    for wanted in (NAME, *columns):
        if titles.count(wanted) != 1:
            known = listing(titles) + suggestion(wanted, titles)
            found = f"it {titles.count(wanted)} times" if wanted in titles else "none"
            raise InputError(f"one column {shown(wanted)}", found=f"{found}{known}", place="header")
    return [titles.index(wanted) for wanted in (NAME, *columns)]


def _number(cell: object, place: str) -> float:
    if cell is None or (isinstance(cell, str) and not cell.strip()):
        return 0.0
    try:
        if not isinstance(cell, bool):
            return float(cell)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        pass
    raise InputError("a number", found=shown(cell), place=place)


def _of_rows(source: Any, columns: Sequence[str]) -> Jobs:
    """Read a frame, a mapping of columns, or rows."""
    titles = getattr(source, "columns", source if isinstance(source, Mapping) else None)
    if titles is not None:
        at = [str(title) for title in titles]
        _positions(at, columns)
        names = [str(name) for name in source[NAME]]
        cells_by_column = [_column(source[column], column, len(names)) for column in columns]
        numbers = np.array(cells_by_column, dtype=float).reshape(len(columns), len(names)).T
    else:
        if not isinstance(source, Iterable):
            raise InputError("a table of ready jobs", found=type(source).__name__)
        names, cells, missing = [], [], set(columns)
        for i, row in enumerate(source):
            if not isinstance(row, Mapping) or NAME not in row:
                raise InputError("an object with a name", found=shown(row), place=f"row {i + 1}")
            place = f"job {shown(str(row[NAME]))}"
            names.append(str(row[NAME]))
            cells.append([_number(row.get(column), f"{place}, {column}") for column in columns])
            missing.difference_update(row)
        if names and missing:
            wanted = next(column for column in columns if column in missing)
            raise InputError(f"{shown(wanted)} in some row", found="it in none")
        numbers = np.array(cells, dtype=float).reshape(len(cells), len(columns))
    return Jobs(names, numbers, np.arange(len(names)))


def _column(values: Any, column: str, count: int) -> Floats:
    """Return a column as floats, 0 for missing cells."""
    try:
        numbers = np.asarray(values, dtype=float)
        if numbers.shape == (count,):
            return np.where(np.isnan(numbers), 0.0, numbers)
    except (TypeError, ValueError):
        pass
    cells = [_number(cell, f"{column}, row {i + 1}") for i, cell in enumerate(values)]
    if len(cells) != count:
        raise InputError(f"{count} cells, as of {NAME}", found=str(len(cells)), place=column)
    return np.array(cells)


def capacity_of(given: Mapping[str, object]) -> dict[str, float]:
    """Return the validated amount of each resource."""
    if not given:
        raise InputError("a resource or more", found="none", place="capacity")
    amounts = {}
    for name, amount in given.items():
        if (
            isinstance(amount, bool)
            or not isinstance(amount, int | float)
            or not 0 <= amount < MOST
        ):
            expected = f"a number >= 0 and less than {MOST:.6g}"
            raise InputError(expected, found=shown(amount), place=f"capacity {name}")
        amounts[str(name)] = float(amount)
    return amounts


def order_of(given: Iterable[str]) -> list[str]:
    """Return the validated objectives in order."""
    names = list(given) if not isinstance(given, str) else [given]
    if not names or len(set(names)) < len(names) or not all(isinstance(n, str) for n in names):
        raise InputError("one column or more, each once", found=shown(names), place="order")
    return names


def whole(numbers: Floats, column: str) -> tuple[Integers, int]:
    """Return a column as whole numbers, and how many are 1; `InputError` beyond 15 digits."""
    top = float(np.abs(numbers).max(initial=0.0))
    scale = scale_of(numbers) if top < SAFE else 0
    if not scale or top * scale >= MOST:
        found = f"numbers up to {top:.6g} in all their digits"
        raise InputError("numbers of up to 15 digits in one unit", found=found, place=column)
    return np.rint(numbers * scale).astype(np.int64), scale


def room_of(amount: float, scale: int) -> int:
    """Return how many units of 1/scale fit into an amount, at most as many as any sum has."""
    exact = as_written(amount) * scale
    return min(exact.numerator // exact.denominator, ROOM)
