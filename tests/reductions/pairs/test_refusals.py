"""What a reduction over pairs refuses, and how it says so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.operator_oracle import reduce_numbers

import clmapreduce as cm
from clmapreduce.errors import DTypeError, FormulaError, ModeError
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairBound, PairOptions, pair_reduction

F4, INT32 = np.dtype("f4"), np.dtype("i4")


def bind(reduction: Any, value: Any = F4, width: int = 1, weights: int = 0, **options: Any) -> PairBound:
    return pair_reduction(reduction).bind(np.dtype(value), width, weights, INT32, PairOptions(**options))


def test_unknown_names_are_refused() -> None:
    assert pair_reduction("Sum") is PAIR_REDUCTIONS["Sum"]
    assert all(name == reduction.name for name, reduction in PAIR_REDUCTIONS.items())
    with pytest.raises(ModeError, match=r"reduction 'Median' is unknown; use one of Sum, .*, or a cm.Operator"):
        pair_reduction("Median")


@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
@pytest.mark.parametrize("value", ["c8", [("a", "f4")]])
def test_only_real_numbers_are_reduced(name: str, value: Any) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: a formula of dtype .* give real numbers$"):
        bind(name, value, 1, int(PAIR_REDUCTIONS[name].weighted))


@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_weights_are_required_where_they_are_used(name: str) -> None:
    if PAIR_REDUCTIONS[name].weighted:
        with pytest.raises(FormulaError, match=f"^{name} needs a weight formula"):
            bind(name)
    else:
        with pytest.raises(FormulaError, match=f"^{name} takes no weight formula; one of dimension 2 was given$"):
            bind(name, weights=2)


@pytest.mark.parametrize("name", ["LogSumExpWeight", "SumSoftMaxWeight", "Max_SumShiftExp", "Max_SumShiftExpWeight"])
def test_exponents_are_single_numbers(name: str) -> None:
    with pytest.raises(FormulaError, match=f"^{name} reduces a formula of dimension 1, not 3$"):
        bind(name, width=3, weights=int(PAIR_REDUCTIONS[name].weighted))


def test_options_are_checked() -> None:
    with pytest.raises(ModeError, match=r"^ArgKMin: K=None is none; use how many values to keep, 1 or more$"):
        bind("ArgKMin")
    with pytest.raises(ModeError, match=r"^KMin: K=0 is none"):
        bind("KMin", k=0)
    with pytest.raises(
        ModeError, match=r"^Sum: sum_scheme='fast' is none; use auto, direct_sum, block_sum, kahan_scheme$"
    ):
        bind("Sum", scheme="fast")
    with pytest.raises(DTypeError, match=r"^Sum: sums accumulate in float32 or float64, not int32$"):
        bind("Sum", accumulate=INT32)


# ------------------------------------------------------------------------------------------------------- cm.Operator
def test_an_operator_of_the_users_reduces_each_number(rng: Any) -> None:
    largest = cm.Operator(lambda a, b: cm.where(a > b, a, b), -np.inf, name="largest")
    numbers = rng.normal(size=(3, 4, 60)).astype("f4")
    (result,) = reduce_numbers(bind(largest, width=3), numbers, rng, splits=4)
    np.testing.assert_array_equal(result, np.max(numbers, -1).T)


def test_an_operator_that_does_not_commute_keeps_the_order_of_columns(rng: Any) -> None:
    last = cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0, commutative=False, name="last")
    operator = bind(last, width=2)
    assert not operator.commutative
    numbers = rng.integers(0, 3, (2, 5, 40)).astype("f4")
    (result,) = reduce_numbers(operator, numbers, rng, splits=6, tile=8)
    for i, d in np.ndindex(5, 2):
        assert result[i, d] == ([0, *[x for x in numbers[d, i] if x]][-1])


def test_an_operator_refuses_what_it_cannot_take() -> None:
    with pytest.raises(FormulaError, match=r"^largest takes no weight formula"):
        bind(cm.Operator(lambda a, b: a + b, 0, name="largest"), weights=1)
    with pytest.raises(DTypeError, match="cannot become int32 without loss"):
        bind(cm.Operator(lambda a, b: a + b, 0, dtype="i4"))
