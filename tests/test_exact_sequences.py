"""Exact sequences: beside Python's own functions, and beside what devices make of them modulo a prime."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm
from clmapreduce.series import exact

PRIME_31 = 2**31 - 1
LENGTHS = (0, 1, 2, 3, 31, 33, 500)


@pytest.mark.parametrize("n", LENGTHS)
def test_whole_lists(n: int) -> None:
    assert cm.series.factorials(n, exact=True) == [math.factorial(k) for k in range(n + 1)]
    assert cm.series.binomials(n) == [math.comb(n, k) for k in range(n + 1)]
    assert cm.series.catalan(n, exact=True) == [math.comb(2 * k, k) // (k + 1) for k in range(n + 1)]
    for base in (-7, 0, 1, 2, 10**40, np.int32(3)):
        assert cm.series.powers(base, n, exact=True) == [int(base) ** k for k in range(n + 1)]
    numbers = cm.series.fibonacci(n)
    assert numbers[:2] == [0, 1][: n + 1] and len(numbers) == n + 1
    assert all(a + b == c for a, b, c in zip(numbers, numbers[1:], numbers[2:], strict=False))
    assert all(type(number) is int for number in [*numbers, *cm.series.binomials(n)])


def test_beside_a_device(context: cm.Context, mode: str) -> None:
    """Residues modulo a prime of 31 bits, which a device multiplies step by step or by recurrence."""
    n = 700
    factorials = cm.Unfold(lambda r: r * (cm.index + 1) % PRIME_31)(1, n + 1, context=context, mode=mode)
    assert_same(factorials, np.array([f % PRIME_31 for f in cm.series.factorials(n, exact=True)]))
    wrapped = cm.Recurrence(2)([1, 1], 0, initial=[1, np.uint64(0)], length=n, context=context, mode=mode)
    assert_same(wrapped, np.array([f % 2**64 for f in cm.series.fibonacci(n + 1)[2:]], np.uint64))
    counted = cm.Unfold(lambda r: r * 10 % PRIME_31)(1, n + 1, context=context, mode=mode)
    assert_same(counted, np.array([p % PRIME_31 for p in cm.series.powers(10, n, exact=True)]))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u4", None])
def test_rounded_to_a_dtype(dtype: Any) -> None:
    for call, n in ((cm.series.binomials, 20), (cm.series.catalan, 15), (cm.series.fibonacci, 40)):
        numbers = call(n, exact=False, dtype=dtype)
        assert_same(numbers, np.array(call(n)).astype(dtype or "f8"))


def test_limits_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for call, dtype, largest in (
        (cm.series.fibonacci, "i8", 92), (cm.series.fibonacci, "f8", 1476), (cm.series.catalan, "u8", 36),
        (cm.series.catalan, "i4", 19), (cm.series.binomials, "i8", 66), (cm.series.binomials, "f8", 1029),
    ):  # fmt: skip
        assert np.isfinite(call(largest, exact=False, dtype=dtype)).all()
        with pytest.raises(cm.DTypeError, match=f"the largest n that fits is {largest},"):
            call(largest + 1, exact=False, dtype=dtype)
    with pytest.raises(cm.DTypeError, match="exact=True"):
        cm.series.factorials(21, dtype="i8")
    monkeypatch.setattr(exact, "host_memory", lambda: 10**6)
    for refused in (
        lambda n: cm.series.factorials(n, exact=True), cm.series.fibonacci, cm.series.catalan, cm.series.binomials,
        lambda n: cm.series.powers(3, n, exact=True), lambda n: cm.series.powers(-(10**50), n, exact=True),
    ):  # fmt: skip
        with pytest.raises(cm.DeviceMemoryError, match="largest n that fits is") as error:
            refused(10**7)
        most = int(str(error.value).rpartition(" ")[2])
        nbytes = sum(number.__sizeof__() + 8 for number in refused(most))
        assert 0.5e6 < nbytes < 1.2e6, "an estimate of what Python takes"


def test_wrong_input() -> None:
    cases: list[tuple[type[Exception], str, Any]] = [
        (cm.ShapeError, "whole number", lambda: cm.series.factorials(-1, exact=True)),
        (cm.ShapeError, "whole number", lambda: cm.series.binomials(2.5)),
        (cm.ShapeError, "whole number", lambda: cm.series.catalan(True)),
        (cm.ArgumentError, "True or False", lambda: cm.series.fibonacci(3, exact=2)),
        (cm.ArgumentError, "takes no dtype", lambda: cm.series.factorials(3, exact=True, dtype="f8")),
        (cm.ArgumentError, "takes no mode, out", lambda: cm.series.powers(2, 3, exact=True, mode="parallel", out=[])),
        (cm.ArgumentError, "takes no dtype", lambda: cm.series.binomials(3, dtype="f8")),
        (cm.DTypeError, "of an integer", lambda: cm.series.powers(2.0, 3, exact=True)),
        (cm.DTypeError, "floating dtype", lambda: cm.series.fibonacci(3, exact=False, dtype="c8")),
    ]
    for error, text, call in cases:
        with pytest.raises(error, match=text):
            call()
