"""Vectors are interned: one object per formula, in all threads, freed with its last reference."""

from __future__ import annotations

import copy
import gc
import math
import threading
import weakref

import numpy as np
import pytest
from support.vector_oracle import close

from clmapreduce.errors import FormulaError, ShapeError
from clmapreduce.vector import OPERATIONS, ZERO, Category, Constant, Variable, Vector, node, postorder
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.evaluate import evaluate
from clmapreduce.vector.node import text

exp = OPERATIONS["Exp"]


def test_equal_formulas_are_one_object() -> None:
    def formula_once() -> Vector:
        x, y = Variable(0, 3, 0), Variable(1, 3, Category.J)
        return exp(-((x - y) ** 2).sum() / 0.5) * Variable(2, 2, 1)

    assert formula_once() is formula_once()
    assert formula_once().variables == (Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 2, 1))
    assert Variable(0, 3, 0) is not Variable(0, 3, 1)
    assert Constant((0.5,)) is Constant([np.float64(0.5)])
    assert Constant((0.0,)) is not Constant((-0.0,))
    assert Constant((math.nan,)) is Constant((math.nan,))
    assert copy.deepcopy(formula_once()) is copy.copy(formula_once()) is formula_once()


def test_dimensions_and_indices_are_plain_integers() -> None:
    x = Variable(np.int64(0), np.int32(3), True)  # type: ignore[arg-type]
    assert x is Variable(0, 3, 1)
    assert type(x.dim) is type(x.position) is int
    assert x.category is Category.J


def test_formulas_without_references_are_collected() -> None:
    x = Variable(1000, 3, 0)
    gc.collect()
    before = len(node._INTERNED)
    f = exp(x * 3.25) + Constant((1.5, 2.5, 3.5))
    reference = weakref.ref(f)
    assert len(node._INTERNED) > before
    del f
    assert reference() is None  # at once: there are no cycles
    assert len(node._INTERNED) == before


def test_threads_get_one_object() -> None:
    start, actual = threading.Barrier(8), [[] for _ in range(8)]

    def build(place: int) -> None:
        start.wait()
        for k in range(300):
            x = Variable(k % 7, 2 + k % 3, 0)
            actual[place].append(exp(x * float(k)) + x.sum())

    threads = [threading.Thread(target=build, args=(place,)) for place in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(others) == 300 for others in actual)
    for same in zip(*actual, strict=True):
        assert all(other is same[0] for other in same)


def test_thousands_of_steps_need_no_recursion(rng: np.random.Generator) -> None:
    x, steps = Variable(0, 1, 0), 5_000
    f: Vector = x
    factors = rng.uniform(-1e-4, 1e-4, steps)
    for factor in factors:
        f = f + f * float(factor)
    assert len(list(postorder([f]))) > 2 * steps
    values = {x: np.array([0.5])}
    expected = np.prod(1 + factors)
    close(evaluate(f, values), np.array([0.5 * expected]), 1e-10)
    close(evaluate(gradient(f, x), values), np.array([expected]), 1e-10)
    assert len(text(f, 300)) == 300
    before = len(node._INTERNED)
    del f
    assert len(node._INTERNED) < before - 2 * steps


def test_shared_parts_are_computed_once() -> None:
    x = Variable(0, 1, 0)
    f: Vector = x
    for _ in range(200):  # as a tree, 2^200 leaves
        f = OPERATIONS["Sin"](f) + OPERATIONS["Cos"](f)
    value, slope = 0.5, 1.0
    for _ in range(200):
        value, slope = math.sin(value) + math.cos(value), slope * (math.cos(value) - math.sin(value))
    values = {x: np.array([0.5])}
    close(evaluate(f, values), np.array([value]))
    close(evaluate(gradient(f, x), values), np.array([slope]))
    assert len(repr(f)) <= 400
    assert len(list(postorder([f]))) == 601


def test_simplification_changes_no_bit() -> None:
    x, y = Variable(0, 2, 0), Variable(1, 1, 0)
    zero = OPERATIONS["Zero"](2)
    assert x * 1 is x
    assert x * -1 is -x
    assert OPERATIONS["Minus"](-x) is x
    assert x - (-y) is x + y
    assert x + -y is x - y
    assert x / 1 is x
    assert 1 / x is OPERATIONS["Inv"](x)
    assert x * x is OPERATIONS["Square"](x) is (-x) ** 2
    assert x + zero is x
    assert zero - x is -x
    assert (x * zero).operation is (zero / x).operation is (-zero).operation is ZERO
    assert zero + y is OPERATIONS["SumT"](y, 2)
    assert OPERATIONS["Sum"](zero) is OPERATIONS["Zero"](1)
    assert OPERATIONS["Sum"](y) is y
    assert OPERATIONS["Sum"](OPERATIONS["SumT"](y, 5)) is 5 * y
    assert exp(OPERATIONS["SumT"](y, 2)) is OPERATIONS["SumT"](exp(y), 2)
    assert OPERATIONS["SumT"](y, 2) * x is y * x
    assert Constant((2,)) * 3 + 1 is Constant((7,))
    assert Constant((1, 2)) * 3 is Constant((3, 6))
    assert (Constant((1,)) / 0).operation.name == "Inv"
    assert (x * 0).operation.name == "Mult"  # a NaN must stay one


def test_numpys_numbers_are_numbers() -> None:
    x = Variable(0, 3, 0)
    assert np.float64(2) * x is 2 * x
    assert np.float32(0.5) + x is 0.5 + x
    assert x ** np.int32(3) is x**3
    assert x ** np.float32(0.5) is x**0.5


def test_what_is_no_formula_is_refused() -> None:
    x = Variable(0, 3, 0)
    with pytest.raises(ShapeError, match="dimension 0"):
        Variable(0, 0, 0)
    with pytest.raises(FormulaError, match="category 3"):
        Variable(0, 1, 3)
    with pytest.raises(FormulaError, match="must be an integer"):
        Variable(0, 1.5, 0)  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="at least one number"):
        Constant(())
    with pytest.raises(FormulaError, match="truth value"):
        bool(x < 1)
    with pytest.raises(FormulaError, match="iterated"):
        list(x)
    with pytest.raises(FormulaError, match="more than 1024 bits"):
        x * 10**400
    with pytest.raises(FormulaError, match="neither a formula"):
        x * np.ones(3)  # type: ignore[operator]
    with pytest.raises(FormulaError, match="neither a formula"):
        x * 1j  # type: ignore[operator]
