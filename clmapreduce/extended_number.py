"""One number in several floats, as NumPy gives it for an element of an array: its text has all of its digits."""

from __future__ import annotations

import math
from decimal import Context, Decimal
from typing import Any

import numpy as np

EXACT = 1500
"""Digits that any sum of float64 has room in: 309 before the point, 1074 behind it."""
NAMES = {(2, 4): "cm.df", (2, 8): "cm.dd", (4, 4): "cm.qf", (4, 8): "cm.qd"}
"""By the number of floats and the bytes of each."""
HELD = {(2, 4): 14, (2, 8): 31, (4, 4): 28, (4, 8): 60}
"""Decimal digits that are right in a result."""


class ExtendedNumber(np.void):  # type: ignore[misc]
    """An element of an array of `cm.dd`, `cm.qd`, `cm.df` or `cm.qf`.

    `str`, `print` and `format` give its sum in decimal digits, 31, 60, 14 or 28 of them or as many as the format asks
    for; `float` and `int` convert the sum. Its fields are the floats.
    """

    __slots__ = ()

    def __str__(self) -> str:
        return str(self._decimal(HELD[self._kind]))

    def __repr__(self) -> str:
        return f"<{NAMES[self._kind]} {self}>"

    def __format__(self, spec: str) -> str:
        return format(self._decimal(EXACT), spec) if spec else str(self)

    def __float__(self) -> float:
        return float(self._decimal(EXACT))

    def __int__(self) -> int:
        return int(self._decimal(EXACT))

    @property
    def _kind(self) -> tuple[int, int]:
        return len(self.item()), self.dtype[0].itemsize

    def _decimal(self, digits: int) -> Decimal:
        return decimal_sum([float(word) for word in self.item()], digits)


def decimal_sum(words: list[float], digits: int) -> Decimal:
    """The sum of floats, rounded once to some digits; the first word where that is infinite or NaN. A zero has the sign
    of the first.
    """
    total, exact = Decimal(words[0]), Context(prec=EXACT)
    if math.isfinite(words[0]):
        for word in words[1:]:
            total = exact.add(total, Decimal(word)) if word else total
    return Context(prec=digits).create_decimal(total)


def extended_dtype(names: tuple[str, ...], word: type[np.floating[Any]]) -> np.dtype[Any]:
    """The dtype of numbers that consist of such words."""
    return np.dtype((ExtendedNumber, [(name, word) for name in names]))
