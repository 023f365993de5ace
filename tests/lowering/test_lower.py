"""From vector formulas to scalars: coordinates, long sums as loops, only the inputs that are read."""

from __future__ import annotations

import numpy as np
import pytest
from support.pair_plans import inputs_of, pair_of, per_pair, random_arrays, steps, values_of, vector

from clmapreduce.formula.node import Literal, Symbol, postorder
from clmapreduce.lowering.lower import UNROLLED, lower
from clmapreduce.vector import OPERATIONS, Variable, zero


def names(text: str) -> list[str]:
    return [array.name for array in pair_of(text).inputs]


def test_values_are_the_formulas_coordinates_then_the_weights() -> None:
    pair = pair_of("Vi(0,3)*Vj(1,3)", weight="Vj(2,2)")
    assert pair.width == 3 and len(pair.values) == 5
    assert all(node.dtype == np.float32 for node in pair.values)
    assert [n.name for n in pair.values[3:] if isinstance(n, Symbol)] == ["in2.0", "in2.1"]


def test_the_scale_is_a_factor_of_the_formula_not_of_the_weights() -> None:
    pair = pair_of("Vi(0,1)*Vj(1,1)", weight="Vj(2,1)", scale=3.0)
    values = random_arrays(pair, np.random.default_rng(1))
    value, weight = values_of(pair, values)
    np.testing.assert_allclose(value, 3 * values["in0"] * values["in1"].T, rtol=1e-6)
    np.testing.assert_array_equal(weight, np.broadcast_to(values["in2"].T, weight.shape))


def test_only_inputs_that_are_read_become_arguments() -> None:
    assert names("Vi(0,3)*0+Vj(1,3)") in (["in1"], ["in0", "in1"])  # what x*0 is belongs to the vector's rules
    formula, x, y = vector("Elem(Vj(1,3),1)"), Variable(0, 3, 0), Variable(1, 3, 1)
    assert [g.name for g in lower(formula, None, inputs_of([x, y])).inputs] == ["in1"]


def test_a_structural_zero_is_a_literal() -> None:
    pair = lower(zero(2), None, inputs_of([Variable(0, 2, 0)]))
    assert [n.value for n in pair.values if isinstance(n, Literal)] == [0, 0] and not pair.inputs


def test_numbers_are_of_the_dtype_that_is_computed_with() -> None:
    for code, dtype in (("f2", "f4"), ("f4", "f4"), ("f8", "f8")):
        pair = pair_of("Exp(-SqDist(Vi(0,3),Vj(1,3))*0.5)+(Vi(0,3)<Vj(1,3))", code)
        assert {str(n.dtype) for n in postorder(pair.values)} <= {str(np.dtype(dtype)), "bool"}
        assert pair.inputs[0].dtype == np.dtype(code) and pair.inputs[-1].scalar


@pytest.mark.parametrize("size", [1, UNROLLED - 1, UNROLLED, UNROLLED + 1, 100])
def test_sums_over_many_coordinates_are_loops(size: int) -> None:
    pair = pair_of(f"SqDist(Vi(0,{size}),Vj(1,{size}))")
    assert [c.size for c in pair.contractions] == ([size] if size > UNROLLED else [])
    assert len(per_pair(pair)) == (0 if size > UNROLLED else 3 * size - 1)


FORMULAS = {
    "SqDist": ("SqDist(Vi(0,20),Vj(1,20))", 1, lambda x, y: ((x - y) ** 2).sum(-1)),
    "Scalprod": ("Vi(0,20)|Vj(1,20)", 1, lambda x, y: (x * y).sum(-1)),
    "two of them": ("Exp(-SqDist(Vi(0,20),Vj(1,20)))*(Vi(0,20)|Vj(1,20))", 2, lambda x, y: np.exp(-((x - y) ** 2).sum(-1)) * (x * y).sum(-1)),
    "one twice": ("SqDist(Vi(0,20),Vj(1,20))*Exp(-SqDist(Vi(0,20),Vj(1,20)))", 1, lambda x, y: ((x - y) ** 2).sum(-1) * np.exp(-((x - y) ** 2).sum(-1))),
    "one inside another": ("Sum(Square(Vi(0,20)-Vj(1,20)*(Vi(0,20)|Vj(1,20))))", 2, lambda x, y: ((x - y * (x * y).sum(-1, keepdims=True)) ** 2).sum(-1)),
    "scalars inside": ("Sum(Vi(0,20)*Vj(1,20)*Elem(Vi(0,20),2))", 1, lambda x, y: (x * y).sum(-1) * x[..., 2]),
    "functions inside": ("Sum(Sin(Vi(0,20)*Vj(1,20))+Exp(-Vi(0,20)))", 1, lambda x, y: (np.sin(x * y) + np.exp(-x)).sum(-1)),
    "of rows alone": ("Norm2(Vi(0,20))*Elem(Vj(1,20),0)", 1, lambda x, y: np.sqrt((x * x).sum(-1)) * y[..., 0]),
    "cosine": ("Normalize(Vi(0,20))|Normalize(Vj(1,20))", None, lambda x, y: (x * y).sum(-1) / np.sqrt((x * x).sum(-1) * (y * y).sum(-1))),
    "no loop": ("Sum(Concat(Vi(0,20),Vj(1,20)))", 0, lambda x, y: x.sum(-1) + y.sum(-1)),
}  # fmt: skip


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", FORMULAS)
def test_loops_sum_what_the_formula_says(name: str, code: str, rng: np.random.Generator) -> None:
    text, loops, dense = FORMULAS[name]
    pair = pair_of(text, code)
    assert loops is None or len(pair.contractions) == loops
    assert pair.nested == (name == "one inside another")
    values = random_arrays(pair, rng)
    (actual,) = values_of(pair, values)
    expected = dense(values["in0"].astype(float)[:, None], values["in1"].astype(float)[None])
    np.testing.assert_allclose(actual, expected, rtol=200 * np.finfo(code).eps)


def test_long_vectors_need_no_scalars_where_loops_read_them() -> None:
    """300 coordinates: no term and no statement for each."""
    pair = pair_of("Exp(-SqDist(Vi(0,300),Vj(1,300))/Pm(2,1))*Vj(3,1)")
    assert len(pair.terms.rows) == 0 and len(pair.terms.columns) == 1
    assert len(steps(pair.values)) < 10 and len(steps([pair.contractions[0].term])) == 2


def test_deep_formulas_lower_without_recursion() -> None:
    formula = vector("Vi(0,1)*Vj(1,1)")
    for _ in range(3000):
        formula = OPERATIONS["Sin"](formula) + formula
    pair = lower(formula, None, inputs_of(formula.variables))
    assert len(per_pair(pair)) == 6001
