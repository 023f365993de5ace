"""Factors that several products share are multiplied once."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from support.pair_plans import pair_of, random_arrays, values_of

from clmapreduce.formula.node import Apply, postorder
from clmapreduce.lowering.pair import Role, roles

KERNEL = "Exp(-SqDist(Vi(0,{0}),Vj(1,{0})))*Vj(2,1)"


def function_counts(text: str) -> Counter[str]:
    """The functions of the nodes that depend on the pair, how often."""
    pair = pair_of(text)
    role = roles(pair.values, pair.contractions, pair.inputs)
    nodes = postorder(pair.values)
    return Counter(n.function.name for n in nodes if isinstance(n, Apply) and role[id(n)] is Role.PAIR)


@pytest.mark.parametrize("dim", [2, 3, 7])
def test_a_gradient_multiplies_once_per_coordinate(dim: int) -> None:
    """The product e·b, one by the factor that all coordinates share, and one for each coordinate; beside them the distance's squares."""
    kernel = KERNEL.format(dim)
    alone = function_counts(f"Grad({kernel},Vi(0,{dim}),IntCst(1))")
    both = function_counts(f"Concat({kernel},Grad({kernel},Vi(0,{dim}),IntCst(1)))")
    exponent = dim + 1  # squares, and log2(e)
    assert alone["multiply"] == exponent + dim + 1 and alone["exp2_fast"] == 1
    assert both["multiply"] == exponent + dim + 2 and both["exp2_fast"] == 1


def test_one_value_and_values_with_nothing_in_common_stay() -> None:
    assert function_counts(KERNEL.format(3))["multiply"] == 5
    assert function_counts("Vi(0,3)*Vj(1,3)")["multiply"] == 3
    assert function_counts("Vi(0,1)*Vj(1,4)")["multiply"] == 4


def test_products_keep_their_values(rng: np.random.Generator) -> None:
    """Powers, repeated factors, and a divisor; against the factors one by one."""
    text = "Concat(Vi(0,1)*Vj(1,1)*Vi(0,1)*Vj(1,1)*Pm(3,1),Concat(Vi(0,1)*Vj(1,1)/Vi(2,1),-Vj(1,1)*Vj(1,1)*Vi(0,1)))"
    pair = pair_of(text)
    arrays = random_arrays(pair, rng)
    x, y, z, u = (arrays[f"in{k}"].astype("f8") for k in range(4))
    y = y.T
    for actual, expected in zip(values_of(pair, arrays), (u * x * x * y * y, x * y / z, -x * y * y), strict=True):
        np.testing.assert_allclose(actual, np.broadcast_to(expected, np.shape(actual)), rtol=1e-6)


def test_a_root_is_made_from_its_inverse() -> None:
    """Of squares, where both are there; numbers that may be negative keep their root, which is then no number."""
    both = function_counts("SinXDivX(Sqrt(SqDist(Vi(0,3),Vj(1,3))))")
    assert (both["root_fast"], both["sqrt_fast"], both["rsqrt_fast"]) == (1, 0, 1)
    alone = function_counts("Sqrt(SqDist(Vi(0,3),Vj(1,3)))")
    assert (alone["root_fast"], alone["sqrt_fast"]) == (0, 1)
    negative = function_counts("Sin(Sqrt(Vi(0,1)+Vj(1,1)))/Sqrt(Vi(0,1)+Vj(1,1))")
    assert (negative["root_fast"], negative["sqrt_fast"], negative["rsqrt_fast"]) == (0, 1, 1)
