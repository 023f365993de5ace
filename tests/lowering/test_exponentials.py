"""Products of exponentials become one exponential where they occur only together."""

from __future__ import annotations

import numpy as np
import pytest
from support.pair_plans import form_of, pair_of, random_arrays, values_of

import clmapreduce as cm
from clmapreduce.formula.node import Apply, postorder
from clmapreduce.lowering.pair import Role, roles
from clmapreduce.planning.pair_request import passes_of

A, B, C = "Exp(Vi(0,1)*Vj(1,1))", "Exp(-Square(Vi(0,1)-Vj(1,1)))", "Exp(-Abs(Vi(0,1)+Vj(1,1)))"
ROW, COLUMN = "Exp(Vi(0,1))", "Exp(Vj(1,1))"


def exponentials(text: str, **options: bool) -> int:
    """Of both sides of a pair."""
    pair = pair_of(text) if not options else passes_of(form_of(text, **options)).main.pair
    role = roles(pair.values, pair.contractions, pair.inputs)
    nodes = [n for n in postorder(pair.values) if isinstance(n, Apply) and role[id(n)] is Role.PAIR]
    return sum(n.function.name in ("exp", "exp2_fast") for n in nodes)


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (f"{A}*{B}", 1),
        (f"{A}*Vj(2,1)*{B}*Vi(3,1)*{C}", 1),
        (f"-{A}*(-{B})/Vi(3,1)", 1),
        (f"{A}*Sin({B}*{C})", 2),  # each of two products has its own
        (f"Concat({A}*{B}*Vj(2,1),{B}*Vi(3,1)*{A})", 1),
        (f"{A}*{B}+{A}*{C}", 3),
        (f"Concat({A}*{B},{A})", 2),
        (f"{A}*{B}+{C}/({A}*{B})", 3),
        (f"{A}*{A}*{B}", 2),
        (f"{A}+{B}", 2),
        (f"{A}*{ROW}*{COLUMN}", 1),  # those of one side are factors
        (A, 1),
    ],
)
def test_exponentials_that_are_left(text: str, left: int, rng: np.random.Generator) -> None:
    assert exponentials(text) == left
    pair = pair_of(text)
    arrays = random_arrays(pair, rng)
    double = {name: array.astype("f8") for name, array in arrays.items()}
    for value, expected in zip(values_of(pair, arrays), values_of(pair_of(text, "f8"), double), strict=True):
        np.testing.assert_allclose(value, expected, rtol=2e-5, atol=1e-6)


def test_exponentials_of_one_side_are_factors() -> None:
    """Computed once for a row or a column."""
    pair = pair_of(f"{A}*{ROW}*{COLUMN}")
    role = roles(pair.values, pair.contractions, pair.inputs)
    nodes = [n for n in postorder(pair.values) if isinstance(n, Apply) and role[id(n)] is Role.PAIR]
    assert all(n.function.name != "add" for n in nodes)


def test_exact_functions_stay() -> None:
    assert exponentials(f"{A}*{B}", exact=True) == 2


def test_a_product_that_fits_where_its_factors_do_not(context: cm.Context) -> None:
    """exp(200) * exp(10 - 200) in float32."""
    x, y = np.full((3, 1), 20, np.float32), np.array([[10.0], [8.0]], np.float32)
    result = cm.Genred("Exp(x*y)*Exp(Abs(x-y)-x*y)", ["x=Vi(1)", "y=Vj(1)"], "Sum", 1)(x, y, context=context)
    exact = np.full((3, 1), np.exp(10) + np.exp(12))
    np.testing.assert_allclose(result, exact, rtol=4 * 200 * 2.0**-24)  # four roundings of numbers up to 200


def test_two_kernels_of_two_kinds_of_points(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A bilateral filter and its gradient: places, and colours."""
    x, y = (rng.normal(size=(n, 2)).astype("f4") for n in (130, 171))
    u, v = (rng.random((n, 3)).astype("f4") for n in (130, 171))
    b = rng.normal(size=(171, 1)).astype("f4")
    near = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp()
    alike = (-2 * ((cm.Vi(u) - cm.Vj(v)) ** 2).sum(-1)).exp()
    value = near * alike * cm.Vj(b)
    apart = x.astype("f8")[:, None] - y
    terms = np.exp(-np.square(apart).sum(-1) - 2 * np.square(u.astype("f8")[:, None] - v).sum(-1))[..., None] * b
    for tensor, each in ((value, terms), (value.grad(cm.Vi(x), 1), -2 * apart * terms)):
        result = tensor.sum(dim=1, context=context, mode=mode)
        assert np.all(np.abs(result - each.sum(1)) <= 2e-6 * np.abs(each).sum(1))
