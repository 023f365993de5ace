"""Products K @ v that are computed again: the entry of one serves another v, and nothing else."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.recording import recording
from clmapreduce.pairwise.lazy import products
from clmapreduce.pairwise.lazy.products import MOST, Products
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
    return Kernel(context, rng)


@pytest.fixture
def usual(monkeypatch: pytest.MonkeyPatch) -> list[Reduced]:
    """One entry for every reduction that went the usual way."""
    calls: list[Reduced] = []
    plain = Reduced.__call__

    def counting(self: Reduced, *args: Any, **options: Any) -> Any:
        calls.append(self)
        return plain(self, *args, **options)

    monkeypatch.setattr(Reduced, "__call__", counting)
    return calls


@pytest.mark.parametrize("shape", [(47,), (47, 1), (47, 3), (2, 47, 2)])
def test_the_third_product_is_found_by_v(
    kernel: Kernel, rng: np.random.Generator, usual: list[Reduced], shape: tuple[int, ...]
) -> None:
    for _ in range(5):
        kernel.check(rng.normal(size=shape).astype("f4"))
    assert len(usual) == 2


def test_every_shape_has_a_call_of_its_own(kernel: Kernel, rng: np.random.Generator) -> None:
    for _ in range(3):
        for width in range(1, MOST + 3):
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
    for _ in range(3):
        kernel.check(v)
    with pytest.raises(cm.DeviceError):
        kernel.lazy @ cm.array(v, cm.Context(kernel.context.device))


def test_a_measured_box_counts(
    kernel: Kernel, rng: np.random.Generator, usual: list[Reduced], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Entries belong to the boxes of their time."""
    v = rng.normal(size=47).astype("f4")
    for _ in range(3):
        kernel.check(v)
    monkeypatch.setattr(products, "tunings", lambda: -1)
    kernel.check(v)
    assert len(usual) == 3


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
    assert isinstance(kernel.lazy._products, Products)
    kept = weakref.ref(first)
    kernel.context.wait()
    del first
    gc.collect()
    assert kept() is None
