"""Calls of every kind on float16 arrays, on devices that do not compute with it: as float32 does, rounded at the end."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.lacking import without_float16

import clmapreduce as cm

pytestmark = pytest.mark.drawn

LENGTHS = (1, 2, 31, 33, 1025, 100_003)
OPERATORS = (
    "sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp", "mean", "var", "std", "norm",
)  # fmt: skip


def numbers(rng: np.random.Generator, length: int, name: str = "") -> np.ndarray:
    """Few digits, so that sums are exact and ties occur; products stay near 1."""
    if name == "product":
        return (2.0 ** rng.integers(-1, 2, length)).astype(np.float16)
    return (rng.integers(-64, 64, length) / 16).astype(np.float16)


def wide(name: str, x: Any, axis: Any = None) -> Any:
    """NumPy's result in float64."""
    x = x.astype(np.float64)
    if name == "logsumexp":
        return np.log(np.exp(x).sum(axis))
    if name == "norm":
        return np.sqrt((x * x).sum(axis))
    named = {"product": "prod", "minimum": "min", "maximum": "max"}.get(name, name)
    return getattr(np, named)(x, axis=axis)


def near(actual: Any, expected: Any, units: float = 0.502) -> None:
    """Asserts that float16 results are the exact ones, rounded; float32's own roundings may move one over a tie."""
    actual = np.asarray(actual)
    assert actual.dtype == np.float16
    exact = np.asarray(expected, np.float64)
    assert actual.shape == exact.shape
    with np.errstate(over="ignore", invalid="ignore"):
        nearest = exact.astype(np.float16)
        off = np.abs(actual.astype(np.float64) - exact) / np.spacing(np.abs(nearest)).astype(np.float64)
    finite = np.isfinite(nearest)
    assert (off[finite] <= units).all(), off[finite].max()
    np.testing.assert_array_equal(actual[~finite], nearest[~finite])


def agree(name: str, actual: Any, expected: Any) -> None:
    if np.asarray(expected).dtype.kind != "f":
        np.testing.assert_array_equal(actual, expected)
    else:
        near(actual, expected)


