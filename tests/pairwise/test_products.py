"""Products and reductions that are computed again: the entry of one serves other arrays of its shapes, and nothing
else.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.recording import recording
from clmapreduce.pairwise import repeated
from clmapreduce.pairwise.reduction import Reduced

pytestmark = pytest.mark.drawn


class Kernel:
    """A Gaussian matrix of a device's arrays."""

    def __init__(self, context: cm.Context, rng: np.random.Generator, rows: int = 31, columns: int = 47) -> None:
        self.context = context
        self.points = [rng.normal(size=(n, 3)).astype("f4") for n in (rows, columns)]
        self.x, self.y = (cm.array(array, context) for array in self.points)
        self.lazy = (-cm.Vi(self.x).sqdist(cm.Vj(self.y))).exp()
        x, y = (array.astype("f8") for array in self.points)
        self.exact = np.exp(-((x[:, None] - y) ** 2).sum(-1))

    def check(self, v: Any) -> None:
        """The product with a NumPy array, on the device."""
        result = self.lazy @ cm.array(v, self.context)
        assert isinstance(result, cm.DeviceArray) and result.dtype == v.dtype
        np.testing.assert_allclose(result.to_numpy(), self.exact @ v.astype("f8"), rtol=1e-5, atol=1e-5)


@pytest.fixture
def kernel(context: cm.Context, rng: np.random.Generator) -> Kernel:
    """In a context of its own, where no call is ready yet."""
    return Kernel(cm.Context(context.device), rng)


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> list[Reduced]:
    """One entry for every reduction that went the usual way."""
    calls: list[Reduced] = []
    plain = Reduced._prepared

    def counting(self: Reduced, arrays: Any, options: Any) -> Any:
        calls.append(self)
        return plain(self, arrays, options)

    monkeypatch.setattr(Reduced, "_prepared", counting)
    return calls


@pytest.mark.parametrize("shape", [(47,), (47, 1), (47, 3), (2, 47, 2)])
def test_the_second_product_is_found_by_its_shapes(
    kernel: Kernel, rng: np.random.Generator, usual: list[Reduced], shape: tuple[int, ...]
) -> None:
    kernel.check(rng.normal(size=shape).astype("f4"))
    first = len(usual)
    for _ in range(3):
        kernel.check(rng.normal(size=shape).astype("f4"))
    assert len(usual) == first > 0


def test_every_shape_has_a_call_of_its_own(kernel: Kernel, rng: np.random.Generator) -> None:
    for _ in range(3):
        for width in range(1, 11):
            kernel.check(rng.normal(size=(47, width)).astype("f4"))
            kernel.check(rng.normal(size=47).astype("f4"))


def test_views_of_the_device_serve_too(kernel: Kernel, rng: np.random.Generator, usual: list[Reduced]) -> None:
    both = rng.normal(size=(100, 2)).astype("f4")
    device = cm.array(both, kernel.context)
    for first in (0, 0, 0, 1, 53, 2):
        result = kernel.lazy @ device[first : first + 47]
        np.testing.assert_allclose(result.to_numpy(), kernel.exact @ both[first : first + 47], rtol=1e-5, atol=1e-5)


def test_its_own_points_may_be_multiplied(context: cm.Context, rng: np.random.Generator) -> None:
    """They are one variable of the formula with them; another v of that shape is none of them."""
    kernel = Kernel(context, rng)
    for others in (0, 0, 0, 2, 1):
        np.testing.assert_allclose(
            (kernel.lazy @ kernel.y).to_numpy(), kernel.exact @ kernel.points[1], rtol=1e-5, atol=1e-5
        )
        for _ in range(others):
            kernel.check(rng.normal(size=(47, 3)).astype("f4"))


def test_what_does_not_fit_is_refused_as_ever(kernel: Kernel, rng: np.random.Generator) -> None:
    for _ in range(3):
        kernel.check(rng.normal(size=47).astype("f4"))
    with pytest.raises(cm.ShapeError, match="K @ v"):
        kernel.lazy @ cm.array(np.zeros(46, "f4"), kernel.context)
    with pytest.raises(cm.DTypeError):
        kernel.lazy @ cm.array(np.zeros(47, "i4"), kernel.context)
    with pytest.raises(cm.ShapeError):
        kernel.lazy.T @ cm.array(np.zeros(47, "f4"), kernel.context)
    host = rng.normal(size=47).astype("f4")
    np.testing.assert_allclose(
        kernel.lazy.__matmul__(host, context=kernel.context), kernel.exact @ host, rtol=1e-5, atol=1e-5
    )


