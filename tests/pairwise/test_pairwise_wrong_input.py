"""Wrong input to Genred and LazyTensor: an error before any launch, which names the variable, its shape and the expected one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce import Genred, LazyTensor, Pm, Vi, Vj

ALIASES = ["x = Vi(3)", "y = Vj(3)", "g = Pm(1)", "b = Vj(2)"]


def zeros(*shape: int, dtype: str = "f4") -> np.ndarray:
    return np.zeros(shape, dtype)


@pytest.fixture(autouse=True)
def no_launches(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing may be launched in any of these tests."""
    context = cm.Context()
    launches: list[str] = []
    monkeypatch.setattr(type(context.queue), "launch", lambda queue, kernel, *a, **k: launches.append(kernel.name))
    yield
    assert not launches


WRONG_ARRAYS: list[tuple[dict[int, Any], type[Exception], str]] = [
    ({0: zeros(7, 2)}, cm.ShapeError, r"x = Vi\(3\) was given an array of shape \(7, 2\); it needs \(.., M, 3\)"),
    ({1: zeros(3)}, cm.ShapeError, r"y = Vj\(3\) .* shape \(3,\); it needs \(.., N, 3\); a vector of scalars is x\[:, None\]"),
    ({2: zeros(2)}, cm.ShapeError, r"g = Pm\(1\) .* shape \(2,\); it needs \(.., 1\)"),
    ({2: [1.0, 2.0]}, cm.ShapeError, r"g = Pm\(1\) .* shape \(2,\)"),
    ({3: zeros(6, 2)}, cm.ShapeError, r"y = Vj\(3\) of shape \(5, 3\) and b = Vj\(2\) of shape \(6, 2\) disagree on N: 5 and 6"),
    ({3: zeros(1, 2)}, cm.ShapeError, "disagree on N: 5 and 1"),
    ({0: zeros(2, 7, 3), 1: zeros(3, 5, 3)}, cm.ShapeError, r"x = Vi\(3\) of shape \(2, 7, 3\), y = Vj\(3\) of shape \(3, 5, 3\)"),
    ({0: zeros(7, 3, dtype="f8")}, cm.DTypeError, r"x = Vi\(3\) of shape \(7, 3\) has dtype float64, y = Vj\(3\) of shape \(5, 3\) has float32"),
    ({2: zeros(1, dtype="f8")}, cm.DTypeError, r"g = Pm\(1\) of shape \(1,\) has float64"),
    ({1: zeros(5, 3, dtype="i4")}, cm.DTypeError, r"y = Vj\(3\) has dtype int32; .*astype"),
    ({1: zeros(5, 3, dtype="c8")}, cm.DTypeError, r"y = Vj\(3\) was given complex64"),
    ({1: np.ma.zeros((5, 3), "f4")}, cm.DTypeError, "masked"), ({1: None}, cm.DTypeError, "y = Vj"), ({1: [[1.0], [1.0, 2.0]]}, cm.ShapeError, "no array"),
    ({1: "text"}, cm.DTypeError, "y = Vj"),
]  # fmt: skip


@pytest.mark.parametrize(("replacements", "error", "message"), WRONG_ARRAYS, ids=lambda value: str(value)[:40])
def test_arrays_that_do_not_fit(replacements: dict[int, Any], error: type[Exception], message: str) -> None:
    arrays = [zeros(7, 3), zeros(5, 3), zeros(1), zeros(5, 2)]
    for place, array in replacements.items():
        arrays[place] = array
    for axis in (0, 1):
        with pytest.raises(error, match=message):
            Genred("Exp(-SqDist(x, y) * g) * b", ALIASES, axis=axis)(*arrays)


def test_arrays_too_few_and_too_many() -> None:
    call = Genred("Exp(-SqDist(x, y) * g) * b", ALIASES, axis=1)
    for arrays in ([], [zeros(7, 3)], [zeros(7, 3)] * 5):
        with pytest.raises(
            cm.FormulaError, match=r"4 variable\(s\) to bind: x = Vi\(3\), y = Vj\(3\), g = Pm\(1\), b = Vj\(2\)"
        ):
            call(*arrays)
    later = (Vi(0, 3) - Vj(zeros(5, 3))).sqnorm2().sum(axis=1)
    with pytest.raises(cm.FormulaError, match=r"Vi\(0, 3\)"):
        later()
    reduction = (Vi(zeros(7, 3)) - Vj(zeros(5, 3))).sum(axis=1, call=False)
    with pytest.raises(cm.FormulaError, match="0 variable"):
        reduction(zeros(7, 3))


