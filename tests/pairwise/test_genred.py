"""Genred and its shorthands: aliases, axes, output shapes and options, against dense NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import special

import clmapreduce as cm
from clmapreduce import Genred

pytestmark = pytest.mark.drawn

M, N = 19, 12
ALIASES = ["x = Vi(3)", "y = Vj(3)", "g = Pm(1)", "b = Vj(2)"]
GAUSS = "Exp(-SqDist(x, y) * g) * b"


@pytest.fixture
def arrays(rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    return rng.uniform(-1, 1, (M, 3)), rng.uniform(-1, 1, (N, 3)), rng.uniform(0.5, 1, 1), rng.uniform(-1, 1, (N, 2))


def kernel(x: np.ndarray, y: np.ndarray, g: Any) -> np.ndarray:
    return np.exp(-((x[..., :, None, :] - y[..., None, :, :]) ** 2).sum(-1) * g)


@pytest.mark.parametrize("axis", [0, 1, None])
def test_axes(axis: int | None, arrays: Any, context: cm.Context, mode: str) -> None:
    """The default axis is 0, unlike what LazyTensor users expect."""
    call = Genred(GAUSS, ALIASES) if axis is None else Genred(GAUSS, ALIASES, "Sum", axis)
    x, y, g, b = arrays
    dense = kernel(x, y, g)[..., None] * b
    result = call(*arrays, context=context, mode=mode)
    np.testing.assert_allclose(result, dense.sum(axis or 0), atol=1e-12)
    assert result.shape == ((M, 2) if axis == 1 else (N, 2))


@pytest.mark.parametrize(
    "aliases",
    [
        ["x = Vi(0, 3)", "y = Vj(1, 3)", "g = Pm(2, 1)", "b = Vj(3, 2)"], ["x=Var(0,3,0)", "y=Var(1,3,1)", "g=Var(2,1,2)", "b=Var(3,2,1)"],
        ["b = Vj(3, 2)", "g = Pm(2, 1)", "y = Vj(1, 3)", "x = Vi(0, 3)"], ("  x=Vi( 3 ) ", "y =Vj(3)", "g= Pm(1)", "b =Vj(2)"),
    ],
    ids=str,
)  # fmt: skip
def test_places_of_arguments(aliases: Any, arrays: Any, context: cm.Context) -> None:
    x, y, g, b = arrays
    result = Genred(GAUSS, aliases, axis=1)(*arrays, context=context)
    np.testing.assert_allclose(result, kernel(x, y, g) @ b, atol=1e-12)


def test_variables_in_the_formula(arrays: Any, context: cm.Context) -> None:
    x, y, g, b = arrays
    whole = "Exp(-SqDist(Var(0,3,0), Var(1,3,1)) * Var(2,1,2)) * Var(3,2,1)"
    for formula, aliases in ((whole, []), (GAUSS.replace("b", "Vj(3, 2)"), ALIASES[:3]), (whole, ["Vi(3)", "Vj(3)"])):
        np.testing.assert_allclose(
            Genred(formula, aliases, axis=1)(*arrays, context=context), kernel(x, y, g) @ b, atol=1e-12
        )


def first_k(x: np.ndarray, k: int) -> np.ndarray:
    return np.argsort(x, 1, kind="stable")[:, :k]


OUTPUTS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "Sum": ("x - y", {}, lambda d, s, w: d.sum(1)),
    "LogSumExp": ("SqDist(x, y)", {}, lambda d, s, w: special.logsumexp(s, 1)[:, None]),
    "LogSumExp ": ("SqDist(x, y)", {"formula2": "b * b"}, lambda d, s, w: np.log((np.exp(s)[..., None] * w).sum(1))),
    "LogSumExpWeight": ("SqDist(x, y)", {"formula2": "b * b"}, lambda d, s, w: np.log((np.exp(s)[..., None] * w).sum(1))),
    "SumSoftMaxWeight": ("SqDist(x, y)", {"formula2": "b * b"}, lambda d, s, w: (special.softmax(s, 1)[..., None] * w).sum(1)),
    "SoftMax": ("SqDist(x, y)", {"formula2": "b * b"}, lambda d, s, w: (special.softmax(s, 1)[..., None] * w).sum(1)),
    "Max_SumShiftExp": ("SqDist(x, y)", {}, lambda d, s, w: np.stack([s.max(1), np.exp(s - s.max(1, keepdims=True)).sum(1)], -1)),
    "Max_SumShiftExpWeight": ("SqDist(x, y)", {"formula2": "b * b"}, lambda d, s, w: np.concatenate([s.max(1)[:, None], (np.exp(s - s.max(1, keepdims=True))[..., None] * w).sum(1)], -1)),
    "Min": ("x - y", {}, lambda d, s, w: d.min(1)), "Max": ("x - y", {}, lambda d, s, w: d.max(1)),
    "ArgMin": ("x - y", {}, lambda d, s, w: d.argmin(1)), "ArgMax": ("x - y", {}, lambda d, s, w: d.argmax(1)),
    "Min_ArgMin": ("x - y", {}, lambda d, s, w: (d.min(1), d.argmin(1))), "MaxArgMax": ("x - y", {}, lambda d, s, w: (d.max(1), d.argmax(1))),
    "KMin": ("SqDist(x, y)", {"opt_arg": 5}, lambda d, s, w: np.sort(s, 1)[:, :5]), "ArgKMin": ("SqDist(x, y)", {"opt_arg": 1}, lambda d, s, w: first_k(s, 1)),
    "KMin_ArgKMin": ("SqDist(x, y)", {"opt_arg": N}, lambda d, s, w: (np.sort(s, 1), first_k(s, N))), "KMinArgKMin": ("x - y", {"opt_arg": 2}, lambda d, s, w: (np.sort(d, 1)[:, :2], first_k(d, 2))),
    "Mean": ("x - y", {}, lambda d, s, w: d.mean(1)), "Var": ("x - y", {}, lambda d, s, w: d.var(1)), "Std": ("x - y", {}, lambda d, s, w: d.std(1)), "Product": ("x - y", {}, lambda d, s, w: d.prod(1)),
    "Any": ("x < y", {}, lambda d, s, w: (d < 0).any(1)), "All": ("x < y", {}, lambda d, s, w: (d < 0).all(1)),
}  # fmt: skip


@pytest.mark.parametrize("name", OUTPUTS)
def test_reductions_and_their_shapes(name: str, arrays: Any, context: cm.Context, mode: str) -> None:
    """Always (M, ...), with a trailing axis even of length 1; places are int64."""
    formula, options, dense = OUTPUTS[name]
    x, y, _, b = arrays
    call = Genred(formula, ["x = Vi(3)", "y = Vj(3)", "b = Vj(2)"], name.strip(), 1, **options)
    result = call(x, y, b, context=context, mode=mode)
    d = x[:, None] - y
    expected = dense(d, (d**2).sum(-1), np.broadcast_to((b * b)[None], (M, N, 2)))
    for part, values in zip(*((v if isinstance(v, tuple) else (v,)) for v in (result, expected)), strict=True):
        assert part.shape == values.shape and part.dtype == values.dtype, name
        np.testing.assert_allclose(part, values, atol=1e-11)


def test_batches(rng: np.random.Generator, context: cm.Context, mode: str) -> None:
    x, y, g, b = (
        rng.uniform(-1, 1, (2, 1, M, 3)),
        rng.uniform(-1, 1, (3, N, 3)),
        rng.uniform(0.5, 1, (2, 3, 1)),
        rng.uniform(-1, 1, (N, 2)),
    )
    result = Genred(GAUSS, ALIASES, axis=1)(x, y, g, b, context=context, mode=mode)
    np.testing.assert_allclose(result, kernel(x, y, g[..., None]) @ b, atol=1e-12)
    assert result.shape == (2, 3, M, 2)


def test_layouts(arrays: Any, context: cm.Context) -> None:
    """Arrays that are not contiguous, read-only, of foreign byte order, or on the device; and lists."""
    x, y, g, b = arrays
    expected, call = kernel(x, y, g) @ b, Genred(GAUSS, ALIASES, axis=1)
    frozen = y.copy()
    frozen.flags.writeable = False
    view = np.repeat(x, 2, 0)[::2]
    np.testing.assert_allclose(
        call(view, np.asfortranarray(y), g, b.astype(">f8"), context=context), expected, atol=1e-12
    )
    np.testing.assert_allclose(call(x.tolist(), frozen, float(g[0]), b, context=context), expected, atol=1e-12)
    np.testing.assert_allclose(call(x, y, g.tolist(), b, context=context), expected, atol=1e-12)
    np.testing.assert_allclose(call(x, y, g[0], b, context=context), expected, atol=1e-12)
    result = call(cm.array(x, context), y, g, b)
    assert isinstance(result, cm.DeviceArray)
    np.testing.assert_allclose(result.to_numpy(), expected, atol=1e-12)
    out = np.empty((M, 2))
    assert call(*arrays, out=out, context=context) is out
    np.testing.assert_allclose(out, expected, atol=1e-12)


def test_shorthands(arrays: Any, context: cm.Context) -> None:
    x, y, g, b = arrays
    square = ((x[:, None] - y) ** 2).sum(-1)
    points = ("x = Vi(3)", "y = Vj(3)")
    reduction = cm.generic_sum(GAUSS, "a = Vi(2)", *ALIASES)
    np.testing.assert_allclose(reduction(*arrays, context=context), kernel(x, y, g) @ b, atol=1e-12)
    np.testing.assert_allclose(
        cm.generic_sum("x - y", "a = Vj(3)", *points, sum_scheme="kahan_scheme")(x, y, context=context),
        (x[:, None] - y).sum(0),
        atol=1e-12,
    )
    np.testing.assert_allclose(
        cm.generic_logsumexp("SqDist(x, y)", "a = Vi(1)", *points)(x, y, context=context)[:, 0],
        special.logsumexp(square, 1),
        atol=1e-12,
    )
    np.testing.assert_array_equal(
        cm.generic_argmin("SqDist(x, y)", "a = Vj(1)", *points)(x, y, context=context)[:, 0], square.argmin(0)
    )
    np.testing.assert_array_equal(
        cm.generic_argkmin("SqDist(x, y)", "a = Vi(5)", *points)(x, y, context=context), first_k(square, 5)
    )
    for output in ("a = Pm(2)", "a", "Vi", "", 3):
        with pytest.raises(cm.FormulaError, match="output"):
            cm.generic_sum("x - y", output, *points)  # type: ignore[arg-type]


def test_gradients_in_formulas(arrays: Any, context: cm.Context) -> None:
    x, y, _, _ = arrays
    call = Genred("Grad(SqDist(x, y), x, e)", ["x = Vi(3)", "y = Vj(3)", "e = Vi(1)"], axis=1)
    np.testing.assert_allclose(call(x, y, np.ones((M, 1)), context=context), 2 * (x[:, None] - y).sum(1), atol=1e-12)


def test_user_operators(arrays: Any, context: cm.Context, mode: str) -> None:
    x, y, _, _ = arrays
    longest = cm.Operator(lambda a, b: cm.where(abs(b) > abs(a), b, a), 0.0, commutative=False, name="longest")
    d = x[:, None] - y
    result = Genred("x - y", ["x = Vi(3)", "y = Vj(3)"], longest, axis=1)(x, y, context=context, mode=mode)
    np.testing.assert_array_equal(result, np.take_along_axis(d, abs(d).argmax(1)[:, None], 1)[:, 0])


def test_words_of_older_versions() -> None:
    with pytest.warns(DeprecationWarning, match="dtype"):
        Genred("x", ["x = Vi(1)"], dtype="float32")
    assert "Sum over i of" in repr(
        Genred("x", ["x = Vi(1)"], enable_chunks=False, use_fast_math=False, rec_multVar_highdim=True)
    )


def test_explain_and_source(arrays: Any, context: cm.Context, mode: str) -> None:
    call = Genred(GAUSS, ALIASES, axis=1)
    explanation = call.explain(*arrays, context=context, mode=mode)
    assert mode[:3] in explanation.lower() and "pairwise" in explanation
    assert "cmr_pairwise" in call.source(*arrays, context=context, mode=mode)
    lazy = (cm.Vi(arrays[0]) - cm.Vj(arrays[1])).sqnorm2()
    assert "pairwise" in lazy.min(axis=1, call=False).explain(context=context, mode=mode)
    with pytest.raises(cm.ShapeError, match="x = Vi"):
        call.explain(*arrays[::-1])
