"""Ratios with confidence intervals, estimated from times that were measured in the same round."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log

_LEVEL = 0.99  # of confidence


@dataclass(frozen=True)
class Interval:
    """A ratio of two times, and its interval with 99 % confidence.

    >>> Interval(1.25, 1.1, 1.4).verdict, Interval(1.02, 0.97, 1.06).verdict, Interval(0.8, 0.7, 0.9).verdict
    ('ahead', 'even', 'behind')
    """

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """``ahead`` or ``behind``; ``even`` if the interval includes 1."""
        if self.low > 1:
            return "ahead"
        return "behind" if self.high < 1 else "even"

    @property
    def width(self) -> float:
        """Half the width of the interval, as a share of the ratio."""
        return log(self.high / self.low) / 2

    def widen(self, factor: float, least: float) -> Interval:
        """Return a wider interval: at least ``least`` on both sides (0.02 is 2 %), and then ``factor`` times."""
        low = self.value * min(self.low / self.value, 1 / (1 + least)) ** factor
        high = self.value * max(self.high / self.value, 1 + least) ** factor
        return Interval(self.value, low, high)

    @property
    def missed(self) -> float:
        """The factor by which the interval must be widened to include 1."""
        distance = log(self.value)
        reach = log(self.value / self.low) if distance > 0 else log(self.high / self.value)
        return abs(distance) / reach if reach else 0.0


def paired_ratio(times: Sequence[float], others: Sequence[float]) -> Interval | None:
    """Return the ratio of the times of two contenders, which were measured in the same rounds.

    The estimate is the one of Hodges and Lehmann, and the interval comes from Wilcoxon's signed-rank test (Hollander,
    Wolfe and Chicken, Nonparametric Statistical Methods, 3.2 and 3.3). Both use logarithms. A few rounds that another
    process disturbed change neither much. With fewer than eight pairs, 99 % confidence is impossible, and the interval
    is their range. Without pairs, the result is None.

    >>> paired_ratio([2.0, 2.2, 2.0, 8.0, 2.0, 2.0, 2.0], [1.0, 1.1, 1.0, 1.0, 1.0, 1.0, 1.0]).value
    2.0
    """
    logs = [log(one / other) for one, other in zip(times, others, strict=False)]
    if not logs:
        return None
    averages = sorted((a + b) / 2 for number, a in enumerate(logs) for b in logs[number:])
    cut = _rank(len(logs))
    return Interval(exp(statistics.median(averages)), exp(averages[cut - 1]), exp(averages[-cut]))


def quantile(values: Iterable[float], share: float) -> float:
    """Return the value that the given share of the values does not exceed, or 0 without values.

    >>> quantile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    found = sorted(values)
    return found[min(int(share * len(found)), len(found) - 1)] if found else 0.0


@cache
def _rank(count: int) -> int:
    """Return which averages, counted from both ends, bound the interval: the last ones that the test accepts."""
    ways = [1]  # by sum: the number of ways in which the signs of 1 ... count give this sum
    for rank in range(1, count + 1):
        longer = ways + [0] * rank
        for total, number in enumerate(ways):
            longer[total + rank] += number
        ways = longer
    chance, cut = 0.0, 0
    for number in ways:
        chance += number / 2**count
        if chance > (1 - _LEVEL) / 2:
            break
        cut += 1
    return max(cut, 1)