def test_choices_count_from_when_they_are_made(context: cm.Context, rng: np.random.Generator) -> None:
    """Of K's rows the first 16 meet its first 20 columns, then all of them."""
    kernel = Kernel(context, rng)
    v = rng.normal(size=47).astype("f4")
    whole = kernel.exact.copy()
    for _ in range(3):
        kernel.check(v)
    i, slices, j = (np.array(part) for part in ([[0, 16], [16, 31]], [1, 2], [[0, 20], [0, 47]]))
    kernel.lazy.ranges = (i, slices, j, np.array([[0, 20], [20, 47]]), np.array([2, 3]), np.array([[0, 16], [16, 31], [16, 31]]))
    kernel.exact[:16, 20:] = 0
    for _ in range(3):
        kernel.check(v)
    kernel.lazy.ranges, kernel.exact = None, whole
    for _ in range(3):
        kernel.check(v)


def test_arrays_of_another_context_are_refused(kernel: Kernel, rng: np.random.Generator) -> None:
    v = rng.normal(size=47).astype("f4")
    other = Kernel(cm.Context(kernel.context.device), rng)
    for _ in range(3):
        kernel.check(v)
        other.check(v)
    with pytest.raises(cm.DeviceError):
        kernel.lazy @ cm.array(v, other.context)


