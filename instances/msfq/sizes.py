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

    code: ClassVar[int]

    def parameters(self) -> tuple[int, float, float, float]:
        """Return a code and three numbers that determine the quantile function at mean 1."""
        return self.code, 0.0, 0.0, 0.0

    @property
    def second_moment(self) -> float:
        """E[S²] for E[S] = 1: 1 + scv, with the squared coefficient of variation."""
        return 1.0 + float(getattr(self, "scv"))  # noqa: B009 - a field or a class variable


class Exponential(Shape, frozen=True, tag="exponential"):
    """Exponential sizes, which the paper analyses."""

    code = 0
    scv: ClassVar[float] = 1.0


class Deterministic(Shape, frozen=True, tag="deterministic"):
    """All sizes equal the mean."""

    code = 1
    scv: ClassVar[float] = 0.0


class Hyperexponential(Shape, frozen=True, tag="hyperexponential"):
    """A mixture of two exponential distributions with balanced means.

    Attributes
    ----------
    scv : float
        The squared coefficient of variation, at least 1.
    """

    code = 2
    scv: Annotated[float, msgspec.Meta(ge=1)]

    def __post_init__(self) -> None:
        expect(1 <= self.scv < inf, "a finite number >= 1", self.scv, "scv")

    def parameters(self) -> tuple[int, float, float, float]:
        """Return the code, the probability of the first branch, and the means of both branches."""
        p = 0.5 * (1.0 + sqrt((self.scv - 1.0) / (self.scv + 1.0)))
        return self.code, p, 0.5 / p, 0.5 / (1.0 - p)


class Lognormal(Shape, frozen=True, tag="lognormal"):
    """The exponential of a normal variable.

    Attributes
    ----------
    scv : float
        The squared coefficient of variation, above 0.
    """

    code = 3
    scv: Positive

    def __post_init__(self) -> None:
        expect(0 < self.scv < inf, "a finite number > 0", self.scv, "scv")

    def parameters(self) -> tuple[int, float, float, float]:
        """Return the code, and the mean and standard deviation of the logarithm."""
        variance = log1p(self.scv)
        return self.code, -0.5 * variance, sqrt(variance), 0.0


class BoundedPareto(Shape, frozen=True, tag="bounded-pareto"):
    """A power law between two bounds.

    Attributes
    ----------
    alpha : float
        The exponent of the tail, above 0.
    ratio : float
        The largest size divided by the smallest, above 1.
    """

    code = 4
    alpha: Positive
    ratio: Annotated[float, msgspec.Meta(gt=1, le=MOST_RATIO)]

    def __post_init__(self) -> None:
        expect(0 < self.alpha < inf, "a finite number > 0", self.alpha, "alpha")

    def _moment(self, order: int) -> float:
        """Return E[S^order] for the smallest size 1."""
        a, top = self.alpha, log(self.ratio)
        inner = top if a == order else expm1((order - a) * top) / (order - a)
        return a * inner / -expm1(-a * top)

    def parameters(self) -> tuple[int, float, float, float]:
        """Return the code, the exponent, the smallest size, and 1 - ratio^-alpha."""
        return self.code, self.alpha, 1.0 / self._moment(1), -expm1(-self.alpha * log(self.ratio))

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

    code = 5  # the values are separate
    values: Annotated[tuple[Positive, ...], msgspec.Meta(min_length=1)]

    def __post_init__(self) -> None:
        for i, value in enumerate(self.values):
            expect(0 < value < inf, "a finite number > 0", value, f"values[{i}]")

    @property
    def scaled(self) -> NDArray[np.float64]:
        """The values at mean 1."""
        values = np.array(self.values, dtype=np.float64)
        return np.asarray(values / values.mean(), dtype=np.float64)

    @property
    def second_moment(self) -> float:
        """E[S²] for E[S] = 1."""
        return float(np.mean(self.scaled**2))
