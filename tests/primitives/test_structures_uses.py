"""What structures with small arrays are for: recurrences, places, moments; and maps that read and write them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from support.oracles import assert_near, assert_same, into_poison, values
from support.structures import LENGTHS, ROUNDINGS, wider

import clmapreduce as cm

pytestmark = pytest.mark.drawn


# ------------------------------------------------------------------------------------------------- what they are for
def test_fibonacci_numbers_are_powers_of_a_matrix(context: cm.Context, mode: str) -> None:
    dtype = np.dtype([("m", "u8", (2, 2))])
    power = cm.Unfold(
        cm.Operator(lambda a, b: {"m": a["m"] @ b["m"]}, (np.eye(2, dtype=int),), dtype, commutative=False)
    )
    for length in LENGTHS:
        result = power(([[1, 1], [1, 0]],), length, dtype=dtype, context=context, mode=mode)
        assert_same(result["m"][:, 0, 1], np.fromiter(fibonacci(length), np.uint64), length)


def fibonacci(count: int) -> Iterator[int]:
    a, b = 0, 1
    for _ in range(count):
        a, b = b, (a + b) % (1 << 64)
        yield a


def test_a_linear_recurrence_is_a_scan(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """x[i] = a[i] x[i-1] + b[i] (Blelloch 1990, section 1.4), written and read by maps, in one field of two numbers."""
    after = cm.Operator(
        lambda f, g: {"f": [f["f"][0] * g["f"][0], f["f"][1] * g["f"][0] + g["f"][1]]}, ((1, 0),), commutative=False
    )
    steps = cm.Map(lambda a, b: {"f": [a, b]}) >> cm.Scan(after)
    value = cm.Map(lambda f, start: f["f"][0] * start + f["f"][1])
    dtype = np.dtype(wider("f4", context))
    for length in LENGTHS:
        a, b = rng.uniform(-1, 1, length).astype(dtype), rng.standard_normal(length).astype(dtype)
        expected, x = np.empty(length), 0.75
        for i in range(length):
            expected[i] = x = float(a[i]) * x + float(b[i])
        result = value(steps(a, b, context=context, mode=mode), 0.75, context=context, mode=mode)
        assert result.dtype == dtype
        assert_near(result, expected, ROUNDINGS * length * np.finfo(dtype).eps * max(1.0, np.abs(expected).max()), length)


def test_argmax_of_every_column(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """(value, place) pairs by hand; the first of equal values wins."""

    def better(a: Any, b: Any) -> dict[str, Any]:
        take = (b["value"] > a["value"]) | ((b["value"] == a["value"]) & (b["place"] < a["place"]))
        return {name: cm.where(take, b[name], a[name]) for name in ("value", "place")}

    first = cm.Operator(better, (-np.inf, np.iinfo(np.int64).max))
    primitive = cm.Map(lambda row: {"value": row["x"], "place": [cm.index] * 3})
    for length in LENGTHS:
        x = np.zeros(length, [("x", "f4", 3)])
        x["x"] = rng.integers(-50, 50, (length, 3))
        pairs = primitive(x, context=context, mode=mode)
        for result in (
            (primitive >> cm.Reduce(first))(x, context=context, mode=mode),
            cm.Reduce(first)(pairs, context=context, mode=mode, finish="host"),
        ):
            assert_same(result["place"], x["x"].argmax(axis=0), length)
            assert_same(result["value"], x["x"].max(axis=0), length)


def test_mean_and_variance_of_every_column(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Counts, means and sums of squared distances merge in one pass (Chan, Golub and LeVeque 1979)."""

    def merge(a: Any, b: Any) -> dict[str, Any]:
        count = a["count"] + b["count"]
        share = b["count"] / cm.math.maximum(count, 1)
        apart = b["mean"] - a["mean"]
        return {
            "count": count, "mean": a["mean"] + apart * share, "m2": a["m2"] + b["m2"] + apart**2 * (a["count"] * share),
        }  # fmt: skip

    dtype = np.dtype(wider("f4", context))
    moments = cm.Map(lambda row: {"count": row["x"][0] * 0 + 1, "mean": row["x"], "m2": row["x"] * 0}) >> cm.Reduce(
        cm.Operator(merge, (0, 0, 0))
    )
    for length in LENGTHS:
        x = np.zeros(length, [("x", dtype, 3)])
        x["x"] = rng.standard_normal((length, 3)) * [1, 10, 0.1] + [1, -2, 30]
        result = moments(x, context=context, mode=mode)
        assert result["count"] == length
        exact = x["x"].astype(np.float64)
        limit = ROUNDINGS * length * np.finfo(dtype).eps * 1000
        assert_near(result["mean"], exact.mean(axis=0), limit, length)
        assert_near(result["m2"] / length, np.var(exact, axis=0), limit, length)


