"""Powers of two of a pair's number times one that no pair changes: which words stand for them, and that these are right
for every scale.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of

import clmapreduce as cm
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.fast import EXP2_FAST
from clmapreduce.formula.node import Apply, Symbol, postorder
from clmapreduce.schemes.pairs.parts.powers import powers_of

DISTANCE = "SqDist(Vi(0,2),Vj(1,2))"
SCALES = [1.0, 0.25, 2.0**-100, 2.0**100, 0.0, -0.0, np.inf, np.nan]
NUMBERS = [0.0, 2.0**-40, 0.125, 1.0, 2.25, 40.0, 87.0, 88.0, 88.5, 88.7, 89.0, 700.0, 709.5, 710.0, 2.0**20, 2.0**60, np.inf, np.nan]


def names(formula: str, wide: bool) -> list[str]:
    """Those of what stands for the powers of a pair."""
    pair = layout_of(formula).pair
    written = powers_of(pair, wide)
    powers = [n for n in postorder(pair.values) if isinstance(n, Apply) and n.function is EXP2_FAST]
    standing = [written.instead.get(id(node), node) for node in powers]
    return [node.function.name for node in standing if isinstance(node, Apply)]


@pytest.mark.parametrize(
    "formula, word, narrow",
    [
        (f"Exp(-{DISTANCE})", "exp2_product_decay", "exp2_decay"),
        (f"Exp(-{DISTANCE}*Square(Pm(2,1)))", "exp2_product_decay", "exp2_decay"),
        (f"Exp(-Sqrt({DISTANCE}))*Vj(2,1)", "exp2_product_decay", "exp2_decay"),
        (f"Exp({DISTANCE})", "exp2_product", "exp2_fast"),
        (f"Exp(-{DISTANCE}*Pm(2,1))", "exp2_product", "exp2_fast"),
        ("Exp(Vi(0,2)|Vj(1,2))", "exp2_product", "exp2_fast"),
        (f"Exp(-{DISTANCE}*Vi(2,1))", "exp2_fast", "exp2_fast"),
        (f"Exp({DISTANCE}-Vi(2,1))", "exp2_product", "exp2_fast"),
        (f"Exp((-{DISTANCE}-Abs(Vi(0,2)|Vj(1,2)))*Square(Pm(2,1)))", "exp2_product", "exp2_decay"),
    ],
)
def test_which_words_stand_for_powers(formula: str, word: str, narrow: str) -> None:
    assert names(formula, True) == [word] and names(formula, False) == [narrow]


def test_the_product_of_an_exponent_is_no_statement() -> None:
    pair = layout_of(f"Exp(-2*{DISTANCE})*Vj(2,1)").pair
    (power,) = [n for n in postorder(pair.values) if isinstance(n, Apply) and n.function is EXP2_FAST]
    assert powers_of(pair, True).inline == {id(power.args[0])} and not powers_of(pair, False).inline


@pytest.mark.parametrize("formula", [f"Exp(-{DISTANCE}/7)", f"Exp({DISTANCE}*Pm(2,1))", f"Exp({DISTANCE}*Pm(2,1)*3)"])
def test_what_stands_for_a_power_is_the_power(formula: str) -> None:
    pair = layout_of(formula).pair
    (power,) = [n for n in postorder(pair.values) if isinstance(n, Apply) and n.function is EXP2_FAST]
    symbols: dict[Any, Any] = {s: np.float32(k / 4) for k, s in enumerate(n for n in postorder([power]) if isinstance(n, Symbol))}
    new = evaluate(powers_of(pair, True).instead[id(power)], symbols)
    np.testing.assert_allclose(new, evaluate(power, symbols), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("form", ["decay", "any", "negative numbers"])
def test_powers_are_right_for_every_scale(form: str, sign: float, dtype: Any, context: cm.Context) -> None:
    """Of numbers from 0 to infinity; a scale that is infinite counts as the largest number."""
    if dtype == np.float64 and not context.facts.fp64:
        pytest.skip("no float64")
    numbers = np.array(NUMBERS, dtype) * (-1 if form == "negative numbers" else 1)
    x, one = numbers[:, None], np.ones((1, 1), dtype)
    for scale in SCALES:
        product = cm.Vi(x) * cm.Vj(one)
        if form == "decay":
            parameter = np.array([dtype(scale)])
            exponent, used = -(product.abs() * cm.Pm(parameter).abs()), -abs(scale)
        else:
            parameter = np.array([dtype(sign * scale)])
            exponent, used = product * cm.Pm(parameter), sign * scale
        call = exponent.exp().sum(1, context=context, mode="sequential", call=False)
        if context.facts.kind == "cpu":
            assert ("exp2_product_decay" if form == "decay" else "exp2_product_") in call.source()
        result = np.asarray(call())[:, 0].astype("f8")
        with np.errstate(all="ignore"):
            far = np.abs(numbers.astype("f8") * used)
            expected = np.exp(numbers.astype("f8") * used).astype(dtype).astype("f8")
            tiny, eps = np.finfo(dtype).tiny, np.finfo(dtype).eps
            close = (result == expected) | (np.abs(result - expected) <= 2 * eps * (2 + far) * np.abs(expected))
        flushed = (np.abs(expected) < 4 * tiny) & (np.abs(result) <= 4 * tiny)
        right = close | flushed | (np.isnan(result) & np.isnan(expected)) | (np.isinf(scale) & (numbers == 0))
        assert right.all(), (scale, numbers[~right], result[~right], expected[~right])
