"""The jump chain, against its definition one event at a time."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from schedopt.policies.msfq.jump_kernels import jump
from schedopt.policies.msfq.random_kernels import stream, uniforms


def jumped_plainly(  # noqa: PLR0917 - as the kernel has them
    k: int, l1: float, lk: float, m1: float, mk: float, threshold: int, lazy: bool,
    warm: int, step: int, picks: list[float],
) -> list[list[float]]:  # fmt: skip
    """Return time and the areas under small and large jobs, by batch, the warm-up's first."""
    small = large = running = 0
    draining = False
    found = []
    for at, number in enumerate(picks):
        if at == 0 or (at >= warm and (at - warm) % step == 0):
            found.append([0.0, 0.0, 0.0])
        rate = (l1 + lk) + (running * m1 if running else (mk if large else 0.0))
        for i, level in enumerate((1, small, large)):
            found[-1][i] += level * (1.0 / rate)
        pick = number * rate
        if pick < l1:
            small += 1
            running += running < k and not draining and not (large and not running)
        elif pick < l1 + lk:
            large += 1
        elif running:
            small -= 1
            running -= draining or small < running
        else:
            large -= 1
        if running:
            draining = draining or (small <= threshold and (large > 0 or not lazy))
        elif large:
            draining = False
        else:
            draining = not lazy and small <= threshold
            running = min(small, k)
    return found


@settings(max_examples=40, deadline=None)
@given(
    st.integers(2, 40), st.floats(0.1, 1.3), st.floats(0.05, 0.95), st.floats(0.2, 4.0),
    st.integers(0, 39), st.booleans(), st.integers(0, 9),
)  # fmt: skip
def test_every_event_is_the_definitions(  # noqa: PLR0917 - drawn one by one
    k: int, load: float, part: float, m1: float, threshold: int, lazy: bool, seed: int
) -> None:
    system = k, part * load * k * m1, (1 - part) * load, m1, 1.0, min(threshold, k - 1), lazy
    events, warm, batches = 3000, 600, 8
    areas, numbers = np.zeros((batches, 3)), np.empty(events)
    room = np.zeros(64), np.zeros(k + 2), np.zeros(k + 2)
    jump(*system, events, warm, stream(seed, 4), *room, areas)
    uniforms(stream(seed, 4), numbers)
    step = (events - warm) // batches
    assert areas.tolist() == jumped_plainly(*system, warm, step, numbers.tolist())[1:]
