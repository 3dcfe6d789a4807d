"""Random numbers of the simulators: xoshiro256++, which is faster than numba's generator.

Source: Blackman and Vigna, "Scrambled linear pseudorandom number generators", ACM Transactions on
Mathematical Software 47, 2021; seeded by SplitMix64, as its authors recommend.
"""

from math import cos, exp, log, log1p, pi, sqrt
from typing import Any

import numpy as np

from schedopt.solvers.compiling import kernel, makes_no_arrays

SCALE = 1.0 / 2**53
WORD = 2**64 - 1


def stream(seed: int, number: int) -> Any:
    """Return the state of one of the streams of a seed, shape (4,)."""
    x, state = (seed * 0xD1342543DE82EF95 + number) & WORD, []
    for _ in range(4):
        x = (x + 0x9E3779B97F4A7C15) & WORD
        z = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9 & WORD
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB & WORD
        state.append(z ^ (z >> 31))
    return np.array(state, dtype=np.uint64)


@makes_no_arrays
def uniform(s: Any) -> float:
    """Return a uniform number in (0, 1)."""
    total = np.add(s[0], s[3])  # modulo 2^64
    result = np.add((total << np.uint64(23)) | (total >> np.uint64(41)), s[0])
    t = s[1] << np.uint64(17)
    s[2] ^= s[0]
    s[3] ^= s[1]
    s[1] ^= s[2]
    s[0] ^= s[3]
    s[2] ^= t
    s[3] = (s[3] << np.uint64(45)) | (s[3] >> np.uint64(19))
    return (np.float64(result >> np.uint64(11)) + 0.5) * SCALE


@makes_no_arrays
def exponential(s: Any) -> float:
    """Return an exponential number with mean 1."""
    return -log(uniform(s))


@makes_no_arrays
def exponentials(s: Any, numbers: Any) -> None:
    """Fill an array with exponential numbers with mean 1."""
    for i in range(numbers.size):
        numbers[i] = exponential(s)


@makes_no_arrays
def refill(s: Any, numbers: Any, used: int) -> int:
    """Move unused uniform numbers to the front, and draw the others; return 0, the number used."""
    remaining = numbers.size - used
    for i in range(remaining):
        numbers[i] = numbers[used + i]
    for i in range(remaining, numbers.size):
        numbers[i] = uniform(s)
    return 0


@makes_no_arrays
def size_of(u: float, v: float, c: int, inputs: Any) -> Any:
    """Return the job size with mean 1 for two uniform numbers, for any shape."""
    shapes, starts = inputs.shapes, inputs.starts
    code, p, q, r = int(shapes[c, 0]), shapes[c, 1], shapes[c, 2], shapes[c, 3]
    if code == 0:
        return -log(u)
    if code == 1:
        return 1.0
    if code == 2:
        return -log(u) * (q if v < p else r)
    if code == 3:
        return exp(p + q * sqrt(-2.0 * log(u)) * cos(2.0 * pi * v))
    if code == 4:
        return q * exp(-log1p(-u * r) / p)
    return inputs.values[starts[c] + int(u * (starts[c + 1] - starts[c]))]


@kernel(makes_arrays=False)
def jobs(draw: Any, when: Any, inputs: Any, trace: Any) -> None:
    """Fill a trace with the jobs that the simulator draws when sizes are drawn on arrival."""
    rates, total = inputs.rates, inputs.total_rate
    now = exponential(when) / total
    for i in range(trace.times.size):
        pick, c = uniform(draw) * total, 0
        while c < rates.size - 1 and pick >= rates[c]:
            pick -= rates[c]
            c += 1
        trace.times[i], trace.classes[i] = now, c
        u, v = uniform(draw), uniform(draw)
        trace.sizes[i] = size_of(u, v, c, inputs) / inputs.services[c]
        now += exponential(when) / total
