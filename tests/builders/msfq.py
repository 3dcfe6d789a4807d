"""One-or-all systems that several tests build, and the published transforms iterated plainly."""

from __future__ import annotations

from math import comb

import numpy as np

from schedopt.instances.msfq import Instance, JobClass


def of_classes(servers: int, *classes: tuple[float, ...], **more: object) -> Instance:
    """Build a queue of classes: need, arrival rate and, unless it is 1, service rate."""
    made = tuple(
        JobClass(need=int(need), arrival_rate=rate, service_rate=served[0] if served else 1.0)
        for need, rate, *served in classes
    )
    return Instance(name="test", servers=servers, classes=made, **more)  # type: ignore[arg-type]


def one_or_all(
    k: int = 2,
    l1: float = 0.6,
    lk: float = 0.6,
    m1: float = 1.0,
    mk: float = 1.0,
    **more: object,
) -> Instance:
    """Build a one-or-all system."""
    return of_classes(k, (1, l1, m1), (k, lk, mk), **more)


def at_load(k: int, load: float, p1: float = 0.9, **more: object) -> Instance:
    """Build one of unit sizes at a load."""
    rate = load / (p1 / k + 1 - p1)
    return one_or_all(k, p1 * rate, (1 - p1) * rate, **more)


class Series:
    """A transform around s = 0 (or z = 1) to second order: value, and two derivatives."""

    def __init__(self, *terms: float) -> None:
        self.terms = np.array([*terms, 0.0, 0.0, 0.0][:3])

    def __mul__(self, other: Series) -> Series:
        a, b = self.terms, other.terms
        return Series(*(sum(comb(n, i) * a[i] * b[n - i] for i in range(n + 1)) for n in range(3)))

    def inverse(self) -> Series:
        f, f1, f2 = self.terms
        return Series(1 / f, -f1 / f**2, 2 * f1**2 / f**3 - f2 / f**2)

    def of(self, inner: Series) -> Series:
        """Compose: self(inner), self expanded at inner's value."""
        _, a, b = self.terms
        _, i1, i2 = inner.terms
        return Series(self.terms[0], a * i1, b * i1**2 + a * i2)
