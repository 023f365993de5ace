"""Arguments of LazyTensor, and the shapes that follow: KeOps' tables, without a device."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce import LazyTensor, Pm, Var, Vi, Vj


def zeros(*shape: int) -> np.ndarray:
    return np.zeros(shape, np.float32)


LAZY = {
    "i by axis": (lambda: LazyTensor(zeros(7, 3), axis=0), (7, 1, 3), (7, 1, 3)),
    "j by axis": (lambda: LazyTensor(zeros(5, 3), axis=1), (1, 5, 3), (1, 5, 3)),
    "i by shape": (lambda: LazyTensor(zeros(7, 1, 3)), (7, 1, 3), (7, 1, 3)),
    "j by shape": (lambda: LazyTensor(zeros(1, 5, 3)), (1, 5, 3), (1, 5, 3)),
    "one row is a parameter": (lambda: LazyTensor(zeros(1, 1, 3)), (1, 1, 3), (1, 1, 3)),
    "no rows": (lambda: LazyTensor(zeros(0, 1, 3)), (0, 1, 3), (0, 1, 3)),
    "scalars": (lambda: Vi(zeros(7, 1)), (7, 1), (7, 1, 1)),
    "batch of i": (lambda: LazyTensor(zeros(2, 4, 7, 1, 3)), (2, 4, 7, 1, 3), (2, 4, 7, 1, 3)),
    "batch of j": (lambda: LazyTensor(zeros(2, 1, 5, 1)), (2, 1, 5), (2, 1, 5, 1)),
    "batch of parameters": (lambda: LazyTensor(zeros(2, 1, 1, 3)), (2, 1, 1, 3), (2, 1, 1, 3)),
    "batch of parameters by category": (lambda: Pm(zeros(2, 3)), (2, 1, 1, 3), (2, 1, 1, 3)),
    "vector": (lambda: LazyTensor(zeros(3)), (1, 1, 3), (1, 1, 3)),
    "vector by category": (lambda: Pm(zeros(3)), (1, 1, 3), (1, 1, 3)),
    "array of one number": (lambda: LazyTensor(np.float32(2.0).reshape(())), (1, 1), (1, 1, 1)),
    "float": (lambda: LazyTensor(2.5), (1, 1), (1, 1, 1)),
    "int": (lambda: LazyTensor(2), (1, 1), (1, 1, 1)),
    "NumPy number": (lambda: LazyTensor(np.float64(2.5)), (1, 1), (1, 1, 1)),
    "list": (lambda: LazyTensor([1.0, 2, 3]), (1, 1, 3), (1, 1, 3)),
    "list by category": (lambda: Pm([1.0, 2.0]), (1, 1, 2), (1, 1, 2)),
    "Vi": (lambda: Vi(zeros(7, 3)), (7, 1, 3), (7, 1, 3)),
    "Vj": (lambda: Vj(zeros(5, 3)), (1, 5, 3), (1, 5, 3)),
    "Var": (lambda: Var(zeros(5, 3), cat=1), (1, 5, 3), (1, 5, 3)),
    "placeholder": (lambda: LazyTensor((0, 3, 1)), (1, 1, 3), (1, 1, 3)),
    "placeholder Vi": (lambda: Vi(0, 3), (1, 1, 3), (1, 1, 3)),
    "placeholder Pm": (lambda: Pm(2, 1), (1, 1), (1, 1, 1)),
    "placeholder Var": (lambda: Var(0, 3, 0), (1, 1, 3), (1, 1, 3)),
    "complex": (lambda: LazyTensor(np.zeros((7, 1, 3), np.complex64)), (7, 1, 3), (7, 1, 6)),
    "complex number": (lambda: LazyTensor(1j), (1, 1), (1, 1, 2)),
    "i and j": (lambda: Vi(zeros(7, 3)) - Vj(zeros(5, 3)), (7, 5, 3), (7, 5, 3)),
    "i and j to a scalar": (lambda: Vi(zeros(7, 3)) | Vj(zeros(5, 3)), (7, 5), (7, 5, 1)),
    "one over the others": (lambda: Vi(zeros(7, 3)) * Vj(zeros(5, 1)), (7, 5, 3), (7, 5, 3)),
    "batches": (lambda: LazyTensor(zeros(4, 1, 7, 1, 3)) + LazyTensor(zeros(2, 1, 5, 3)), (4, 2, 7, 5, 3), (4, 2, 7, 5, 3)),
    "transposed": (lambda: (Vi(zeros(7, 3)) - Vj(zeros(5, 3))).T, (5, 7, 3), (5, 7, 3)),
}  # fmt: skip


@pytest.mark.parametrize("name", LAZY)
def test_shapes(name: str) -> None:
    make, shape, full = LAZY[name]
    tensor = make()
    assert tensor.shape == shape
    assert tensor._shape == full
    assert tensor.dim() == len(full)
    assert tensor.ndim == full[-1]
    assert tensor.t()._shape == (*full[:-3], full[-2], full[-3], full[-1])


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
def test_dtype_is_the_arrays(dtype: str) -> None:
    x = LazyTensor(np.zeros((7, 1, 3), dtype))
    assert x.dtype == np.dtype(dtype)
    assert (2 * x + 1.5).dtype == np.dtype(dtype), "numbers take the arrays' dtype"
    assert x.dtype == str(np.dtype(dtype)), "KeOps' is a string"
    assert LazyTensor(2.0).dtype is None


def test_complex_numbers_get_their_class() -> None:
    assert type(LazyTensor(np.zeros((7, 1, 3), np.complex64))) is cm.ComplexLazyTensor
    assert type(LazyTensor(zeros(7, 1, 3))) is LazyTensor
    assert isinstance(cm.ComplexLazyTensor(1j), LazyTensor)


def test_one_array_at_two_places_is_one_variable() -> None:
    x = zeros(7, 3)
    formula = (
        (Vi(x) - Vj(x)).sqnorm2() + Vi(x).sum() + LazyTensor(x[:, None, :]).sum() + LazyTensor(x[None, :, :]).sum()
    )
    assert len(formula.inputs.slots) == 2, "one by i, one by j"
    assert (Vi(x) + Vi(x.copy())).inputs.slots[1].array is not x
    assert len((Vi(x) + Vi(x[:, ::-1])).inputs.slots) == 2, "same memory, other strides"


def test_equal_formulas_are_one_object() -> None:
    """The plan of one serves the next: KeOps code builds its LazyTensors again in every call."""

    def total_of(count: int) -> LazyTensor:
        x, y, b = zeros(count, 3), zeros(count + 1, 3), zeros(count + 1, 1)
        return (-((Vi(x) - Vj(y)) ** 2).sum(-1) / 2).exp() * Vj(b)

    assert total_of(3).formula is total_of(4).formula


def test_operands_keep_their_place_whoever_comes_first() -> None:
    x, y = Vi(zeros(7, 2)), Vj(zeros(5, 2))
    assert (x - y).formula is not (y - x).formula
    assert [slot.category for slot in (y - x).inputs.slots] == [1, 0]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LazyTensor(zeros(7, 3)), "axis=0"), (lambda: LazyTensor(zeros(7, 3), axis=5), "5 is no category"),
        (lambda: LazyTensor(zeros(7, 1, 3), axis=0), "two dimensions"), (lambda: LazyTensor(zeros(7, 5, 3)), r"\(7, 5, 3\)"),
        (lambda: LazyTensor(zeros(3), axis=0), r"shape \(3,\)"), (lambda: Vi(2.5), "parameters"),
        (lambda: Vj([1.0, 2.0]), "parameters"), (lambda: LazyTensor((1, 2)), "three integers"),
        (lambda: LazyTensor((0, 3, 7)), "7 is no category"), (lambda: LazyTensor((0, 0, 1)), "dimension of 1"),
        (lambda: LazyTensor((0, 3.0, 1)), "three integers"), (lambda: LazyTensor((0, 3, 1), axis=0), "axis=0"),
        (lambda: Vi(zeros(7, 3)) + Vi(zeros(6, 3)), "disagree on M: 7 and 6"),
        (lambda: Vj(zeros(7, 3)) + Vj(zeros(1, 3)), "disagree on N: 7 and 1"),
        (lambda: Vi(zeros(7, 3)) + Vj(zeros(5, 2)), "3, 2"), (lambda: Vi(zeros(7, 3)).sqdist(Vj(zeros(5, 2))), "3, 2"),
        (lambda: LazyTensor(zeros(2, 7, 1, 3)) + LazyTensor(zeros(3, 1, 5, 3)), r"\(2, 7, 3\).*\(3, 5, 3\)"),
    ],
)  # fmt: skip
def test_shapes_that_do_not_fit(make: Any, message: str) -> None:
    with pytest.raises(cm.ShapeError, match=message):
        make()


@pytest.mark.parametrize(
    "x", [np.zeros((3, 2), np.int64), np.zeros((3, 2), bool), np.zeros((3, 2), np.longdouble), "text", None, {"a": 1}, object(), b"x"]
)  # fmt: skip
def test_dtypes_that_no_formula_has(x: Any) -> None:
    with pytest.raises(cm.DTypeError):
        Vi(x)


def test_dtypes_do_not_mix() -> None:
    with pytest.raises(
        cm.DTypeError, match=r"Vi\(3\) of shape \(7, 3\) has dtype float32, Vj\(3\) of shape \(5, 3\) has float64"
    ):
        Vi(zeros(7, 3)) - Vj(np.zeros((5, 3)))


def test_placeholders_do_not_contradict() -> None:
    with pytest.raises(cm.FormulaError, match=r"variable 0 is declared twice, as Vi\(0, 3\) and Vj\(0, 3\)"):
        Vi(0, 3) - Vj(0, 3)
    assert len((Vi(0, 3) + Vi(0, 3)).inputs.slots) == 1


def test_what_a_lazy_tensor_is_not() -> None:
    x = Vi(zeros(7, 3))
    with pytest.raises(cm.FormulaError, match="truth"):
        bool(x == 0)
    with pytest.raises(TypeError, match="iterated"):
        list(x)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="to_numpy"):
        np.asarray(x)
    with pytest.raises(TypeError, match="not callable"):
        x(zeros(7, 3))  # type: ignore[operator]
    assert {x: 1}[x] == 1
    assert "shape=(7, 1, 3)" in repr(x) and "Vi(0, 3)" in repr(Vi(0, 3))


def test_ranges_and_backends() -> None:
    x = Vi(zeros(7, 3))
    assert x.ranges is None and x.backend is None
    with pytest.raises(cm.DTypeError, match="ranges_i"):
        x.ranges = (zeros(1, 2),) * 6
    x.ranges = ranges = cm.Ranges.band(7, 5, 2)
    product = 2 * x - Vj(zeros(5, 3))
    assert product.ranges is ranges and product.sqnorm2().ranges is ranges and product.T.T.ranges is ranges
    assert (
        product.T.ranges is ranges.T
        and product.grad(x, product).ranges is ranges
        and (product | product).ranges is ranges
    )
    product.ranges = cm.Ranges.band(7, 5, 1)
    with pytest.raises(cm.ModeError, match="meet in one formula"):
        x + product
    x.ranges = None
    assert x.ranges is None and (x + product).ranges is product.ranges
    x.backend = "CPU"
    assert (2 * x + Vj(zeros(5, 3))).backend == "CPU" and (Vj(zeros(5, 3)) - x).T.backend == "CPU"
    other = Vi(zeros(7, 3))
    other.backend = "1D"
    with pytest.raises(cm.ModeError, match="'CPU' and '1D'"):
        x + other
    with pytest.raises(cm.ModeError, match="GPU_2D"):
        x.backend = "TPU"
