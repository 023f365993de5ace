"""Arrays of a pairwise call: checked against their variables by name, before any launch; sizes and strides that follow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.pair_plans import vector

import clmapreduce as cm
from clmapreduce.calls.options import Options
from clmapreduce.errors import DeviceError, DTypeError, FormulaError, ModeError, ShapeError
from clmapreduce.formula.formula import Access
from clmapreduce.pairwise.arrays import gather_pairs
from clmapreduce.pairwise.call import PairCall, reduce_pairs
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairOptions
from clmapreduce.vector import Constant, Variable

X, Y, P, B = Variable(0, 3, 0), Variable(1, 3, 1), Variable(2, 1, 2), Variable(3, 2, 1)
FORMULA = vector("Exp(-SqDist(Vi(0,3),Vj(1,3))*Pm(2,1))*Vj(3,2)")


def zeros(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.fixture(name="no_launches")
def refuses_launches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing may be launched meanwhile."""
    launches: list[str] = []
    queue = type(cm.Context().queue)
    monkeypatch.setattr(queue, "launch", lambda queue, kernel, *a, **k: launches.append(kernel.name))
    yield
    assert not launches


WRONG_ARRAYS: list[tuple[dict[Variable, Any], type[Exception], str]] = [
    ({X: zeros(7, 2)}, ShapeError, r"variable 0 \(i\) has shape \(7, 2\); it must be \(\.\.\., M, 3\)"),
    ({X: zeros(3)}, ShapeError, r"variable 0 \(i\) has shape \(3,\)"),
    ({Y: zeros(5, 1)}, ShapeError, r"variable 1 \(j\) has shape \(5, 1\); it must be \(\.\.\., N, 3\)"),
    ({P: zeros(2)}, ShapeError, r"variable 2 \(a parameter\) has shape \(2,\); it must be \(\.\.\., 1\)"),
    ({P: zeros()}, ShapeError, r"variable 2 \(a parameter\) has shape \(\)"),
    ({B: zeros(6, 2)}, ShapeError, r"variables of j must agree in length, but variable 1 \(j\) has 5, variable 3 \(j\) has 6"),
    ({X: zeros(2, 7, 3), B: zeros(3, 5, 2)}, ShapeError, r"batch axes do not broadcast: variable 0 \(i\) has \(2,\).*variable 3 \(j\) has \(3,\)"),
    ({Y: zeros(5, 3, dtype="f8")}, DTypeError, r"variable 0 \(i\) has float32, variable 1 \(j\) has float64"),
    ({X: zeros(7, 3, dtype="i4")}, DTypeError, r"variable 0 \(i\) has dtype int32; use float16, bfloat16, float32 or float64"),
    ({X: zeros(7, 3, dtype="c8")}, DTypeError, r"variable 0 \(i\) has dtype complex64"),
    ({X: zeros(7, 3, dtype="?")}, DTypeError, r"variable 0 \(i\) has dtype bool"),
]  # fmt: skip


@pytest.mark.parametrize(("replacements", "error", "message"), WRONG_ARRAYS, ids=lambda value: str(value)[:40])
def test_arrays_that_do_not_fit(
    replacements: dict[Variable, Any], error: type[Exception], message: str, no_launches: None
) -> None:
    arrays = {X: zeros(7, 3), Y: zeros(5, 3), P: zeros(1), B: zeros(5, 2)} | replacements
    for axis in (0, 1):
        with pytest.raises(error, match=message):
            reduce_pairs(PairCall(FORMULA, PAIR_REDUCTIONS["Sum"], axis), arrays)
    context = cm.Context()
    on_device = {v: a if v in replacements and a.dtype.kind in "c?" else cm.array(a, context) for v, a in arrays.items()}
    with pytest.raises(error, match=message):
        reduce_pairs(PairCall(FORMULA, PAIR_REDUCTIONS["Sum"], 1), on_device)


def test_callers_may_give_variables_their_names(no_launches: None) -> None:
    call = PairCall(FORMULA, PAIR_REDUCTIONS["Sum"], 1, names=((X, "the points"), (Y, "the centres")))
    with pytest.raises(ShapeError, match=r"the points has shape \(7, 2\)"):
        reduce_pairs(call, {X: zeros(7, 2), Y: zeros(5, 3), P: zeros(1), B: zeros(5, 2)})