def test_a_backend_and_complex_numbers_count(
    kernel: Kernel, rng: np.random.Generator, usual: list[Reduced]
) -> None:
    """Of K or of v; products of complex numbers go the usual way."""
    v = rng.normal(size=47).astype("f4")
    for backend in ("1D", "2D", None):
        kernel.lazy.backend, before = backend, len(usual)
        kernel.check(v)
        assert len(usual) > before
    pairs = cm.array((v + 1j * rng.normal(size=47)).astype("c8"), kernel.context)
    turned = kernel.lazy * 1j
    for _ in range(3):
        whole = pairs.to_numpy()
        np.testing.assert_allclose((kernel.lazy @ pairs).to_numpy(), kernel.exact @ whole, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose((turned @ cm.array(v, kernel.context)).to_numpy(), 1j * (kernel.exact @ v), rtol=1e-4, atol=1e-4)
        kernel.check(v)


def test_a_measured_box_counts(
    kernel: Kernel, rng: np.random.Generator, usual: list[Reduced], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries belong to the boxes of their time."""
    v = rng.normal(size=47).astype("f4")
    for _ in range(3):
        kernel.check(v)
    before = len(usual)
    monkeypatch.setattr(repeated, "tunings", lambda: -1)
    kernel.check(v)
    assert len(usual) > before


def test_a_recorder_sees_every_product(kernel: Kernel, rng: np.random.Generator) -> None:
    v = cm.array(rng.normal(size=47).astype("f4"), kernel.context)
    for _ in range(3):
        kernel.lazy @ v
    calls: list[Any] = []
    with recording(calls.append):
        kernel.lazy @ v
    assert calls


def test_checked_places_are_looked_at_every_time(context: cm.Context, rng: np.random.Generator) -> None:
    """They may have changed since."""
    table, places = rng.normal(size=5).astype("f4"), rng.integers(0, 5, (31, 1)).astype("f4")
    at = cm.array(places, context)
    lazy = cm.Table(cm.array(table, context), "check")[cm.Vi(at)] * (cm.Vj(cm.array(np.ones((47, 1), "f4"), context)))
    v = cm.array(np.ones(47, "f4"), context)
    for _ in range(4):
        np.testing.assert_allclose((lazy @ v).to_numpy(), 47 * table[places[:, 0].astype(int)], rtol=1e-5)
    at[3] = 5
    with pytest.raises(cm.PlaceError):
        lazy @ v


def test_progress_is_reported_by_repeated_reductions(kernel: Kernel) -> None:
    reported: list[tuple[float, float]] = []
    for _ in range(3):
        kernel.lazy.sum(axis=1, progress=lambda *done: reported.append(done))
    assert len(reported) >= 3 and all(done <= total for done, total in reported)


def test_who_looks_on_sees_every_product(kernel: Kernel, rng: np.random.Generator) -> None:
    v = cm.array(rng.normal(size=47).astype("f4"), kernel.context)
    for _ in range(3):
        kernel.lazy @ v
    with cm.profile(kernel.context) as profile:
        (kernel.lazy @ v).to_numpy()
    assert len(profile.breakdowns) == 1


def test_no_v_is_kept_alive(kernel: Kernel, rng: np.random.Generator) -> None:
    first = cm.array(rng.normal(size=47).astype("f4"), kernel.context)
    for _ in range(3):
        kernel.lazy @ first
    kept = weakref.ref(first)
    kernel.context.wait()
    del first
    gc.collect()
    assert kept() is None


# ----------------------------------------------------------------------------------------------- any reduction, Genred
def points(rng: np.random.Generator, *sizes: int) -> list[np.ndarray]:
    return [rng.normal(size=(size, 3)).astype("f4") for size in sizes]


def squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return ((x[:, None].astype("f8") - y) ** 2).sum(-1)


def test_reductions_of_new_lazy_tensors_are_found(
    context: cm.Context, rng: np.random.Generator, usual: list[Reduced]
) -> None:
    """By formula, reduction, axis and K."""
    counts = []
    for _ in range(3):
        x, y = points(rng, 31, 47)
        exact = squares(x, y)
        lazy = cm.Vi(cm.array(x, context)).sqdist(cm.Vj(cm.array(y, context)))
        for result, expected in (
            (lazy.sum(axis=1), exact.sum(1)[:, None]),
            (lazy.sum(axis=0), exact.sum(0)[:, None]),
            (lazy.min(axis=1), exact.min(1)[:, None]),
            (lazy.Kmin(2, axis=1), np.sort(exact, 1)[:, :2]),
            (lazy.Kmin(3, axis=1), np.sort(exact, 1)[:, :3]),
            ((-lazy).logsumexp(axis=1), np.log(np.exp(-exact).sum(1))[:, None]),
        ):
            np.testing.assert_allclose(result.to_numpy(), expected, rtol=2e-5, atol=1e-5)
        assert np.array_equal(lazy.argmin(axis=1).to_numpy()[:, 0], exact.argmin(1))
        counts.append(len(usual))
    assert counts[1] == counts[2]


def test_genred_is_found_whatever_the_order_of_its_slots(
    context: cm.Context, rng: np.random.Generator, usual: list[Reduced]
) -> None:
    sums = cm.Genred("Exp(-p*SqDist(x,y))*b", ["b = Vj(1)", "p = Pm(1)", "x = Vi(3)", "y = Vj(3)"], "Sum", axis=1)
    counts = []
    for factor in (0.5, 1.0, 2.0, 3.0):
        x, y = points(rng, 31, 47)
        b = rng.normal(size=(47, 1)).astype("f4")
        expected = np.exp(-factor * squares(x, y)) @ b
        result = sums(*(cm.array(v, context) for v in (b, np.array([factor], "f4"), x, y)))
        np.testing.assert_allclose(result.to_numpy(), expected, rtol=1e-5, atol=1e-5)
        counts.append(len(usual))
    assert counts[1] == counts[3]
    np.testing.assert_allclose(sums(b, 3.0, x, y, context=context), expected, rtol=1e-5, atol=1e-5)


def test_one_array_may_stand_in_several_places(context: cm.Context, rng: np.random.Generator) -> None:
    sums = cm.Genred("Exp(-SqDist(x,y))", ["x = Vi(3)", "y = Vj(3)"], "Sum", axis=1)
    for k in range(4):
        x, y = points(rng, 31, 31)
        first = cm.array(x, context)
        second = first if k % 2 else cm.array(y, context)
        expected = np.exp(-squares(x, x if k % 2 else y)).sum(1)[:, None]
        np.testing.assert_allclose(sums(first, second).to_numpy(), expected, rtol=1e-5)


def test_options_of_a_call_count(context: cm.Context, rng: np.random.Generator, usual: list[Reduced]) -> None:
    """Also those that are refused."""
    x, y = points(rng, 31, 47)
    sums = cm.Genred("SqDist(x,y)", ["x = Vi(3)", "y = Vj(3)"], "Sum", axis=1)
    arrays = cm.array(x, context), cm.array(y, context)
    expected = squares(x, y).sum(1)[:, None]
    for _ in range(3):
        np.testing.assert_allclose(sums(*arrays).to_numpy(), expected, rtol=1e-5)
    out = cm.array(np.full((31, 1), np.nan, "f4"), context)
    assert sums(*arrays, out=out) is out
    np.testing.assert_allclose(out.to_numpy(), expected, rtol=1e-5)
    before = len(usual)
    np.testing.assert_allclose(sums(*arrays, mode="sequential").to_numpy(), expected, rtol=1e-5)
    assert len(usual) > before
    first = cm.Ranges((np.array([[0, 31]]), np.array([1]), np.array([[0, 20]])))
    for ranges, columns in ((first, 20), (None, 47), (first, 20), (None, 47)):
        result = sums(*arrays, ranges=ranges).to_numpy()
        np.testing.assert_allclose(result, squares(x, y[:columns]).sum(1)[:, None], rtol=1e-5)
    with pytest.raises(cm.ModeError):
        sums(*arrays, backend="a cloud")
    with pytest.raises(cm.ClMapReduceError):
        sums(*arrays, context=cm.Context(context.device))
    with pytest.raises(cm.FormulaError):
        sums(arrays[0])
    with pytest.raises(cm.ShapeError):
        sums(arrays[0], cm.array(np.zeros((47, 2), "f4"), context))
    with pytest.raises(cm.DTypeError):
        sums(arrays[0], cm.array(y.astype("f8"), context)) if context.device.fp64 else sums(x.astype("f8"), y)


def test_precision_is_part_of_what_is_found(context: cm.Context) -> None:
    """Small numbers that are added to a large one are lost in float32, in float64 they are not. On GPUs many items
    share the columns.
    """
    x, y = np.ones((1, 1), "f4"), np.full((4097, 1), 2.0**-12, "f4")
    y[0] = 2.0**12
    arrays = cm.array(x, context), cm.array(y, context)
    words = ["float32", "float64"] if context.device.fp64 else ["float32"]
    sums = {
        word: cm.Genred("x*y", ["x = Vi(1)", "y = Vj(1)"], "Sum", axis=1, dtype_acc=word, sum_scheme="direct_sum")
        for word in words
    }
    for _ in range(3):
        results = {word: float(one(*arrays).to_numpy()[0, 0]) for word, one in sums.items()}
        assert results.get("float64", 4097) == 4097
        assert results["float32"] < 4097 or context.device.kind != "cpu"


@pytest.mark.parametrize("options", [
    {"sum_scheme": ["auto"]}, {"precision": 1}, {"use_fast_math": 1}, {"use_fast_math": "yes"}, {"dtype_acc": "int32"},
])  # fmt: skip
def test_wrong_words_are_refused_as_ever(context: cm.Context, rng: np.random.Generator, options: dict[str, Any]) -> None:
    """Also those that equal right ones, or that no cache takes."""
    x, y = (cm.array(v, context) for v in points(rng, 5, 7))
    lazy = cm.Vi(x).sqdist(cm.Vj(y))
    for right in ({}, {"precision": "auto"}, {"use_fast_math": True}, {"dtype_acc": np.float32}):
        for _ in range(2):
            lazy.sum(axis=1, **right)
    with pytest.raises(cm.ClMapReduceError):
        lazy.sum(axis=1, **options)


def test_errors_leave_no_entry(context: cm.Context, rng: np.random.Generator) -> None:
    x, y = (cm.array(v, context) for v in points(rng, 5, 7))
    nearest = cm.Genred("SqDist(x,y)", ["x = Vi(3)", "y = Vj(3)"], "KMin", axis=1, opt_arg=8)
    for _ in range(3):
        with pytest.raises(cm.ShapeError):
            nearest(x, y)
