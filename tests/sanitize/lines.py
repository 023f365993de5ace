"""Cases of the primitives: map, reduce, scan, unfold, partials, pipelines, power series."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sanitize.case import Case, Check
from scipy import special

import clmapreduce as cm

RNG = np.random.default_rng(20)
X = RNG.uniform(-1, 1, 1500).astype("f4")
SHORT = X[:150]
ROWS = X[:1470].reshape(42, 35)
AFFINE_FIELDS = np.dtype([("a", "f4"), ("b", "f4")])
AFFINE = cm.Operator(
    lambda p, q: {"a": p["a"] * q["a"], "b": p["b"] * q["a"] + q["b"]}, (1, 0), AFFINE_FIELDS,
    commutative=False, name="affine",
)  # fmt: skip
"""First one affine function, then another one."""
EITHER = cm.Operator(lambda a, b: a + b - a * b, 0.0, name="either")
REDUCTIONS: dict[str, Any] = {
    "sum": np.sum, "product": np.prod, "minimum": np.min, "maximum": np.max, "argmin": np.argmin, "argmax": np.argmax,
    "logsumexp": lambda x: np.log(np.exp(x).sum()),
}  # fmt: skip
STEPS: dict[str, Any] = {"sum": np.cumsum, "product": np.cumprod, "maximum": np.maximum.accumulate}


def affine(count: int) -> tuple[Any, Any]:
    """Records of numbers near the identity, and the products of the first ones, (2, count)."""
    records = np.zeros(count, AFFINE_FIELDS)
    records["a"], records["b"] = 1 + X[:count] / 64, X[-count:]
    a, b, upto = 1.0, 0.0, []
    for one in records:
        a, b = a * float(one["a"]), b * float(one["a"]) + float(one["b"])
        upto.append((a, b))
    return records, np.array(upto).T


def maps(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    yield "map", cm.Map(lambda x: x * 2 + 1)(X, **how), X * 2 + 1
    yield "map of a strided array", cm.Map(lambda x: x * 2 + 1)(ROWS[::2, ::3], **how), ROWS[::2, ::3] * 2 + 1
    yield "map of records", cm.Map(lambda p: p["a"] + p["b"])(affine(70)[0], **how), X[:70] / 64 + 1 + X[-70:]


def reductions(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    for op, whole in REDUCTIONS.items():
        for x in (X[:3], SHORT, X):
            x = 1 + x / 64 if op == "product" else x
            yield f"{op} of {len(x)}", cm.Reduce(op)(x, **how), whole(x.astype("f8"))
    for op, whole in (("any", np.any), ("all", np.all)):
        yield op, cm.Reduce(op)(SHORT > 0, **how), whole(SHORT > 0)
    records, upto = affine(150)
    yield "affine", np.asarray(cm.Reduce(AFFINE)(records, **how)).reshape(1), upto[:, -1:]
    yield "either", cm.Reduce(EITHER)(SHORT / 64, **how), 1 - np.prod(1 - SHORT.astype("f8") / 64)
    yield "Kahan sum", cm.Reduce("sum")(X, accumulate="fast", **how), X.astype("f8").sum()
    yield "front", (cm.Map(lambda x: x * x) >> cm.Reduce("sum"))(X, **how), np.square(X.astype("f8")).sum()


def scans(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    for op, steps in STEPS.items():
        for x in (X[:3], X):
            x = 1 + x / 64 if op == "product" else x
            yield f"{op} of {len(x)}", cm.Scan(op)(x, **how), steps(x.astype("f8"))
    records, upto = affine(150)
    yield "affine", cm.Scan(AFFINE)(records, **how), upto
    exclusive = np.append(0, X[:-1].astype("f8").cumsum())
    yield "exclusive sum", cm.Scan("sum", exclusive=True)(X, **how), exclusive


def unfolds(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    for length in (3, 150, 1500):
        powers = 1.001 ** np.arange(1, length + 1)
        yield f"powers, {length}", cm.Unfold("product")(1.001, length, **how), powers
        yield f"index, {length}", cm.Unfold("index")(length, **how), np.arange(length)
    base = np.array((0.99, 0.5), AFFINE_FIELDS)[()]
    falling = 0.99 ** np.arange(1, 151)
    yield "affine", cm.Unfold(AFFINE)(base, 150, **how), [falling, 0.5 * (1 - falling) / 0.01]
    yield "factorials", cm.series.factorials(8, dtype=np.int64, **how), np.cumprod([1, *range(1, 9)])
    total = (cm.Unfold("product") >> cm.Reduce("sum"))(0.99, 150, **how)
    yield "sum of powers", total, falling.sum()


def recurrences(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    for x in (X[:3], SHORT, X):
        expected, y = [], 0.25
        for weight, number in zip(x.astype("f8"), x[::-1].astype("f8"), strict=True):
            y = weight * y + number
            expected.append(y)
        yield f"linear, {len(x)}", cm.Recurrence()(x, x[::-1].copy(), initial=0.25, **how), expected
        highest = np.maximum.accumulate(x.astype("f8") - 0.5 * np.arange(len(x))) + 0.5 * np.arange(len(x))
        start = cm.Recurrence(kind="max-plus")(np.float32(0.5), x, initial=-np.inf, **how)
        yield f"max-plus, {len(x)}", start, highest
    iterates = [SHORT.astype("f8")]
    for _ in range(8):
        iterates.append(0.5 * iterates[-1] + 0.25)
    yield "iterates", cm.Unfold(lambda a: 0.5 * a + 0.25)(SHORT, 9, **how), iterates


def partials(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    prefixes = np.append(0, X.astype("f8").cumsum())
    sums = cm.Partials("sum")(X, **how)
    yield "every prefix", sums.prefix(mode=mode), prefixes
    places = RNG.integers(0, 1500, 37)
    yield "some prefixes", sums.prefix(places, mode=mode), prefixes[places]
    records, upto = affine(150)
    prefixes_there = cm.Partials(AFFINE)(records, **how).prefix(places % 150 + 1, mode=mode)
    yield "prefixes of records", prefixes_there, upto[:, places % 150]


def pipelines(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    for x in (SHORT, X):
        wide = x.astype("f8")
        from_mean = cm.fuse(lambda x: x - cm.Reduce("sum")(x))
        yield "centred", from_mean(x, **how), wide - wide.sum()
        spread = cm.fuse(lambda x: cm.Reduce("sum")((x - cm.Reduce("sum")(x) / 9) ** 2))
        yield "spread", spread(x, **how), np.square(wide - wide.sum() / 9).sum()
        running = cm.fuse(lambda x: cm.Scan("sum")(x * x) + cm.Reduce("maximum")(x))
        yield "running", running(x, **how), np.square(wide).cumsum() + wide.max()
    lines = ROWS - ROWS.astype("f8").sum(1, keepdims=True)
    yield "centred lines", cm.fuse(lambda x: x - cm.Reduce("sum")(x), batch=True)(ROWS, **how), lines


def power_series(context: cm.Context, mode: str) -> Iterator[Check]:
    how: dict[str, Any] = {"context": context, "mode": mode}
    ones = np.ones(12, "f4")
    yield "points", cm.series.power_series(ones, SHORT, **how), np.exp(SHORT.astype("f8"))
    yield "one point", cm.series.power_series(ones, np.float32(0.5), **how), np.exp(0.5)
    words = cm.series.power_series(ones, SHORT[:3], np.float32(0.5), dtype=cm.df, **how)
    yield "in words", cm.exact(words, float).astype("f8"), np.exp(SHORT[:3] - 0.5)


def series_functions(context: cm.Context, mode: str) -> Iterator[Check]:
    """In words of float32, which the emulator has for sure."""
    how: dict[str, Any] = {"context": context, "mode": mode, "dtype": cm.df}
    x = np.float32([0.75, 2.5, 1e4])
    twins = {"sin": np.sin, "atan": np.arctan, "bessel_j0": special.j0, "zeta": special.zeta, "lgamma": special.gammaln}
    for name, twin in {**twins, "erfc": special.erfc}.items():
        points = x if name != "zeta" else x[1:]
        result = getattr(cm.series, name)(points, **how)
        yield name, cm.exact(result, float).astype("f8"), twin(points.astype("f8"))
    z = np.complex64([1 + 2j, -0.5j])
    yield "complex", cm.series.exp(z, context=context, mode=mode), np.exp(z)


CASES = {
    "maps": Case(maps), "reductions": Case(reductions), "scans": Case(scans), "unfolds": Case(unfolds),
    "recurrences": Case(recurrences),
    "partials": Case(partials), "pipelines": Case(pipelines), "power series": Case(power_series),
    "series functions": Case(series_functions),
}  # fmt: skip