def test_the_largest_structure(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """PoCL 3.0 compiles a parallel scan of it for over a minute, so scans are tested in the other mode."""
    dtype = np.dtype([("m", "i4", (8, 8))])
    total = cm.Operator(lambda a, b: {"m": a["m"] + b["m"]}, (0,))
    for length in (1, 33, 1000):
        x = values(rng, dtype, length)
        assert_same(cm.Reduce(total)(x, context=context, mode=mode)["m"], x["m"].sum(axis=0, dtype=np.int32), length)
        if mode == "sequential":
            result = cm.Scan(total)(x, context=context, mode=mode)
            assert_same(result["m"], np.cumsum(x["m"], axis=0, dtype=np.int32), length)


# ---------------------------------------------------------------------------------------------------------------- maps
ROW = np.dtype([("flag", "?"), ("m", "f4", (2, 3)), ("z", "c8", 2), ("n", "i2")], align=True)


def small(rng: np.random.Generator, shape: Any) -> np.ndarray:
    x = np.zeros(shape, ROW)
    x["flag"], x["n"] = rng.random(shape) < 0.5, rng.integers(-9, 9, shape)
    x["m"] = rng.integers(-99, 99, x["m"].shape)
    x["z"] = rng.integers(-9, 9, x["z"].shape) + 1j * rng.integers(-9, 9, x["z"].shape)
    return x


def test_maps_read_and_write_arrays(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    f = cm.Map(
        lambda a: {
            "square": a["m"] @ a["m"].T, "turned": cm.where(a["flag"], a["m"], -a["m"]), "parts": [a["z"].real, a["z"].imag],
            "conj": a["z"].conj(), "positive": a["m"][0] > 0, "count": a["n"] * 2, "eye": np.eye(2, dtype="i2"),
            "mixed": [a["n"], 1],
        }
    )  # fmt: skip
    for length in (1, 33, 1000):
        x = small(rng, length)
        result = f(x, context=context, mode=mode)
        m, z = x["m"], x["z"]
        assert_same(result["square"], m @ m.swapaxes(1, 2))
        assert_same(result["turned"], np.where(x["flag"][:, None, None], m, -m))
        assert_same(result["parts"], np.stack([z.real, z.imag], axis=1))
        assert_same(result["conj"], z.conj())
        assert_same(result["positive"], m[:, 0] > 0)
        assert_same(result["count"], x["n"] * np.int16(2))
        assert_same(result["eye"], np.tile(np.eye(2, dtype="i2"), (length, 1, 1)))
        assert_same(result["mixed"], np.stack([x["n"], np.ones(length, "i2")], axis=1))


def test_maps_broadcast_structures(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    f = cm.Map(lambda a, b: {"m": a["m"] * b["m"], "n": a["n"] + b["m"][1, 2]})
    for left, right in (((33,), ()), ((33,), (1,)), ((5, 1), (1, 7)), ((5, 7), (7,))):
        a, b = small(rng, left), small(rng, right)
        result = f(a, b, context=context, mode=mode)
        assert_same(result["m"], a["m"].reshape(*left, 2, 3) * b["m"].reshape(*right, 2, 3), (left, right))
        assert_same(result["n"], a["n"] + b["m"][..., 1, 2], (left, right))


def test_maps_write_into_out(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = small(rng, 1000)
    f = cm.Map(lambda a: {"m": a["m"] + 1, "k": [a["n"], a["n"]]})
    dtype = f(x[:1], context=context).dtype
    result = into_poison(lambda out: f(x, context=context, mode=mode, out=out), 1000, dtype)
    assert_same(result["m"], x["m"] + 1)
    wider_out = np.zeros(1000, [("m", "f8", (2, 3)), ("k", "i8", 2)])
    assert f(x, context=context, mode=mode, out=wider_out) is wider_out
    assert_same(wider_out["m"], (x["m"] + 1).astype("f8"))
    for wrong in ([("m", "f4", (3, 2)), ("k", "i2", 2)], [("m", "f4", 6), ("k", "i2", 2)], [("m", "f4"), ("k", "i2")]):
        out = np.zeros(1000, wrong)
        with pytest.raises(cm.DTypeError):
            f(x, context=context, mode=mode, out=out)
        assert not out.view(np.uint8).any()


def test_structures_stay_on_the_device(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = small(rng, 1000)
    device_array = cm.Map(lambda a: {"m": a["m"] * 2})(cm.array(x, context), mode=mode)
    total = cm.Reduce(cm.Operator(lambda a, b: {"m": a["m"] + b["m"]}, (0,)))(device_array, mode=mode)
    assert_same(total.to_numpy()["m"], 2 * x["m"].sum(axis=0))
    assert_same(device_array.to_numpy()["m"], 2 * x["m"])