def test_maps_of_every_length(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (0, *LENGTHS):
        a, b = (rng.standard_normal(length).astype(np.float16) for _ in "ab")
        near(cm.Map(lambda a, b: a * b)(a, b, context=poor, mode=mode), a.astype("f8") * b.astype("f8"))
        out = np.full(length, np.nan, np.float16)
        cm.Map(lambda a, b: cm.math.exp(a) + abs(b))(a, b, context=poor, mode=mode, out=out)
        near(out, np.exp(a.astype("f8")) + np.abs(b.astype("f8")), 0.51)
        if length:
            there = cm.Map(lambda a: cm.math.sin(a))(cm.array(a, poor)[length // 3 :], mode=mode)
            near(there.to_numpy(), np.sin(a[length // 3 :].astype("f8")), 0.51)


@pytest.mark.parametrize("name", OPERATORS)
def test_reductions(name: str, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in LENGTHS:
        x = numbers(rng, length, name)
        agree(name, cm.Reduce(name)(x, context=poor, mode=mode), wide(name, x))
    rows = numbers(rng, 33 * 129, name).reshape(33, 129)
    agree(name, cm.Reduce(name)(rows, axis=1, context=poor, mode=mode), wide(name, rows, 1))
    agree(name, cm.Reduce(name)(rows, axis=0, context=poor, mode=mode), wide(name, rows, 0))
    keep = rng.random(len(x)) < 0.5
    if name not in ("argmin", "argmax"):
        agree(name, cm.Reduce(name)(x, where=keep, context=poor, mode=mode), wide(name, x[keep]))
    if name not in ("mean", "var", "std", "norm"):
        agree(name, cm.Reduce(name)(x, finish="host", context=poor, mode=mode), wide(name, x))


@pytest.mark.parametrize("accumulate", ["fast", "compensated", "double"])
def test_sums_by_any_means(accumulate: Any, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    if accumulate == "double" and not poor.facts.fp64:
        pytest.skip("no float64")
    x = numbers(rng, 30_011)
    near(cm.Reduce("sum")(x, accumulate=accumulate, context=poor, mode=mode), x.sum(dtype="f8"))


def test_empty_lines(poor: cm.Context, mode: str) -> None:
    nothing = np.empty(0, np.float16)
    for name, expected in (("sum", 0), ("maximum", -np.inf), ("logsumexp", -np.inf)):
        result = cm.Reduce(name)(nothing, context=poor, mode=mode)
        assert result.dtype == np.float16 and result == np.float16(expected)
    assert cm.Scan("sum")(nothing, context=poor, mode=mode).dtype == np.float16


def test_nan_and_infinities(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = numbers(rng, 5003)
    x[[77, 4000]] = np.nan, np.inf
    for name, expected in (("sum", np.nan), ("maximum", np.nan), ("minimum", np.nan), ("logsumexp", np.nan)):
        np.testing.assert_equal(cm.Reduce(name)(x, context=poor, mode=mode), np.float16(expected))
    assert cm.Reduce("argmax")(x, context=poor, mode=mode) == 77
    x[77] = 0
    assert cm.Reduce("argmax")(x, context=poor, mode=mode) == 4000
    assert cm.Reduce("maximum")(x, context=poor, mode=mode) == np.inf
    big = np.full(100, 60000, np.float16)
    assert cm.Reduce("sum")(big, context=poor, mode=mode) == np.inf
    near(cm.Reduce("mean")(big, context=poor, mode=mode), np.float64(60000))


@pytest.mark.parametrize("exclusive", [False, True])
def test_scans_and_partials(exclusive: bool, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in LENGTHS:
        x = numbers(rng, length)
        sums = np.concatenate([[0.0], np.cumsum(x.astype("f8"))])[: -1 if exclusive else None]
        sums = sums if exclusive else sums[1:]
        near(cm.Scan("sum", exclusive=exclusive)(x, context=poor, mode=mode), sums)
        highest = np.concatenate([[-np.inf], np.maximum.accumulate(x.astype("f8"))])
        scanned = cm.Scan("maximum", exclusive=exclusive)(x, context=poor, mode=mode)
        near(scanned, highest[:-1] if exclusive else highest[1:])
        partials = cm.Partials("maximum")(x, context=poor, mode=mode)
        near(partials.prefix(mode=mode), highest)
        near(partials.prefix([0, length], mode=mode), highest[[0, length]])
        near(cm.Partials("sum")(x, context=poor, mode=mode).prefix(), np.concatenate([[0], np.cumsum(x.astype("f8"))]))


def test_pipelines(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    @cm.fuse
    def softmax(x: Any) -> Any:
        weights = cm.math.exp(x - cm.Reduce("maximum")(x))
        return weights / cm.Reduce("sum")(weights), cm.Reduce("argmax")(x), x.mean()

    @cm.fuse
    def below_their_peak(x: Any) -> Any:
        prefixes = cm.Scan("sum")(x)
        return prefixes - cm.Reduce("maximum")(prefixes)

    for length in (1, 33, 5000, 100_003):
        x = numbers(rng, length)
        exact = np.exp(x.astype("f8") - x.max())
        weights, place, mean = softmax(x, context=poor, mode=mode)
        # the sum is a float16 itself, as it is between steps
        near(weights, exact / exact.sum(), 1.51)
        assert place == x.argmax()
        near(mean, x.mean(dtype="f8"))
        sums = np.cumsum(x.astype("f8")).astype(np.float16).astype("f8")
        near(below_their_peak(x, context=poor, mode=mode), sums - sums.max())
    rows = numbers(rng, 65 * 40).reshape(65, 40)
    exact = np.exp(rows.astype("f8") - rows.max(1, keepdims=True))
    weights, place, _ = softmax(rows, context=poor, mode=mode, batch=True)
    near(weights, exact / exact.sum(1, keepdims=True), 1.51)
    np.testing.assert_array_equal(place, rows.argmax(1))
    compiled = softmax.compile([(5000,)], "f2", context=poor, mode=mode)
    x = numbers(rng, 5000)
    exact = np.exp(x.astype("f8") - x.max())
    near(compiled(cm.array(x, poor))[0].to_numpy(), exact / exact.sum(), 1.51)
    chained = cm.Map(lambda a: a * 2) >> cm.Reduce("maximum")
    near(chained(x, context=poor, mode=mode), 2 * x.max().astype("f8"))


def test_records_and_operators(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = numbers(rng, 20_011)
    affine = cm.Operator(
        lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), [("a", "f2"), ("b", "f2")],
        commutative=False, check=False,
    )  # fmt: skip
    records = np.zeros(5000, affine.dtype)
    records["a"], records["b"] = rng.choice([-1, 1], 5000), rng.integers(-3, 4, 5000)
    a, b = 1.0, 0.0
    for one, two in records.tolist():
        a, b = a * one, b * one + two
    result = cm.Reduce(affine)(records, context=poor, mode=mode)
    assert result.dtype["b"] == np.float16 and (result["a"], result["b"]) == (np.float16(a), np.float16(b))
    assert cm.Scan(affine)(records, context=poor, mode=mode)[-1] == result
    largest = cm.Operator(lambda a, b: cm.where(a > b, a, b), -np.inf, name="largest")
    assert cm.Reduce(largest)(x, context=poor, mode=mode) == x.max()
    pair = cm.Map(lambda a: {"m": [a, a / 2], "n": a > 0})(x, context=poor, mode=mode)
    assert pair.dtype["m"].base == np.float16
    near(pair["m"][:, 1], x.astype("f8") / 2)
    halved = cm.Map(lambda r: r["m"][0] - r["m"][1])(pair, context=poor, mode=mode)
    near(halved, x.astype("f8") / 2)
    spelled = cm.Operator(cm.c_source("fmax(a, b)"), -np.inf, name="spelled", check=False)
    assert cm.Reduce(spelled)(x, context=poor, mode=mode) == x.max()


@pytest.mark.parametrize("name", OPERATORS[:-1])
def test_segments(name: str, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lengths = np.concatenate([rng.integers(1, 9, 500), [3000, 1, 40], rng.integers(1, 70, 50)])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    x = numbers(rng, offsets[-1], name)
    expected = np.array([wide(name, x[i:j]) for i, j in pairwise(offsets)])
    agree(name, cm.segmented_reduce(x, offsets, name, context=poor, mode=mode), expected)


def test_segments_with_more(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    offsets = np.array([0, 0, 5, 5, 900, 1000], np.int32)
    x = numbers(rng, 1000)
    how: dict[str, Any] = {"context": poor, "mode": mode}
    folded = cm.segmented_reduce(x, offsets, "sum", init=0.1, **how)
    parts = pairwise(offsets)
    near(folded, [float(np.float16(0.1)) + x[i:j].sum(dtype="f8") for i, j in parts])
    empty = cm.segmented_reduce(x, offsets, "maximum", empty=7, **how)
    assert empty[0] == empty[2] == 7 and empty[1] == x[:5].max()
    columns = numbers(rng, 3000).reshape(1000, 3)
    near(cm.segmented_reduce(columns, offsets[[0, 2, 5]], "sum", **how), np.stack([columns[:5].sum(0, dtype="f8"), columns[5:].sum(0, dtype="f8")]))


def test_keys(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """float16 as keys, and as what is reduced; -0 equals 0, and every NaN is a run of its own."""
    keys = np.repeat(np.array([1.5, -0.0, 0.0, np.nan, np.inf, 2, 1.5], np.float16), [3, 2, 4, 2, 5, 1, 300])
    x = numbers(rng, len(keys))
    found, sums = cm.reduce_by_key(keys, x, "sum", context=poor, mode=mode)[:2]
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    np.testing.assert_array_equal(found.view("u2"), keys[begins].view("u2"))
    near(sums, np.add.reduceat(x.astype("f8"), begins))


def test_sparse_products(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lengths = rng.integers(0, 12, 300)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    indices = rng.integers(0, 50, indptr[-1]).astype(np.int32)
    data, x = numbers(rng, indptr[-1]), numbers(rng, 50)
    products = data.astype("f8") * x[indices].astype("f8")
    exact = [products[i:j].sum() for i, j in pairwise(indptr)]
    near(cm.spmv((indptr, indices, data), x, context=poor, mode=mode), exact)


def test_unfolds(poor: cm.Context, mode: str) -> None:
    near(cm.Unfold("product")(np.float16(0.5), 20, context=poor, mode=mode), 0.5 ** np.arange(1.0, 21))
    near(cm.Unfold("sum")(np.float16(0.25), 5000, context=poor, mode=mode), 0.25 * np.arange(1.0, 5001))
    starts = np.array([0.1, 1, 3, -2] * 9, np.float16)
    rows = cm.Unfold(lambda a: a / 2 + 1)(starts, 6, context=poor, mode=mode)
    assert rows.dtype == np.float16 and (rows[0] == starts).all()
    for k in range(5):
        near(rows[k + 1], rows[k].astype("f8") / 2 + 1)
    sequence = cm.Recurrence()(np.float16(0.5), np.ones(100, np.float16), dtype="f4", context=poor, mode=mode)
    np.testing.assert_allclose(sequence, 2 - 2.0 ** -np.arange(100.0), rtol=1e-6)


def test_arrays(poor: cm.Context, rng: np.random.Generator) -> None:
    a, b = numbers(rng, 600).reshape(20, 30), numbers(rng, 30)
    x, y = cm.array(a, poor), cm.array(b, poor)
    near((x * y + 0.5).to_numpy(), a.astype("f8") * b.astype("f8") + 0.5, 1.0)
    near((x[::2, 1:7] - 1).to_numpy(), a[::2, 1:7].astype("f8") - 1)
    near(x.sum(axis=0).to_numpy(), a.sum(0, dtype="f8"))
    near(x.mean(axis=1).to_numpy(), a.mean(1, dtype="f8"))
    near(x.T.copy().cumsum(axis=1).to_numpy(), np.cumsum(a.T.astype("f8"), 1))
    np.testing.assert_array_equal((x > y).to_numpy(), a > b)
    np.testing.assert_array_equal(x[x > 0].to_numpy(), a[a > 0])
    np.testing.assert_array_equal(x.astype("f4").to_numpy(), a.astype("f4"))
    x[3] = 2.5
    a[3] = 2.5
    x += y
    near(x.to_numpy(), a.astype("f8") + b.astype("f8"))
    np.testing.assert_array_equal(cm.sort(cm.array(b, poor)).to_numpy(), np.sort(b, kind="stable"))
    np.testing.assert_array_equal(cm.argsort(cm.array(b, poor)).to_numpy(), np.argsort(b, kind="stable"))
    near(np.sqrt(abs(cm.array(b, poor))).to_numpy(), np.sqrt(np.abs(b.astype("f8"))))


def test_arrays_longer_than_memory(context: cm.Context, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    small = cm.Context(context.device, memory_limit=3 << 20)
    small.facts = poor.facts
    x = numbers(rng, 2_000_003)
    near(cm.Map(lambda a: a / 2)(x, context=small, mode=mode), x.astype("f8") / 2)
    near(cm.Reduce("maximum")(x, context=small, mode=mode), x.max().astype("f8"))
    near(cm.Scan("maximum")(x, context=small, mode=mode), np.maximum.accumulate(x).astype("f8"))


def test_pairs(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x, y, b = (rng.uniform(0, 1, (n, d)).astype(np.float16) for n, d in ((50, 3), (70, 3), (70, 2)))
    kernel = (-((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1)).exp()
    exact = np.exp(-((x[:, None].astype("f8") - y[None].astype("f8")) ** 2).sum(-1)) @ b.astype("f8")
    near(kernel.__matmul__(b, context=poor, mode=mode), exact, 0.52)
    nearest = ((cm.Vi(x) - cm.Vj(y)) ** 2).sum(-1).argmin(1, context=poor, mode=mode)
    distances = ((x[:, None].astype("f8") - y[None].astype("f8")) ** 2).sum(-1)
    np.testing.assert_allclose(distances[np.arange(50), np.ravel(nearest)], distances.min(1), atol=1e-6)


@pytest.mark.parametrize("name", ["Sum", "LogSumExp", "Min", "ArgKMin", "Max_SumShiftExpWeight"])
def test_pairs_of_every_kind(name: str, poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """With a number beside arrays, long vectors, a weight and a gradient."""
    dim = int(rng.choice([2, 3, 40]))
    x, y = (rng.uniform(0, 1, (n, dim)).astype(np.float16) for n in (65, 130))
    scale, w = np.float16(0.5), rng.uniform(0, 1, (130, 2)).astype(np.float16)
    how: dict[str, Any] = {"context": poor, "mode": mode}
    distances = ((x[:, None].astype("f8") - y[None].astype("f8")) ** 2).sum(-1) * 0.5
    aliases = [f"x=Vi({dim})", f"y=Vj({dim})", "s=Pm(1)"]
    if name == "Max_SumShiftExpWeight":
        values = cm.Genred("s*SqDist(x,y)", [*aliases, "w=Vj(2)"], reduction_op="LogSumExp", formula2="w", axis=1)
        near(values(x, y, [scale], w, **how), np.log(np.exp(distances) @ w.astype("f8")), 0.52)
        slope = cm.Genred("Grad(s*SqDist(x,y),x,e)", [*aliases, "e=Vi(1)"], reduction_op="Sum", axis=1)
        e = rng.uniform(0, 1, (65, 1)).astype(np.float16)
        exact = (e.astype("f8")[:, None] * (x[:, None].astype("f8") - y[None].astype("f8"))).sum(1)
        off = np.abs(slope(x, y, [scale], e, **how).astype("f8") - exact)
        assert (off <= 2.0**-11 * np.abs(exact) + 1e-4).all()
        return
    result = cm.Genred("s*SqDist(x,y)", aliases, reduction_op=name, axis=1, opt_arg=3 if name == "ArgKMin" else None)
    found = result(x, y, [scale], **how)
    if name == "ArgKMin":
        best = np.sort(distances, 1)[:, :3]
        np.testing.assert_allclose(np.take_along_axis(distances, found.astype(int), 1), best, atol=1e-6)
    else:
        exact = {"Sum": distances.sum(1), "Min": distances.min(1), "LogSumExp": np.log(np.exp(distances).sum(1))}[name]
        near(np.ravel(found), exact, 0.52)


def test_long_segments_and_pipelines_in_little_memory(
    context: cm.Context, poor: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    small = cm.Context(context.device, memory_limit=3 << 20)
    small.facts = poor.facts
    x = numbers(rng, 2_000_003)
    offsets = np.array([0, 5, 1_900_000, 2_000_003])
    for name in ("sum", "maximum", "mean", "argmax"):
        expected = np.array([wide(name, x[i:j]) for i, j in pairwise(offsets)])
        agree(name, cm.segmented_reduce(x, offsets, name, context=small, mode=mode), expected)
    centred = cm.fuse(lambda a: a - cm.Reduce("maximum")(a))
    near(centred(x, context=small, mode=mode), x.astype("f8") - x.max())
    some = x[:300_007]
    near(cm.Partials("maximum")(some, context=small, mode=mode).prefix([7, len(some)]), [some[:7].max(), some.max()])


def test_dtypes_between_calls(poor: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """dtype= and out=: float16 from wider numbers, and wider ones from float16."""
    wider = rng.standard_normal(4099).astype(np.float32)
    x, how = wider.astype(np.float16), {"context": poor, "mode": mode}
    rounded = cm.Reduce("maximum")(wider, dtype="f2", **how)
    assert rounded.dtype == np.float16 and rounded == x.max()
    assert cm.Reduce("sum")(x, dtype="f4", **how).dtype == np.float32
    out = np.full(4099, np.nan, np.float32)
    cm.Map(lambda a: a * 2)(x, out=out, **how)
    np.testing.assert_array_equal(out, 2 * x.astype(np.float32))
    there = cm.array(np.zeros(4099, np.float16), poor)
    cm.Map(lambda a: (a.astype("f2")))(cm.array(wider, poor), out=there, mode=mode)
    np.testing.assert_array_equal(there.to_numpy(), x)
    places = cm.Map(lambda a: cm.guard(a > 0, a * 2))
    target = np.full(4099, -7, np.float16)
    places(x, out=target, **how)
    np.testing.assert_array_equal(target, np.where(x > 0, x * np.float16(2), np.float16(-7)))


def test_both_ways_agree(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """A device that computes with float16 gives the same dtypes, and the same numbers up to roundings between."""
    poor = without_float16(context)
    x, y = (rng.uniform(0.5, 2, 5003).astype(np.float16) for _ in "xy")
    calls = (
        lambda **how: cm.Map(lambda a, b: (a * b, a > b, a.astype("f4") + b, cm.math.log(a), a + 1))(x, y, **how),
        lambda **how: [cm.Reduce(name)(x, **how) for name in OPERATORS],
        lambda **how: [cm.Scan("maximum")(x, **how), cm.Reduce("sum")(x, dtype="f4", **how)],
    )
    for call in calls:
        for one, other in zip(call(context=context, mode=mode), call(context=poor, mode=mode), strict=True):
            assert one.dtype == other.dtype and one.shape == other.shape
            rtol = 2e-3 if one.dtype == np.float16 else 0
            np.testing.assert_allclose(one.astype("f8"), other.astype("f8"), rtol=rtol, atol=rtol)
