"""Distributions of job sizes, by shape; the mean is always 1 / service rate.

A shape does not affect the mean, so the load of a class is the same under each shape.
"""

from math import expm1, inf, log, log1p, sqrt
from typing import Annotated, ClassVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from schedopt.instances.declarations import CheckedRecord
from schedopt.instances.errors import expect

MOST_RATIO = 1e12
"""For larger ratios the moments of a bounded Pareto distribution are inaccurate (cancellation)."""
Positive = Annotated[float, msgspec.Meta(gt=0)]


class Shape(CheckedRecord, kw_only=True, tag_field="kind"):
    """The distribution of sizes about their mean."""

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        raise NotImplementedError

    @property
    def second_moment(self) -> float:
        """E[S²] for E[S] = 1: 1 + scv, with the squared coefficient of variation."""
        return 1.0 + float(getattr(self, "scv"))  # noqa: B009 - a field or a class variable


class Exponential(Shape, frozen=True, tag="exponential"):
    """Exponential sizes, which the paper analyses."""

    scv: ClassVar[float] = 1.0

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        return random.exponential(size=count)


class Deterministic(Shape, frozen=True, tag="deterministic"):
    """All sizes equal the mean."""

    scv: ClassVar[float] = 0.0

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        return np.ones(count)


class Hyperexponential(Shape, frozen=True, tag="hyperexponential"):
    """A mixture of two exponential distributions with balanced means.

    Attributes
    ----------
    scv : float
        The squared coefficient of variation, at least 1.
    """

    scv: Annotated[float, msgspec.Meta(ge=1)]

    def __post_init__(self) -> None:
        expect(1 <= self.scv < inf, "a finite number >= 1", self.scv, "scv")

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        p = 0.5 * (1.0 + sqrt((self.scv - 1.0) / (self.scv + 1.0)))  # of the first branch
        means = np.where(random.random(count) < p, 0.5 / p, 0.5 / (1.0 - p))
        return random.exponential(means)


class Lognormal(Shape, frozen=True, tag="lognormal"):
    """The exponential of a normal variable.

    Attributes
    ----------
    scv : float
        The squared coefficient of variation, above 0.
    """

    scv: Positive

    def __post_init__(self) -> None:
        expect(0 < self.scv < inf, "a finite number > 0", self.scv, "scv")

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        variance = log1p(self.scv)  # of the logarithm
        return random.lognormal(-0.5 * variance, sqrt(variance), count)


class BoundedPareto(Shape, frozen=True, tag="bounded-pareto"):
    """A power law between two bounds.

    Attributes
    ----------
    alpha : float
        The exponent of the tail, above 0.
    ratio : float
        The largest size divided by the smallest, above 1.
    """

    alpha: Positive
    ratio: Annotated[float, msgspec.Meta(gt=1, le=MOST_RATIO)]

    def __post_init__(self) -> None:
        expect(0 < self.alpha < inf, "a finite number > 0", self.alpha, "alpha")

    def _moment(self, order: int) -> float:
        """Return E[S^order] for the smallest size 1."""
        a, top = self.alpha, log(self.ratio)
        inner = top if a == order else expm1((order - a) * top) / (order - a)
        return a * inner / -expm1(-a * top)

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        tail = random.random(count) * expm1(-self.alpha * log(self.ratio))
        return np.asarray(np.exp(-np.log1p(tail) / self.alpha) / self._moment(1))

    @property
    def second_moment(self) -> float:
        """E[S²] for E[S] = 1."""
        return self._moment(2) / self._moment(1) ** 2


class Empirical(Shape, frozen=True, tag="empirical"):
    """Sizes drawn from a list with equal probabilities, scaled to the mean of the class.

    Attributes
    ----------
    values : tuple of float
        Sizes above 0, in any unit.
    """

    values: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        for i, value in enumerate(self.values):
            expect(0 < value < inf, "a finite number > 0", value, f"values[{i}]")

    def draw(self, random: np.random.Generator, count: int) -> NDArray[np.float64]:
        """Return random sizes with mean 1, shape (count,)."""
        return random.choice(self.scaled, count)

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The values at mean 1."""
        values = np.array(self.values, dtype=np.float64)
        return np.asarray(values / values.mean(), dtype=np.float64)

    @property
    def second_moment(self) -> float:
        """E[S²] for E[S] = 1."""
        return float(np.mean(self.scaled**2))
