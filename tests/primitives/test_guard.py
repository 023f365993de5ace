"""Conditional moves: `where` writes both sides without a branch, `guard` leaves memory alone where it is false."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm

pytestmark = pytest.mark.drawn

LENGTHS = [1, 31, 1000, 70_003]
POISON = -7.5
FIRST = np.dtype([("a", "f4"), ("m", "i4", (2, 2))], align=True)


def untouched_or(expected: Any, condition: Any, poison: Any) -> Any:
    return np.where(condition, expected, poison)


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("code", ["f4", "f8", "i4", "u1", "?"])
def test_a_map_keeps_what_its_guard_excludes(
    context: cm.Context, mode: str, rng: np.random.Generator, length: int, code: str
) -> None:
    x = rng.integers(0, 2 if code == "?" else 100, length).astype(code)
    keep = rng.random(length) < 0.5
    f = cm.Map(lambda x, keep: cm.guard(keep, x))
    before = np.ones(length, code) if code == "?" else np.full(length, 77, code)
    out = before.copy()
    assert f(x, keep, out=out, mode=mode, context=context) is out
    np.testing.assert_array_equal(out, untouched_or(x, keep, before))
    device_array = cm.array(before, context)
    f(x, cm.array(keep, context), out=device_array, mode=mode)
    np.testing.assert_array_equal(device_array.to_numpy(), out)


def test_a_guard_beside_plain_outputs_and_in_place(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = rng.normal(size=5003).astype("f4")
    f = cm.Map(lambda x: (cm.guard(x > 0, x * 2), x + 1))
    plain = np.full(5003, POISON, "f4")
    expected = np.where(x > 0, x * 2, x)
    out = x.copy()
    f(out, out=(out, plain), mode=mode, context=context)
    np.testing.assert_array_equal(out, expected)
    np.testing.assert_array_equal(plain, x + 1)
    view = np.full(10006, POISON, "f4")[::2]
    f(x, out=(view, plain), mode=mode, context=context)
    np.testing.assert_array_equal(view, np.where(x > 0, x * 2, np.float32(POISON)))
    device_array, other = cm.array(x, context), cm.array(plain, context)
    f(device_array, out=(device_array, other), mode=mode)
    np.testing.assert_array_equal(device_array.to_numpy(), expected)


@pytest.mark.parametrize("length", LENGTHS)
def test_guards_behind_reduces_and_scans(context: cm.Context, mode: str, rng: np.random.Generator, length: int) -> None:
    x = rng.integers(0, 100, length)

    @cm.fuse
    def above(x: Any) -> Any:
        top, total = cm.Reduce("maximum")(x), cm.Scan("sum")(x)
        return cm.guard(total % 2 == 0, total), cm.guard(x * 2 > top, x), cm.guard(top > 1000, top)

    outs = (np.full(length, -1), np.full(length, -2), np.array(-3))
    above(x, out=outs, mode=mode, context=context)
    total = np.cumsum(x)
    np.testing.assert_array_equal(outs[0], np.where(total % 2 == 0, total, -1))
    np.testing.assert_array_equal(outs[1], np.where(x * 2 > x.max(), x, -2))
    assert outs[2] == -3
    rows = np.stack([x, x[::-1], x + 1]) if length < 5000 else x[None]
    outs = tuple(np.full(shape, -9) for shape in (rows.shape, rows.shape, rows.shape[:1]))
    above(rows, out=outs, mode=mode, context=context, batch=True)
    total = np.cumsum(rows, -1)
    np.testing.assert_array_equal(outs[0], np.where(total % 2 == 0, total, -9))
    np.testing.assert_array_equal(outs[1], np.where(rows * 2 > rows.max(-1, keepdims=True), rows, -9))


def test_records_are_guarded_as_a_whole(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = np.zeros(3001, FIRST)
    x["a"], x["m"] = rng.normal(size=3001), rng.integers(0, 9, (3001, 2, 2))
    out = np.full(3001, 5).astype(FIRST)
    before = out.copy()
    f = cm.Map(lambda x: cm.guard(x["a"] > 0, {"a": x["a"], "m": x["m"].T}))
    f(x, out=out, mode=mode, context=context)
    expected = x.copy()
    expected["m"] = x["m"].transpose(0, 2, 1)
    np.testing.assert_array_equal(out, np.where(x["a"] > 0, expected, before))


def test_what_a_guard_needs(context: cm.Context, mode: str) -> None:
    x = np.arange(5.0)
    f = cm.Map(lambda x: cm.guard(x > 1, x))
    with pytest.raises(cm.FormulaError, match="out="):
        f(x, context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match="out="):
        cm.fuse(lambda x: cm.guard(x > 1, x / cm.Reduce("sum")(x)))(x, context=context, mode=mode)
    narrow = np.full(5, POISON, np.complex128)
    with pytest.raises(cm.DTypeError, match="own"):
        f(x, out=narrow, context=context, mode=mode)
    assert (narrow == POISON).all()
    functions: list[Callable[[Any], Any]] = [
        lambda x: cm.guard(x > 1, x) + 1,
        lambda x: cm.Reduce("sum")(cm.guard(x > 1, x)),
        lambda x: cm.guard(x > 1, cm.guard(x > 2, x)),
    ]
    for function in functions:
        with pytest.raises(cm.FormulaError, match="outputs only"):
            cm.fuse(function)(x, out=np.zeros(5), context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match="outputs only"):
        (f >> cm.Map(lambda x: x + 1))(x, out=np.zeros(5), context=context, mode=mode)
    with pytest.raises(cm.FormulaError, match=r"cm\.Map or cm\.fuse"):
        cm.guard(True, 3)


@pytest.mark.parametrize("code", ["f4", "i2", "f8", "c8"])
def test_where_has_no_branch(context: cm.Context, mode: str, code: str) -> None:
    """Both sides are computed, then one is chosen by an operator: compilers make it a blend."""
    x = np.arange(3).astype(code)
    choose = cm.Map(lambda c, x, y: cm.where(c, x * y, x + y))
    text = choose.source(x > 1 if code != "c8" else np.ones(3, bool), x, x, mode=mode, context=context)
    body = text[text.index("__kernel") :]
    assert " ? " in body
    assert not re.search(r"\bif\b|\bselect\b|&&|\|\|", body)
    guard = cm.Map(lambda c, x: cm.guard(c, x)).source(np.ones(3, bool), x, out=x, mode=mode, context=context)
    assert re.search(r"\bif \(", guard[guard.index("__kernel") :])
