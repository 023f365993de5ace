"""Dtypes that an operator or a kernel cannot take, and masked arrays, are refused before anything is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.plain_primitives import ADD, DOUBLE, PRIMITIVES

import clmapreduce as cm


def test_masked_arrays_and_numbers_are_refused(context: cm.Context, launches: list[str]) -> None:
    """Their masked values would count."""
    x, number = np.ma.masked_array(np.ones(3, "f4"), mask=[0, 1, 0]), np.ma.masked_array(np.float32(3), mask=True)
    product = cm.fuse(lambda a, b: a * b).compile([(3,), None], "f4", context=context)
    total = cm.Operator(lambda a, b: a + b, number)
    calls: list[Callable[[], Any]] = [
        lambda: DOUBLE(x, context=context), lambda: DOUBLE(np.ones(3, "f4"), out=x, context=context),
        lambda: ADD(np.ones(3, "f4"), number, context=context), lambda: cm.Unfold("sum")(number, 3, context=context),
        lambda: cm.Unfold("sum")(number, 3, dtype="f4", context=context), lambda: product(np.ones(3, "f4"), number),
        lambda: product(x, 2.0), lambda: cm.Reduce(total)(np.ones(3, "f4"), context=context),
        lambda: cm.segmented_reduce(np.ones(3, "f4"), [0, 3], init=number, context=context),
        lambda: cm.series.powers(number, 3, context=context),
    ]  # fmt: skip
    for i, call in enumerate(calls):
        with pytest.raises(cm.DTypeError, match="is a masked array, which has values that do not count"):
            call()
            pytest.fail(f"call {i} is not refused")
    assert not launches


@pytest.mark.parametrize(
    "x",
    [
        np.array(["a", "b"]), np.array([object()]), np.array(["2020"], "M8[D]"), np.zeros(3, np.longdouble), np.zeros(3, "V7"),
        np.zeros(3, [("v", "f4", 65)]), np.zeros(3, [("t", "M8[s]")]), np.zeros(3, []), None, "text", {"a": 1}, object(),
        np.ma.array([1, 2], mask=[True, False]),
    ],
    ids=lambda x: str(getattr(x, "dtype", type(x).__name__)),
)  # fmt: skip
def test_dtypes_that_no_kernel_holds(x: Any, context: cm.Context, launches: list[str]) -> None:
    for call in (*PRIMITIVES.values(), cm.Partials("sum"), cm.array):
        with pytest.raises(cm.DTypeError):
            call(x, context=context)
    assert not launches


def test_uint64_with_signed_integers(context: cm.Context, launches: list[str]) -> None:
    x = np.ones(3, np.uint64)
    for dtype in (np.int8, np.int16, np.int32, np.int64):
        with pytest.raises(cm.DTypeError, match="astype"):
            ADD(x, np.ones(3, dtype), context=context)
    with pytest.raises(cm.DTypeError, match="astype"):
        cm.Map(lambda x: x + cm.index)(x, context=context)
    assert not launches


@pytest.mark.parametrize("name", ["minimum", "maximum", "argmin", "argmax", "logsumexp"])
def test_complex_numbers_have_no_order(name: str, context: cm.Context, launches: list[str]) -> None:
    for x in (np.ones(3, np.complex64), np.zeros(0, np.complex64)):
        with pytest.raises(cm.DTypeError, match="complex64"):
            cm.Reduce(name)(x, context=context)
    assert not launches


@pytest.mark.parametrize("name", ["sum", "product", "minimum", "any", "argmax", "logsumexp"])
def test_records_need_a_users_operator(name: str, context: cm.Context, launches: list[str]) -> None:
    x = np.zeros(3, [("a", "f4"), ("b", "i2")])
    for primitive in (cm.Reduce(name), cm.Scan(name), cm.Partials(name)):
        with pytest.raises(cm.DTypeError):
            primitive(x, context=context)
    assert not launches


TAKES: dict[str, Callable[..., Any]] = {
    **PRIMITIVES, "partials": cm.Partials("sum"), "unfold": lambda x, context: cm.Unfold("product")(x.reshape(5)[0], 5, context=context),
    "segments": lambda x, context: cm.segmented_reduce(x, np.array([0, 5]), context=context),
    "centroids": lambda x, context: cm.cluster.cluster_centroids(x, np.zeros(5, int)),
}  # fmt: skip


@pytest.mark.parametrize("name", TAKES)
def test_bfloat16_is_for_pairs(name: str, context: cm.Context, launches: list[str]) -> None:
    """From the host and, but for one value, the device."""
    x = np.ones(5, ml_dtypes.bfloat16)
    for values in (x,) if name == "unfold" else (x, cm.array(x, context)):
        with pytest.raises(cm.DTypeError, match="bfloat16"):
            TAKES[name](values, context=context)
    if name in PRIMITIVES:
        with pytest.raises(cm.DTypeError, match=r"only pairwise reductions take; pass x\.astype\('float32'\)"):
            TAKES[name](x[:0], context=context)
    assert not launches
