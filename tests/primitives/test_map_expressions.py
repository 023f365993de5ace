"""Ways to write a map: expressions, chains, constants, many arguments; and its explanation."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_same

import clmapreduce as cm

pytestmark = pytest.mark.drawn

HALF = cm.Map(lambda b, c: b * c / 2)


def test_expressions_take_arguments_by_order_and_by_name(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    b, c = rng.integers(-50, 50, (2, 257)).astype(np.float32)
    expression = cm.Map("b * c / 2 - c")
    expected = b * c / 2 - c
    for call in (
        lambda **how: expression(b, c, **how),
        lambda **how: expression(c=c, b=b, **how),
        lambda **how: expression(b, c=c, **how),
    ):
        assert_same(call(context=context, mode=mode), expected)
    assert_same(cm.Map("c - b")(c, b, context=context, mode=mode), c - b, "by order of first appearance")


def test_expressions_know_functions_the_index_and_fields(context: cm.Context, mode: str) -> None:
    x = np.arange(17, dtype=np.float32)
    result = cm.Map("where(x > 3, sqrt(x * x), -x)")(x, context=context, mode=mode)
    assert_same(result, np.where(x > 3, x, -x))
    assert_same(cm.Map("x * 0 + index")(x, context=context, mode=mode), np.arange(17.0))
    r = np.zeros(5, [("a", "i4")])
    r["a"] = 3
    assert_same(cm.Map("r['a'] << 2")(r, context=context, mode=mode), np.full(5, 12, np.int32))


def test_an_expression_is_the_lambda_it_spells(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.uniform(0.5, 2, (2, 1025)).astype(np.float32)
    text = cm.Map("(x ** 2 + y) / maximum(abs(x - y), 0.125)")
    by_function = cm.Map(lambda x, y: (x**2 + y) / cm.math.maximum(abs(x - y), 0.125))
    assert_same(text(x, y, context=context, mode=mode), by_function(x, y, context=context, mode=mode))


def test_chains_of_maps_are_one_map(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    chain = cm.Map(lambda x, y: (x + y, x - y)) >> cm.Map(lambda s, d: s * d) >> cm.Map(lambda p: (p, -p))
    assert isinstance(chain, cm.Map)
    x, y = rng.integers(-1000, 1000, (2, 1025))
    product, negative = chain(x, y, context=context, mode=mode)
    assert_same(product, (x + y) * (x - y))
    assert_same(negative, -(x + y) * (x - y))


def test_deep_chains_of_maps(context: cm.Context, mode: str) -> None:
    step = cm.Map(lambda x: x + 1)
    chain = step
    for _ in range(60):
        chain = chain >> step
    assert_same(chain(np.arange(17), context=context, mode=mode), np.arange(17) + 61)


def test_constants_alone(context: cm.Context, mode: str) -> None:
    assert_same(cm.Map(lambda: np.float32(2.5))(length=65, context=context, mode=mode), np.full(65, 2.5, np.float32))
    five, seven = cm.Map(lambda x: (5, np.int8(7)))(np.zeros(17, np.float32), context=context, mode=mode)
    assert_same(five, np.full(17, 5))
    assert_same(seven, np.full(17, 7, np.int8))


def test_scalars_alone_give_a_scalar(context: cm.Context, mode: str) -> None:
    result = HALF(np.float32(3), np.float32(5), context=context, mode=mode)
    assert_same(result, np.float32(7.5))
    assert isinstance(result, np.float32)


def test_many_arguments(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    arrays = rng.integers(-9, 9, (24, 257)).astype(np.int32)
    result = cm.Map(lambda *a: sum(a[1:], a[0]))(*arrays, context=context, mode=mode)
    assert_same(result, arrays.sum(axis=0, dtype=np.int32))


def test_explain_and_source_launch_nothing(context: cm.Context, mode: str) -> None:
    x = np.ones(1025, np.float32)
    text = HALF.explain(x, x, context=context, mode=mode)
    assert f"mode {mode}" in text
    assert "cmr_map" in text
    assert "__kernel" in HALF.source(x, x, context=context, mode=mode)
    assert "no launch" in HALF.explain(x[:0], x[:0], context=context, mode=mode)


def test_reprs_name_functions_without_addresses() -> None:
    double, total = cm.Map(lambda x: x * 2), cm.Reduce("sum")
    assert repr(double >> cm.Map("x + 1") >> total) == "Map(<lambda> >> 'x + 1') >> Reduce('sum')"
    assert repr(cm.Map(partial(np.add, 1))) == "Map(partial)"
    assert repr(cm.fuse(total_of)) == "fuse(total_of)"
    assert repr(cm.fuse(total_of, batch=True)) == "fuse(total_of, batch=True)"
    assert repr(cm.fuse(double >> total, batch=True)) == "fuse(Map(<lambda>) >> Reduce('sum'), batch=True)"


def total_of(x: Any) -> Any:
    return cm.Reduce("sum")(x)
