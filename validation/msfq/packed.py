"""Numbers as a certificate holds them: doubles, least byte first, packed (zlib), in base 64."""

import base64
import zlib
from math import prod

import numpy as np
from numpy.typing import NDArray

MOST = 40_000_000  # the most values


def unpacked(values: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the numbers of an array; no more is unpacked than its shape may hold.

    `ValueError` if they are not as many as the shape says, too many, or not all finite.
    """
    count = prod(shape)
    if count > MOST:
        raise ValueError(f"more than {MOST} values")
    try:
        raw = zlib.decompressobj().decompress(base64.b64decode(values), 8 * count + 1)
        numbers = np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64)
    except (zlib.error, ValueError) as error:
        raise ValueError(f"values that cannot be unpacked, or are not {count}") from error
    if not np.isfinite(numbers).all():
        raise ValueError("values that are no numbers")
    return numbers