def test_unbound_variables_are_named() -> None:
    lazy = Vi(0, 3) - Vj(zeros(5, 3))
    for call in (lazy.dense, lazy.to_numpy, lazy.diagonal):
        with pytest.raises(cm.FormulaError, match=r"Vi\(0, 3\)"):
            call()


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("Exp(-SqDist(x, z))", "'z' is no variable"), ("Gauss(x, y)", "unknown operation 'Gauss'"), ("__import__('os')", "unknown operation|cannot stand"), ("x.shape", "cannot stand"),
        ("Exp(x", r"'\)' is missing"), ("", "cannot stand"), ("x +", "cannot stand"), ("Sum()", "Sum"), ("lambda: x", "lambda|cannot"), ("x; y", "cannot stand"),
    ],
)  # fmt: skip
def test_formulas_that_are_none(formula: str, message: str) -> None:
    with pytest.raises(cm.FormulaError, match=message):
        Genred(formula, ALIASES)
    with pytest.raises(cm.FormulaError, match=message):
        Genred("SqDist(x, y)", ALIASES, "LogSumExp", formula2=formula)


def test_dimensions_in_formulas() -> None:
    for formula in ("x + b", "SqDist(x, b)", "(x | b)", "Concat(x, y) * x", "Elem(x, 3)", "Extract(x, 2, 2)"):
        with pytest.raises(cm.ShapeError):
            Genred(formula, ALIASES)


@pytest.mark.parametrize(
    "aliases", [["x = Vi(3)", "x = Vj(3)"], ["x = Vk(3)"], ["x = Vi(0)"], ["x = Vi(-1)"], ["x = Vi(3)", "y = Vj(0, 3)"], ["x = Vi(1, 3)"], ["2x = Vi(3)"], ["Exp = Vi(3)"], ["x = 3"], ["x = Var(0, 3, 7)"]],
    ids=str,
)  # fmt: skip
def test_aliases_that_declare_nothing(aliases: list[str]) -> None:
    with pytest.raises((cm.FormulaError, cm.ShapeError)):
        Genred("x", aliases)


OPTIONS: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"reduction_op": "Median"}, cm.ModeError, "Median.*ArgKMin"), ({"reduction_op": None}, cm.ModeError, "None"), ({"axis": 2}, cm.ShapeError, "axis=2"), ({"axis": True}, cm.ShapeError, "axis=True"), ({"axis": "j"}, cm.ShapeError, "axis='j'"),
    ({"reduction_op": "KMin"}, cm.ShapeError, "K, how many.*None"), ({"reduction_op": "ArgKMin", "opt_arg": 0}, cm.ShapeError, "it is 0"), ({"reduction_op": "ArgKMin", "opt_arg": 2.0}, cm.ShapeError, "it is 2.0"),
    ({"reduction_op": "Sum", "opt_arg": 3}, cm.ShapeError, "K=3"), ({"opt_arg": "float32"}, cm.ShapeError, "K='float32'"), ({"formula2": "b"}, cm.FormulaError, "Sum takes no weight"),
    ({"formula": None}, cm.FormulaError, "formula is None; give a text"), ({"formula2": 3}, cm.FormulaError, "formula2 is 3; give a text"), ({"aliases": "x = Vi(3)"}, cm.FormulaError, "give a list of texts"), ({"aliases": None}, cm.FormulaError, "aliases are None"),
    ({"reduction_op": "SumSoftMaxWeight"}, cm.FormulaError, "SumSoftMaxWeight needs a weight"), ({"reduction_op": "LogSumExpWeight"}, cm.FormulaError, "needs a weight"), ({"reduction_op": "Max_SumShiftExp", "formula": "x - y"}, cm.FormulaError, "dimension 1, not 3"),
    ({"dtype_acc": "float128"}, cm.DTypeError, "float128"), ({"dtype_acc": "float32", "use_double_acc": True}, cm.ModeError, "float64.*float32"), ({"sum_scheme": "fast"}, cm.ModeError, "fast.*kahan_scheme"),
]  # fmt: skip


