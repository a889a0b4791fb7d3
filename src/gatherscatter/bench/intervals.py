"""How sure a ratio is: an estimate and its interval, from times that were measured in the same round."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import exp, log

_LEVEL = 0.99  # of confidence


@dataclass(frozen=True)
class Interval:
    """A ratio of two times, and the interval in which it lies with 99 % confidence.

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
        """The interval made wider: to at least ``least`` on both sides (0.02 is 2 %), and then ``factor`` times."""
        low = self.value * min(self.low / self.value, 1 / (1 + least)) ** factor
        high = self.value * max(self.high / self.value, 1 + least) ** factor
        return Interval(self.value, low, high)

    @property
    def missed(self) -> float:
        """How many times as wide the interval must be to include 1."""
        distance = log(self.value)
        reach = log(self.value / self.low) if distance > 0 else log(self.high / self.value)
        return abs(distance) / reach if reach else 0.0


def paired_ratio(times: Sequence[float], others: Sequence[float]) -> Interval | None:
    """The ratio of two contenders' times, which were measured in the same rounds.

    The estimate is that of Hodges and Lehmann, and the interval that of Wilcoxon's signed-rank test (Hollander, Wolfe
    and Chicken, Nonparametric Statistical Methods, 3.2 and 3.3), both of logarithms. A few rounds in which another
    process ran move neither far. Less than eight pairs can't give 99 % confidence: the interval then is their range.
    None if there are no pairs.

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
    """The value that so large a share of the values does not exceed; 0 if there are none.

    >>> quantile([3.0, 1.0, 2.0], 0.5)
    2.0
    """
    found = sorted(values)
    return found[min(int(share * len(found)), len(found) - 1)] if found else 0.0


@cache
def _rank(count: int) -> int:
    """Which of the averages, counted from both ends, bound the interval: the last that the test does not reject."""
    ways = [1]  # in which the signs of 1 ... count give a sum of so much
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
