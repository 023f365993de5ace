"""Constants become arguments: formulas that differ in numbers alone share their kernels."""

from __future__ import annotations

import numpy as np
import pytest
from support.pair_plans import vector

import clmapreduce as cm
from clmapreduce import Vi, Vj
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.lowering.constants import FIRST, slotted
from clmapreduce.pairwise.call import PairCall, prepare_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS
from clmapreduce.vector import Category, Constant, Variable


def test_numbers_become_parameters_each_constant_once() -> None:
    formula = vector("Exp(-SqDist(Vi(0,3),Vj(1,3))*0.3)*0.3+0.7*Vj(1,3)")
    (slotted_formula, weight), slots = slotted((formula, None))
    assert weight is None and slotted_formula is not None
    assert [constant.values for _, constant in slots] == [(0.3,), (0.7,)]
    assert [variable.position for variable, _ in slots] == [FIRST, FIRST + 1]
    assert all(v.category is Category.PARAMETER and v.dim == 1 for v, _ in slots)
    assert set(slotted_formula.variables) == {*formula.variables, *(v for v, _ in slots)}


@pytest.mark.parametrize(("numbers", "magnitudes"), [((-2.0,), (2.0,)), ((0.5, 3.0), (0.5, 3.0)), ((-1.0, -7.0), (1.0, 7.0))])
def test_the_sign_stays_in_the_formula(numbers: tuple[float, ...], magnitudes: tuple[float, ...]) -> None:
    """Where all numbers have the same one. Numbers of both signs, and NaN, are as they are."""
    x = Variable(0, len(numbers), 0)
    (formula, _), ((slot, constant),) = slotted((x * Constant(numbers), None))
    assert constant.values == magnitudes and formula is x * (-abs(slot) if numbers[0] < 0 else abs(slot))
    for others in ((1.0, -2.0), (0.0, np.nan), (-3.0, np.inf)):
        (formula, _), ((slot, constant),) = slotted((Variable(0, 2, 0) * Constant(others), None))
        np.testing.assert_array_equal(constant.values, others)
        assert formula is Variable(0, 2, 0) * slot


def test_equal_formulas_with_other_numbers_are_one_object() -> None:
    one, two = (slotted((vector(f"Exp(-SqDist(Vi(0,3),Vj(1,3))*{c})*Vj(2,1)"), None)) for c in (0.25, 3.5))
    assert one[0][0] is two[0][0]
    assert [c.values for _, c in one[1] + two[1]] == [(0.25,), (3.5,)]


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, -1.0])
def test_numbers_that_make_kernels_shorter_stay(number: float) -> None:
    formula = Constant((number,)) - vector("Vi(0,1)*Vj(1,1)")
    (result, _), slots = slotted((formula, None))
    assert result is formula and not slots


def test_vectors_of_numbers_are_vectors() -> None:
    formula = Variable(0, 3, 0) * Constant((1.0, 2.0, 3.0)) + Variable(1, 3, 1)
    (result, _), ((variable, constant),) = slotted((formula, None))
    assert variable.dim == 3 and constant.values == (1.0, 2.0, 3.0) and result is not formula
    assert slotted((Variable(0, 2, 0) * Constant((0.0, 1.0)), None))[1] == ()


def test_formula_and_weight_share_their_slots() -> None:
    _, slots = slotted((vector("Vi(0,1)*2.5"), vector("Vj(1,1)*2.5")))
    assert len(slots) == 1


def test_nan_and_infinities_are_constants_as_others() -> None:
    for number in (np.nan, np.inf):
        _, ((_, constant),) = slotted((Variable(0, 1, 0) * Constant((number,)), None))
        np.testing.assert_array_equal(constant.values, [number])


def prepared(context: cm.Context, s: float) -> Prepared:
    x, y = Variable(0, 3, 0), Variable(1, 3, 1)
    formula = vector(f"Exp(-SqDist(Vi(0,3),Vj(1,3))*{s})")
    arrays = {x: np.ones((5, 3), "f4"), y: np.ones((7, 3), "f4")}
    call = prepare_pairs(PairCall(formula, PAIR_REDUCTIONS["Sum"], 1), arrays, Options(context=context))
    assert isinstance(call, Prepared)
    return call


def test_another_number_needs_no_other_kernel(context: cm.Context) -> None:
    one, two = prepared(context, 0.25), prepared(context, 0.75)
    assert one.executable is two.executable
    assert [s.spec for s in one.executable.plan.stages] == [s.spec for s in two.executable.plan.stages]
    assert one.call.inputs[-1].value == np.float32(0.25) and two.call.inputs[-1].value == np.float32(0.75)


def test_another_number_is_another_result(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Cached kernels and calls take the new number, with NumPy arrays and with arrays on the device."""
    x, y = rng.normal(size=(11, 2)).astype("f4"), rng.normal(size=(13, 2)).astype("f4")
    squares = ((x.astype(float)[:, None] - y) ** 2).sum(-1)
    for a, b in ((x, y), (cm.array(x, context), cm.array(y, context))):
        for s in (0.25, 2.0, 0.25, 3.75):
            actual = (-(Vi(a) - Vj(b)).sqnorm2() * s).exp().sum(1, context=context, mode=mode)
            terms = np.exp(-squares * s)
            tolerance = 4 * np.finfo("f4").eps * (terms * (1 + squares * s)).sum(1)
            assert np.all(np.abs(np.asarray(actual)[:, 0] - terms.sum(1)) <= tolerance)