@pytest.mark.parametrize(("options", "error", "message"), OPTIONS, ids=str)
def test_options_that_are_none(options: dict[str, Any], error: type[Exception], message: str) -> None:
    """The error comes when a Genred is made, not when it is called."""
    with pytest.raises(error, match=message):
        Genred(**{"formula": "SqDist(x, y)", "aliases": ALIASES, **options})


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"backend": "TPU"}, cm.ModeError, "TPU.*GPU_2D"), ({"backend": 1}, cm.ModeError, "1"), ({"ranges": (None,) * 6}, cm.DTypeError, "ranges_i"), ({"device_id": 99}, cm.DeviceError, "99"), ({"device_id": "0"}, cm.DeviceError, "'0'"),
        ({"mode": "fast"}, cm.ModeError, "fast"), ({"out": np.zeros((7, 2), "f4")}, cm.ShapeError, r"\(7, 2\).*\(7, 1\)"), ({"out": np.zeros((7, 1), "i4")}, cm.DTypeError, "int32"), ({"out": [0.0]}, cm.DTypeError, "list"),
    ],
    ids=str,
)  # fmt: skip
def test_calls_that_are_none(options: dict[str, Any], error: type[Exception], message: str) -> None:
    x, y = zeros(7, 3), zeros(5, 3)
    with pytest.raises(error, match=message):
        Genred("SqDist(x, y)", ALIASES[:2], axis=1)(x, y, **options)
    with pytest.raises(error, match=message):
        Vi(x).sqdist(Vj(y)).sum(axis=1, **options)
    with pytest.raises(TypeError, match="speed"):
        Vi(x).sqdist(Vj(y)).sum(axis=1, speed=3)


def test_more_neighbours_than_there_are() -> None:
    x, y = zeros(7, 3), zeros(5, 3)
    for name in ("Kmin", "argKmin", "Kmin_argKmin"):
        lazy = Vi(x).sqdist(Vj(y))
        with pytest.raises(cm.ShapeError, match=r"K = 6 of 5 values.*j.*Vj\(3\) of shape \(5, 3\)"):
            getattr(lazy, name)(6, axis=1)
        with pytest.raises(cm.ShapeError, match="K = 8 of 7 values"):
            getattr(lazy, name)(8, dim=0)
    with pytest.raises(cm.ShapeError, match=r"y = Vj\(3\) of shape \(5, 3\)"):
        Genred("SqDist(x, y)", ALIASES[:2], "ArgKMin", 1, opt_arg=6)(x, y)


@pytest.mark.parametrize("k", [2**20, 2**40, 2**62, 2**63, 10**30])
def test_neighbours_are_counted_before_a_place_is_made_for_each(k: int) -> None:
    """2^40 of them took for ever."""
    x, y = zeros(7, 3), zeros(5, 3)
    for name in ("Kmin", "argKmin", "Kmin_argKmin"):
        with pytest.raises(cm.ShapeError, match=f"K = {k} of 5 values"):
            getattr(Vi(x).sqdist(Vj(y)), name)(k, axis=1)
        with pytest.raises(cm.ShapeError, match=f"K = {k} values per row.*at most 1024"):
            getattr(Vi(x).sqdist(Vj(1, 3)), name)(k, axis=1)
    with pytest.raises(cm.ShapeError, match=f"keeps K = {k} values per row"):
        Genred("SqDist(x, y)", ALIASES[:2], "ArgKMin", 1, opt_arg=k)
    with pytest.raises(cm.ShapeError, match="keeps K = 1000 values of each of 3 numbers per row"):
        Genred("x - y", ALIASES[:2], "KMin", 1, opt_arg=1000)


FORMULAS_OF_A_SIZE = (
    "Zero({})", "ElemT(Elem(x, 0), {}, 0)", "ExtractT(x, 0, {})", "ExtractT(x, {}, 5)", "OneHot(Elem(x, 0), {})",
    "SumT(Elem(x, 0), {})", "Elem(x, {})", "Extract(x, {}, 1)", "Extract(x, 0, {})", "Var(0, {}, 0)", "Var({}, 3, 7)",
    "TensorDot(x, y, Ind({}), Ind(3), Ind(0), Ind(0))", "MatVecMult(Zero({}), x)", "Concat(x, Zero({}))",
)  # fmt: skip


