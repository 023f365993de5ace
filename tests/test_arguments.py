"""Arguments of a call: how numbers, arrays and shapes become inputs of a formula."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.arguments import gather
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import Prepared
from clmapreduce.errors import DTypeError, ModeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.formula.node import Symbol


def signature(context: cm.Context, *values: Any) -> list[tuple[str, Access, Any]]:
    return [(s.dtype.str[1:], s.access, s.weak) for s in gather(values, context).signature]


def test_python_numbers_are_weak_and_as_narrow_as_the_arrays_beside_them(context: cm.Context) -> None:
    single, double, half = (np.ones(3, code) for code in ("f4", "f8", "f2"))
    wide = "f8" if context.facts.fp64 else "f4"
    for arrays, code in (((single,), "f4"), ((half,), "f4"), ((single, double), "f8"), ((np.ones(3, "i8"),), wide)):
        assert signature(context, 0.5, *arrays)[0] == (code, Access.ARGUMENT, float)
    assert signature(context, 1j, single)[0] == ("c8", Access.ARGUMENT, complex)
    assert signature(context, 1j, double)[0] == ("c16", Access.ARGUMENT, complex)
    assert signature(context, True, single)[0] == ("b1", Access.ARGUMENT, bool)


@pytest.mark.parametrize(
    ("number", "code"),
    [(0, "i4"), (-(2**31), "i4"), (2**31 - 1, "i4"), (2**31, "i8"), (-(2**63), "i8"), (2**63 - 1, "i8"), (2**63, "u8"),
     (2**64 - 1, "u8")],
)  # fmt: skip
def test_python_integers_are_held_by_the_smallest_of_three(context: cm.Context, number: int, code: str) -> None:
    arguments = gather([number], context)
    assert signature(context, number) == [(code, Access.ARGUMENT, int)]
    assert int(arguments.inputs[0].value) == number
    symbol = arguments.signature[0].input(0).value
    assert isinstance(symbol, Symbol) and symbol.weak == 0


def test_integers_beyond_64_bits_are_refused(context: cm.Context) -> None:
    for number in (2**64, -(2**63) - 1, 10**400):
        with pytest.raises(DTypeError, match="does not fit uint64"):
            gather([number], context)


def test_numpy_scalars_are_strong(context: cm.Context) -> None:
    assert signature(context, np.float64(1), np.int8(2), np.bool_(True)) == [
        ("f8", Access.ARGUMENT, None), ("i1", Access.ARGUMENT, None), ("b1", Access.ARGUMENT, None),
    ]  # fmt: skip


def test_numbers_take_part_as_in_numpy(context: cm.Context) -> None:
    x = np.arange(5, dtype=np.float32)
    blend = cm.Map(lambda x, s: (1 - s) * x + s * x * 2)
    np.testing.assert_allclose(blend(x, 0.25, context=context), 1.25 * x, rtol=1e-6)
    assert blend(x, 0.25, context=context).dtype == np.float32
    assert blend(x, 3, context=context).dtype == np.float32
    small = np.arange(5, dtype=np.int8)
    assert cm.Map(lambda n, s: n * s)(small, 3, context=context).dtype == np.int8
    assert cm.Map(lambda n, s: n + s)(small, np.int16(3), context=context).dtype == np.int16


@pytest.mark.parametrize(
    ("function", "code", "number"),
    [(lambda x, s: x + s, "u1", 300), (lambda x, s: x < s, "u1", -1), (lambda x, s: s - x, "i4", 2**31),
     (lambda x, s: cm.where(x > 0, x, s), "i2", 70000), (lambda x, s: x & s, "u8", -1)],
)  # fmt: skip
def test_a_number_that_does_not_fit_what_it_meets_is_refused_at_the_call(
    context: cm.Context, function: Any, code: str, number: int
) -> None:
    """The same kernel serves numbers that do fit, so tracing cannot find the error."""
    step = cm.Map(function)
    x = np.arange(4, dtype=code)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(step(x, 3, context=context), cm.Map(function).function(x, np.dtype(code).type(3)))
    with pytest.raises(DTypeError, match=f"constant {number} does not fit {np.dtype(code)}"):
        step(x, number, context=context)
    with pytest.raises(DTypeError, match=f"constant {number} does not fit {np.dtype(code)}"):
        (step >> cm.Reduce("any"))(x, number, context=context)


def test_arrays_are_read_in_step_or_by_strides_or_once(context: cm.Context) -> None:
    matrix, row, column = np.ones((3, 4), "f4"), np.ones(4, "f4"), np.ones((3, 1), "f4")
    inputs = gather([matrix, row, column, np.ones((1, 1), "f4"), np.float32(1)], context).inputs
    assert [g.signature.access for g in inputs] == [
        Access.VECTOR, Access.STRIDED, Access.STRIDED, Access.ARGUMENT, Access.ARGUMENT,
    ]  # fmt: skip
    assert [g.strides for g in inputs[1:3]] == [((3, 0), (4, 1)), ((3, 1), (4, 0))]
    on_device = cm.array(np.ones(1, "f4"), context)
    assert gather([on_device, cm.array(matrix, context)], context).inputs[0].signature.access is Access.SINGLE
    assert gather([np.ones((1, 4), "f4")[0], np.ones((1, 4), "f4")], context).inputs[0].signature.access is Access.VECTOR


def test_shapes_that_do_not_broadcast_are_refused(context: cm.Context) -> None:
    with pytest.raises(ShapeError, match=r"shapes \(3,\) and \(4,\) do not broadcast"):
        gather([np.ones(3), np.ones(4)], context)
    with pytest.raises(ShapeError, match="length is -1"):
        gather([], context, -1)
    assert gather([np.ones((2, 1)), np.ones(3)], context).shape == (2, 3)
    assert gather([1.5], context, 7).shape == (7,)
    assert gather([], context, 0).length == 0


def test_a_prepared_call_runs_once(context: cm.Context) -> None:
    """Its buffers belong to other calls afterwards."""
    x = np.arange(5000.0)
    prepared = cm.Map("a + 1")._prepare([x], Options("auto", context))
    assert isinstance(prepared, Prepared)
    np.testing.assert_array_equal(prepared.run()[0], x + 1)
    with pytest.raises(ModeError, match="a call runs once"):
        prepared.run()
