"""Unfold: sequences from one value, in both modes on every device."""

from __future__ import annotations

import numpy as np
import pytest
from support.oracles import PRIME, SIZES, assert_near, assert_same, into_poison, unit

import clmapreduce as cm

pytestmark = pytest.mark.drawn


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8"])
def test_powers_of_floats(dtype: str, context: cm.Context, mode: str) -> None:
    base = np.dtype(dtype).type(1.00001 if dtype != "c8" else np.exp(0.001j))
    exact = np.complex128(base) if dtype == "c8" else np.float64(base)
    for length in SIZES:
        result = cm.Unfold("product")(base, length, context=context, mode=mode)
        assert result.dtype == np.dtype(dtype)
        expected = exact ** np.arange(1, length + 1)
        own = unit("f4" if dtype == "c8" else dtype)
        # one rounding at the end; a power by squaring carries as many roundings as the product it stands for
        limit = (2 * own + 2 * length * 2.0**-53) * np.abs(expected)
        assert_near(result, expected, limit, length)


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "i8", "u8"])
def test_powers_of_integers_wrap(dtype: str, context: cm.Context, mode: str) -> None:
    base = np.dtype(dtype).type(1 if dtype == "?" else 3)
    for length in (1, 17, 65, 1025):
        result = cm.Unfold("product")(base, length, context=context, mode=mode)
        assert_same(result, np.cumprod(np.full(length, base, "u8")).astype(dtype))


def test_closed_forms(context: cm.Context, mode: str) -> None:
    for length in (1, 16, 257, PRIME):
        assert_same(cm.Unfold("index")(length, context=context, mode=mode), np.arange(length))
        assert_same(
            cm.Unfold("sum")(np.int64(-7), length, context=context, mode=mode), -7 * np.arange(1, length + 1)
        )
        assert_same(cm.Unfold("maximum")(np.float32(2.5), length, context=context, mode=mode), np.full(length, 2.5, "f4"))
    index = cm.Unfold("index")(300, context=context, mode=mode, dtype="f4")
    assert_same(index, np.arange(300, dtype="f4"))


def test_a_users_operator(context: cm.Context, mode: str) -> None:
    """Powers of a 2×2 matrix: Fibonacci numbers, modulo 2^64."""
    fields = [("a", "u8"), ("b", "u8"), ("c", "u8"), ("d", "u8")]

    def product(x: cm.formula.node.Record, y: cm.formula.node.Record) -> dict[str, object]:
        return {
            "a": x["a"] * y["a"] + x["b"] * y["c"],
            "b": x["a"] * y["b"] + x["b"] * y["d"],
            "c": x["c"] * y["a"] + x["d"] * y["c"],
            "d": x["c"] * y["b"] + x["d"] * y["d"],
        }

    matrix = cm.Operator(product, np.array((1, 0, 0, 1), dtype=fields)[()], commutative=False)
    step = np.array((1, 1, 1, 0), dtype=fields)[()]
    result = cm.Unfold(matrix)(step, 2000, context=context, mode=mode)
    before, now = 0, 1
    for i in range(2000):
        assert int(result["b"][i]) == now % 2**64, i
        before, now = now, before + now


def test_outputs_and_bases(context: cm.Context, mode: str) -> None:
    unfold = cm.Unfold("product")
    result = into_poison(lambda out: unfold(np.int64(-1), PRIME, context=context, mode=mode, out=out), (PRIME,), "i8")
    assert_same(result, np.where(np.arange(PRIME) % 2 == 0, -1, 1))
    device_array = unfold(cm.array(np.float64(2.0), context), 10, mode=mode)
    assert isinstance(device_array, cm.DeviceArray)
    assert_same(device_array.to_numpy(), 2.0 ** np.arange(1, 11))
    assert_same(unfold(2, 5, context=context, mode=mode), np.array([2, 4, 8, 16, 32]))
    assert_same(unfold(2.0, 0, context=context, mode=mode), np.zeros(0))


def test_wrong_lengths_bases_and_operators(context: cm.Context) -> None:
    with pytest.raises(cm.ShapeError, match="whole number"):
        cm.Unfold("index")(-1, context=context)
    with pytest.raises(cm.ShapeError, match="whole number"):
        cm.Unfold("product")(2.0, 2.5, context=context)
    with pytest.raises(cm.ShapeError, match="one value"):
        cm.Unfold("product")(np.ones(3), 4, context=context)
    with pytest.raises(cm.DTypeError):
        cm.Unfold("argmax")(np.float32(1), 4, context=context)
    with pytest.raises(cm.DTypeError, match="without loss"):
        cm.Unfold("product")(1.5, 4, context=context, dtype="i4")
    with pytest.raises(cm.ModeError):
        cm.Unfold("product")(1.5, context=context)


def test_every_size_of_a_doubled_sequence(context: cm.Context, mode: str) -> None:
    """Around the tile: powers come by doubling inside it, one combine each behind it."""
    unfold = cm.Unfold("product")
    for length in (0, *SIZES):
        result = unfold(np.uint32(5), length, context=context, mode=mode)
        expected = np.cumprod(np.full(length, 5, np.uint64)).astype(np.uint32)
        assert_same(result, expected, length)
        one = cm.Unfold("product")(np.uint32(5), length, context=context, mode="sequential", tiles=1)
        assert_same(one, expected, length)


def test_special_bases(context: cm.Context, mode: str) -> None:
    unfold = cm.Unfold("product")
    for base in (0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 2.0, -0.5):
        result = unfold(np.float64(base), 257, context=context, mode=mode)
        expected = np.float64(base) ** np.arange(1, 258)
        assert_same(result, expected, base)
        np.testing.assert_array_equal(np.signbit(result), np.signbit(expected), err_msg=str(base))
    assert_same(cm.Unfold("minimum")(np.float32(np.nan), 17, context=context, mode=mode), np.full(17, np.nan, np.float32))


def test_sums_are_multiples_rounded_once(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """base · k, not k additions: 0.1 added 10^5 times in float32 would be off by 0.4 %."""
    base = np.float32(rng.uniform(0.05, 0.2))
    result = cm.Unfold("sum")(base, PRIME, context=context, mode=mode)
    expected = float(base) * np.arange(1, PRIME + 1)
    assert_near(result, expected, 1.001 * unit("f4") * np.abs(expected))


def test_bases_of_every_form(context: cm.Context, mode: str) -> None:
    unfold = cm.Unfold("product")
    expected = np.array([3, 9, 27])
    for base in (3, np.int64(3), np.array(3), np.array([3]), [3], cm.array(np.array([[3]]), context)):
        assert_same(np.asarray(unfold(base, 3, context=context, mode=mode)), expected)
    assert unfold(3, 3, context=context, dtype="u2").dtype == np.uint16
    assert unfold(3, np.int16(3), context=context).dtype == np.int64
    for base, dtype in ((300, "u1"), (-1, "u4"), (1.5, "i4"), (1j, "f8"), (2**63, "i8"), ([1.5], "i4")):
        with pytest.raises(cm.DTypeError):
            unfold(base, 3, context=context, dtype=dtype)


def test_an_index_must_fit_its_dtype(context: cm.Context) -> None:
    assert_same(cm.Unfold("index")(256, context=context, dtype="u1"), np.arange(256).astype(np.uint8))
    with pytest.raises(cm.DTypeError, match="uint8"):
        cm.Unfold("index")(257, context=context, dtype="u1")