@pytest.mark.parametrize("size", [2**40, 2**62, 2**63, 10**30, -1, 1.5])
@pytest.mark.parametrize("text", FORMULAS_OF_A_SIZE)
def test_formulas_of_sizes_that_no_vector_has(text: str, size: Any) -> None:
    with pytest.raises((cm.ShapeError, cm.FormulaError)):
        Genred(text.format(size), ALIASES[:2])


@pytest.mark.parametrize("size", [2**40, 2**62, 2**63, 10**30, -1, 0, 1.5, True, "3", None, np.nan])
def test_vectors_of_sizes_that_none_has(size: Any) -> None:
    x = Vi(zeros(7, 3))
    calls: list[Any] = [lambda: Vi(0, size), lambda: cm.Pm(0, size) if size is not None else Vi(0, size)]
    calls += [lambda: x.elem(size) if size != 0 else x.elem(3), lambda: x.extract(0, size), lambda: x.elem(0).one_hot(size)]
    for call in calls:
        with pytest.raises((cm.ShapeError, cm.FormulaError)):
            call()
    if isinstance(size, int) and size > 3:
        with pytest.raises(cm.ShapeError, match=f"variable 0 has dimension {size}; a vector has 1 to 262144"):
            Genred("x", [f"x = Vi({size})"])


def test_contractions_of_more_products_than_are_written_out() -> None:
    with pytest.raises(cm.ShapeError, match="a contraction of 1000000 products is given, over"):
        Genred("TensorDot(a, b, Ind(100, 100), Ind(100, 100), Ind(1), Ind(0))", ["a = Vi(10000)", "b = Vj(10000)"])


def test_axes_and_slices_of_any_integers() -> None:
    """NumPy's integers too; others raise an error."""
    lazy = Vi(zeros(7, 3)) - Vj(zeros(5, 3))
    assert callable(lazy.sum(np.int64(1), call=False))  # type: ignore[arg-type]
    for wrong in (lambda: lazy["a":], lambda: lazy[:, 0.5:], lambda: lazy[::0, :], lambda: lazy["a":, :]):
        with pytest.raises(cm.ShapeError):
            wrong()
    kernel = (-(lazy**2).sum(-1)).exp()
    for unknown in ("a", lazy):
        with pytest.raises(cm.FormulaError, match="placeholder"):
            kernel.solve(zeros(7, 1), var=unknown)


@pytest.mark.parametrize("axis", [3, -4, 7, None, "j", 1.0, True])
def test_axes_that_are_none(axis: Any) -> None:
    lazy = Vi(zeros(7, 3)) - Vj(zeros(5, 3))
    calls = [
        lazy.sum,
        lazy.min,
        lazy.argmax,
        lazy.mean,
        lazy.min_argmin,
        lambda **k: lazy.argKmin(2, **k),
        lambda **k: lazy[0].logsumexp(**k),
        lambda **k: lazy.reduction("Sum", **k),
    ]
    for call in calls:
        with pytest.raises(cm.ShapeError, match=r"shape \(7, 5"):
            call(axis=axis)
    with pytest.raises(cm.ShapeError, match=r"axis=0 cannot be reduced.*2 \(over i\)"):
        LazyTensor(zeros(2, 4, 7, 1, 3)).sum(axis=0)


def test_reductions_that_have_no_inner_axis() -> None:
    lazy = Vi(zeros(7, 3)) - Vj(zeros(5, 3))
    for call in (lazy.min_argmin, lambda axis: lazy.Kmin(2, axis), lambda axis: lazy.reduction("Sum", axis=axis)):
        with pytest.raises(cm.ShapeError, match="over i or j"):
            call(axis=2)
    with pytest.raises(cm.ShapeError, match="sum_scheme"):
        lazy.sum(-1, sum_scheme="kahan_scheme")
    assert lazy.sum(-1, keepdim=True).formula is lazy.sum(-1, keepdim=False).formula is lazy.sum(-1).formula
    with pytest.raises(cm.ArgumentError, match="keepdim is 1"):
        lazy.sum(-1, keepdim=1)
    with pytest.raises(cm.ArgumentError, match="keepdim"):
        lazy.sum(1, keepdim=True)
    with pytest.raises(cm.FormulaError, match="identity"):
        lazy.reduce(lambda a, b: a + b, axis=1)