def test_calls_that_cannot_be(no_launches: None) -> None:
    with pytest.raises(ShapeError, match="axis=2"):
        PairCall(FORMULA, PAIR_REDUCTIONS["Sum"], 2)
    with pytest.raises(ModeError, match="backend='3D' is unknown; use one of auto, 1D, 2D"):
        PairCall(FORMULA, PAIR_REDUCTIONS["Sum"], 1, backend="3D")
    with pytest.raises(FormulaError, match="without any variable"):
        reduce_pairs(PairCall(Constant((2.0,)), PAIR_REDUCTIONS["Sum"], 1), {})
    call = PairCall(vector("SqDist(Vi(0,3),Vj(1,3))"), PAIR_REDUCTIONS["KMin"], 1, options=PairOptions(k=6))
    with pytest.raises(ShapeError, match="6 of 5 values"):
        reduce_pairs(call, {X: zeros(7, 3), Y: zeros(5, 3)})
    with pytest.raises(cm.ClMapReduceError, match="out"):
        whole = {X: zeros(7, 3), Y: zeros(5, 3), P: zeros(1), B: zeros(5, 2)}
        reduce_pairs(PairCall(FORMULA, PAIR_REDUCTIONS["Sum"], 1), whole, Options(out=zeros(7, 3)))


def test_arrays_of_two_devices_do_not_meet(no_launches: None) -> None:
    one, two = cm.Context(), cm.Context()
    with pytest.raises(DeviceError):
        reduce_pairs(
            PairCall(vector("SqDist(Vi(0,3),Vj(1,3))"), PAIR_REDUCTIONS["Sum"], 1),
            {X: cm.array(zeros(7, 3), one), Y: cm.array(zeros(5, 3), two)},
        )


# ------------------------------------------------------------------------------------------------- what follows
BATCHES: list[tuple[dict[Variable, tuple[int, ...]], tuple[int, ...], dict[Variable, list[tuple[int, int]] | None]]] = [
    ({X: (7, 3), Y: (5, 3)}, (), {X: None, Y: None}),
    ({X: (2, 7, 3), Y: (5, 3)}, (2,), {X: [(2, 21)], Y: None}),
    ({X: (2, 7, 3), Y: (1, 5, 3)}, (2,), {X: [(2, 21)], Y: None}),
    ({X: (4, 1, 7, 3), Y: (2, 5, 3)}, (4, 2), {X: [(4, 21), (2, 0)], Y: [(4, 0), (2, 15)]}),
    ({X: (4, 2, 7, 3), Y: (4, 2, 5, 3), P: (4, 2, 1)}, (4, 2), {X: [(8, 21)], Y: [(8, 15)], P: [(8, 1)]}),
    ({X: (4, 2, 7, 3), P: (2, 1)}, (4, 2), {X: [(8, 21)], P: [(4, 0), (2, 1)]}),
    ({X: (1, 1, 7, 3), Y: (1, 1, 5, 3)}, (1, 1), {X: None, Y: None}),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(BATCHES)))
def test_batch_axes_broadcast_by_strides(number: int) -> None:
    """An array that serves the whole batch has no strides; its axes collapse as far as they lie one behind the other."""
    shapes, batch, strides = BATCHES[number]
    arguments = gather_pairs({v: zeros(*shape) for v, shape in shapes.items()}, (), cm.Context())
    assert arguments.batch == batch
    for variable, expected in strides.items():
        placement = arguments.inputs[variable]
        assert placement.signature.access is (Access.VECTOR if expected is None else Access.STRIDED)
        assert list(placement.strides) == (expected or []), variable


def test_lengths_and_dtypes_are_the_arrays() -> None:
    result = gather_pairs({X: zeros(7, 3, dtype="f2"), Y: zeros(5, 3, dtype="f2")}, (), cm.Context())
    assert result.extents == (7, 5) and result.dtype == np.float16 and not result.on_device
    assert gather_pairs({X: zeros(0, 3)}, (), cm.Context()).extents == (0, 1), "what is missing counts one"


def test_constants_follow_the_arrays() -> None:
    """In the dtype that is computed with; single ones as numbers."""
    one, many = Constant((0.1,)), Constant((1.0, 2.0))
    slots = ((Variable(1_000_000, 1, 2), one), (Variable(1_000_001, 2, 2), many))
    for code, dtype in (("f2", "f4"), ("f4", "f4"), ("f8", "f8")):
        result = gather_pairs({X: zeros(7, 3, dtype=code)}, slots, cm.Context())
        first, second = (result.inputs[v] for v, _ in slots)
        assert first.value == np.dtype(dtype).type(0.1) and first.signature.access is Access.ARGUMENT
        assert second.value.dtype == dtype and second.value.tolist() == [1, 2]


def test_arrays_of_any_strides_are_read_as_they_are(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y = rng.normal(size=(3, 14)).T[::2], rng.normal(size=(5, 6))[:, ::-2]
    x, y = x.astype("f8", order="K"), np.asfortranarray(y)
    call = PairCall(vector("SqDist(Vi(0,3),Vj(1,3))"), PAIR_REDUCTIONS["Sum"], 1)
    expected = ((x[:, None] - y) ** 2).sum(-1).sum(1)[:, None]
    np.testing.assert_allclose(reduce_pairs(call, {X: x, Y: y}, Options(mode, context)), expected, rtol=1e-12)
    read_only = x.copy()
    read_only.flags.writeable = False
    np.testing.assert_allclose(
        reduce_pairs(call, {X: read_only, Y: y}, Options(mode, context)), expected, rtol=1e-12
    )
