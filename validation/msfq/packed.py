"""Numbers as a certificate holds them: doubles, least byte first, packed (zlib), in base 64."""

import base64
import binascii
import zlib
from math import prod

import numpy as np
from numpy.typing import NDArray

MOST = 40_000_000
"""The most values."""


def unpacked(values: str, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the numbers of an array; no more is unpacked than its shape may hold.

    `ValueError` if they are not as many as the shape says, too many, or not all finite.
    """
    count = prod(shape)
    if count > MOST:
        raise ValueError(f"more than {MOST} values")
    try:
        packed = base64.b64decode(values, validate=True)
        raw = zlib.decompressobj().decompress(packed, 8 * count + 1)
    except (binascii.Error, zlib.error, ValueError) as error:
        raise ValueError("values that cannot be unpacked") from error
    if len(raw) != 8 * count:
        raise ValueError(f"not {count} values")
    numbers = np.frombuffer(raw, "<f8").reshape(shape).astype(np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError("values that are no numbers")
    return numbers