def test_weights_that_do_not_fit() -> None:
    lazy = Vi(zeros(7, 3)) | Vj(zeros(5, 3))
    with pytest.raises(cm.ShapeError, match="disagree on N"):
        lazy.logsumexp(axis=1, weight=Vj(zeros(4, 1)))
    with pytest.raises(cm.DTypeError, match="float64"):
        lazy.sumsoftmaxweight(Vj(zeros(5, 1, dtype="f8")), axis=1)
    with pytest.raises(cm.ArgumentError, match="two words for the weight"):
        lazy.logsumexp(axis=1, weight=Vj(zeros(5, 1)), other=Vj(zeros(5, 1)))
    with pytest.raises(cm.FormulaError, match="dimension 1, not 3"):
        (Vi(zeros(7, 3)) * Vj(zeros(5, 3))).logsumexp(axis=1, weight=Vj(zeros(5, 1)))


def test_vectors_that_fit_nothing() -> None:
    x, y = Vi(zeros(7, 3)), Vj(zeros(5, 2))
    for call in (
        lambda: x | y, lambda: x.weightedsqnorm(y), lambda: x.matvecmult(y), lambda: y.vecmatmult(x), lambda: x.elem(3), lambda: x.elem(-1), lambda: x.extract(2, 2), lambda: x.one_hot(3), lambda: x[0].one_hot(0),
        lambda: x.norm(0), lambda: LazyTensor.cat((), -1), lambda: LazyTensor.cat((x, y), 0), lambda: LazyTensor.concatenate(x), lambda: x.bspline(y), lambda: x.bspline(y[0], 3), lambda: x**y, lambda: x.clamp(0, y),
        lambda: x.keops_kron(y, (3,), (2, 1)), lambda: x.keops_tensordot(y, (3,), (2,), (0,), (0,)),
    ):  # fmt: skip
        with pytest.raises((cm.ShapeError, cm.FormulaError)):
            call()
    with pytest.raises(cm.FormulaError):
        x.round(0.5)  # type: ignore[arg-type]
    with pytest.raises(cm.FormulaError):
        x.bspline(y[0], -1)


def test_derivatives_by_what_is_no_variable() -> None:
    x, y = Vi(zeros(7, 3)), Vj(zeros(5, 3))
    lazy = x.sqdist(y)
    for call in (
        lambda: lazy.grad(2 * x, 1.0),
        lambda: lazy.diff(x + y, x),
        lambda: lazy.grad_matrix(lazy),
        lambda: lazy.laplacian(x[0]),
    ):
        with pytest.raises(cm.FormulaError, match="is none"):
            call()
    with pytest.raises(cm.ShapeError, match="dimension 3; it needs 1"):
        lazy.grad(x, y)
    with pytest.raises((cm.ShapeError, cm.FormulaError)):
        lazy.divergence(x)
    with pytest.raises((cm.ShapeError, cm.FormulaError)):
        (x - y).laplacian(x)


def test_complex_numbers_have_no_order() -> None:
    z, x = LazyTensor(np.zeros((7, 1, 3), np.complex64)), Vi(zeros(7, 3))
    for call in (
        lambda: z.sin(), lambda: z**2, lambda: z < 1, lambda: z == z, lambda: z.min(), lambda: z.argmin(0), lambda: z.logsumexp(0), lambda: z.Kmin(2, 0), lambda: z | x, lambda: x.sqdist(z), lambda: x.logsumexp(0, weight=z), lambda: z.prod(),
        lambda: z.real2complex(), lambda: z.exp1j(), lambda: z.imag2complex(), lambda: z.grad(x, 1.0), lambda: z.reduce("Min", 0), lambda: z.clamp(0, 1), lambda: z.keops_kron(x, (3,), (3,)), lambda: z.var(),
    ):  # fmt: skip
        with pytest.raises(cm.FormulaError):
            call()
    with pytest.raises(cm.ShapeError, match="3 and 2"):
        z + LazyTensor(np.zeros((1, 5, 2), np.complex64))
    with pytest.raises(cm.ModeError, match="out"):
        z.sum(0, out=np.zeros((1, 6), "f4"))


def test_arrays_of_different_devices() -> None:
    if len(cm.devices()) < 2:
        pytest.skip("one device only")
    x, y = (cm.array(zeros(5, 3), cm.Context(device)) for device in cm.devices()[:2])
    with pytest.raises(cm.DeviceError):
        Vi(x).sqdist(Vj(y)).sum(axis=1)
    with pytest.raises(cm.DeviceError):
        Vi(x).sqdist(Pm(zeros(3))).sum(axis=1, context=y.context)
