"""Sequences of integers of any size, as lists of Python's integers.

The host multiplies them, one small factor a step: that takes less time than Python needs to make its integers of limbs
or residues that a device computed (docs/guides/recurrences.md has the numbers).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate, count, islice, repeat, takewhile
from operator import mul
from typing import Any

import numpy as np

from clmapreduce.checks import dtype_of, is_whole, quoted, switch, whole
from clmapreduce.dtypes import FLOAT64, check_supported
from clmapreduce.errors import ArgumentError, DeviceMemoryError, DTypeError
from clmapreduce.host_room import host_memory, needs_host_room

LIMB_BITS, LIMB_BYTES, HEAD_BYTES = 30, 4, 36
"""Of Python's integers; the head and the list's pointer."""


def binomials(n: int, *, exact: bool = True, dtype: Any = None) -> Any:
    """C(n, 0), C(n, 1), …, C(n, n): a list of n + 1 integers of any size.

    exact=False: a NumPy array of `dtype` (default float64), each number rounded. Raises ShapeError for n < 0,
    DeviceMemoryError where the host has no room, DTypeError naming the largest n that fits `dtype`.
    """
    whole(n, "n")
    largest = (math.comb(k, k // 2) for k in count())
    return _delivered(_binomials, int(n), float(n), 0.73, largest, exact, dtype)


def catalan(n: int, *, exact: bool = True, dtype: Any = None) -> Any:
    """The Catalan numbers C_0, C_1, …, C_n: 1, 1, 2, 5, 14, … Results and errors as for `binomials`."""
    whole(n, "n")
    return _delivered(lambda n: islice(_catalan(), n + 1), int(n), 2.0 * n, 0.5, _catalan(), exact, dtype)


def fibonacci(n: int, *, exact: bool = True, dtype: Any = None) -> Any:
    """The Fibonacci numbers F_0, F_1, …, F_n: 0, 1, 1, 2, 3, … Results and errors as for `binomials`."""
    whole(n, "n")
    return _delivered(lambda n: islice(_fibonacci(), n + 1), int(n), 0.7 * n, 0.5, _fibonacci(), exact, dtype)


@needs_host_room
def exact_factorials(n: int) -> list[int]:
    """0!, 1!, …, n! Raises DeviceMemoryError where the host has no room."""
    _check_room(n, lambda n: math.lgamma(n + 1) / math.log(2), 0.5)
    return list(accumulate(range(1, n + 1), mul, initial=1))


@needs_host_room
def exact_powers(base: Any, n: int) -> list[int]:
    """base⁰, …, baseⁿ. Raises DTypeError for a base that is no integer, DeviceMemoryError where there is no room."""
    if not is_whole(base):
        raise DTypeError(f"exact powers are those of an integer, not of {quoted(base)}; leave exact=True out")
    base = int(base)
    _check_room(n, lambda n: float(n) * max(1, abs(base).bit_length()), 0.5)
    return list(accumulate(repeat(base, n), mul, initial=1))


def refuse_options(**options: Any) -> None:
    """Raises ArgumentError for keywords of a call with exact=True that say how a device computes."""
    names = [name for name, value in options.items() if value is not None and value != "auto" and value != ()]
    if names:
        raise ArgumentError(f"exact=True gives a list of Python's integers and takes no {', '.join(names)}")


@needs_host_room
def _delivered(
    numbers: Callable[[int], Iterable[int]], n: int, bits: float, mean: float, largest: Iterator[int], exact: bool,
    dtype: Any,
) -> Any:  # fmt: skip
    """The numbers of n, as integers or in a dtype. bits: of the largest one. mean: of all, in parts of that. largest:
    the largest numbers of 0, 1, …
    """
    if switch(exact, "exact"):
        refuse_options(dtype=dtype)
        _check_room(n, lambda k: bits * k / max(n, 1), mean)
        return list(numbers(n))
    kind = FLOAT64 if dtype is None else check_supported(dtype_of(dtype), "dtype")
    if kind.kind not in "iuf":
        raise DTypeError(f"dtype={kind}: give an integer or a floating dtype")
    limit = int(np.iinfo(kind).max) if kind.kind in "iu" else int(np.finfo(kind).max)
    fits = sum(1 for _ in takewhile(lambda number: number <= limit, largest)) - 1
    if n > fits:
        raise DTypeError(f"n = {n} does not fit {kind}; the largest n that fits is {fits}, exact=True has no limit")
    return np.array([number if kind.kind in "iu" else float(number) for number in numbers(n)], kind)


def _check_room(n: int, bits: Callable[[int], float], mean: float) -> None:
    """Raises DeviceMemoryError for n + 1 integers that the host has no room for. bits: of the largest one, for an n."""
    room = host_memory()

    def nbytes(n: int) -> float:
        return (n + 1) * (HEAD_BYTES + mean * bits(n) * LIMB_BYTES / LIMB_BITS)

    if nbytes(n) > room:
        fits, more = 0, n
        while more - fits > 1:
            middle = (fits + more) // 2
            fits, more = (middle, more) if nbytes(middle) <= room else (fits, middle)
        raise DeviceMemoryError(
            f"n = {n} gives integers of {nbytes(n):.3g} bytes together, the host has {room}; the largest n that fits "
            f"is {fits}"
        )


def _binomials(n: int) -> Iterable[int]:
    half = list(accumulate(range(1, n // 2 + 1), lambda c, k: c * (n - k + 1) // k, initial=1))
    return half + half[: (n + 1) // 2][::-1]


def _catalan() -> Iterator[int]:
    return accumulate(count(1), lambda c, k: c * (4 * k - 2) // (k + 1), initial=1)


def _fibonacci() -> Iterator[int]:
    before, now = 0, 1
    while True:
        yield before
        before, now = now, before + now
