"""Users' operators: records, order, identities, OpenCL C, and errors; against plain Python loops."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.oracles import PRIME, assert_near, assert_same, prefixes, values

import clmapreduce as cm

pytestmark = pytest.mark.drawn

LENGTHS = (1, 2, 7, 16, 17, 63, 65, 256, 257, 1025, 5003)
AFFINE = np.dtype([("a", "u4"), ("b", "u4")])
MATRIX = np.dtype([("a", "u4"), ("b", "u4"), ("c", "u4"), ("d", "u4")])
SPAN = np.dtype([("seen", "?"), ("first", "f8"), ("last", "i2")])
WORD = 1 << 32

affine = cm.Operator(
    lambda f, g: {"a": f["a"] * g["a"], "b": f["b"] * g["a"] + g["b"]}, (1, 0), AFFINE, commutative=False, name="affine"
)
matrix = cm.Operator(
    lambda x, y: {
        "a": x["a"] * y["a"] + x["b"] * y["c"],
        "b": x["a"] * y["b"] + x["b"] * y["d"],
        "c": x["c"] * y["a"] + x["d"] * y["c"],
        "d": x["c"] * y["b"] + x["d"] * y["d"],
    },
    np.array((1, 0, 0, 1), MATRIX)[()],
    commutative=False,
    name="matrix",
)
span = cm.Operator(
    lambda x, y: {
        "seen": x["seen"] | y["seen"],
        "first": cm.where(x["seen"], x["first"], y["first"]),
        "last": cm.where(y["seen"], y["last"], x["last"]),
    },
    (False, 0.0, 0),
    commutative=False,
    name="span",
)


def affine_loop(f: Sequence[int], g: Sequence[int]) -> tuple[int, int]:
    return f[0] * g[0] % WORD, (f[1] * g[0] + g[1]) % WORD


def matrix_loop(x: Sequence[int], y: Sequence[int]) -> tuple[int, int, int, int]:
    return (
        (x[0] * y[0] + x[1] * y[2]) % WORD, (x[0] * y[1] + x[1] * y[3]) % WORD,
        (x[2] * y[0] + x[3] * y[2]) % WORD, (x[2] * y[1] + x[3] * y[3]) % WORD,
    )  # fmt: skip


def span_loop(x: Sequence[Any], y: Sequence[Any]) -> tuple[bool, float, int]:
    return x[0] or y[0], x[1] if x[0] else y[1], y[2] if y[0] else x[2]


@dataclass(frozen=True)
class Case:
    """An operator that does not commute, its Python loop and identity, and random values for it."""

    op: cm.Operator
    loop: Callable[[Any, Any], Any]
    identity: Any
    dtype: np.dtype

    def random(self, rng: np.random.Generator, length: int, align: bool = False) -> np.ndarray:
        dtype = np.dtype([(name, self.dtype[name]) for name in self.dtype.names], align=align)
        x = values(rng, dtype, length)
        if "seen" in dtype.names:
            x["seen"] = rng.random(length) < 0.1
            x[~x["seen"]] = np.zeros((), dtype)  # an element not seen is the identity in all fields
        return x

    def prefixes(self, x: np.ndarray) -> np.ndarray:
        return np.array(prefixes(self.loop, self.identity, x.tolist()), self.dtype)


CASES = {
    "affine": Case(affine, affine_loop, (1, 0), AFFINE),
    "matrix": Case(matrix, matrix_loop, (1, 0, 0, 1), MATRIX),
    "span": Case(span, span_loop, (False, 0.0, 0), SPAN),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, context: cm.Context) -> Case:
    chosen_case = CASES[request.param]
    if "f8" in str(chosen_case.dtype) and not context.device.fp64:
        pytest.skip(f"{context.device.name} has no float64")
    return chosen_case


def test_reduce_keeps_the_order(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in (*LENGTHS, PRIME):
        x = case.random(rng, length)
        expected = case.prefixes(x)[-1]
        assert_same(cm.Reduce(case.op)(x, context=context, mode=mode), expected, length)
    records = case.random(rng, 1025, align=True)
    device_array = cm.Reduce(case.op)(cm.array(records, context), mode=mode)
    assert_same(device_array.to_numpy(), case.prefixes(records)[-1])


def test_the_last_level_keeps_the_order_on_the_host_too(
    case: Case, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in (1, 1025, PRIME):
        x = case.random(rng, length)
        expected = case.prefixes(x)[-1]
        assert_same(cm.Reduce(case.op)(x, context=context, mode=mode, finish="host"), expected, length)


@pytest.mark.parametrize("exclusive", [False, True])
def test_scan_keeps_the_order(
    exclusive: bool, case: Case, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    for length in LENGTHS:
        x = case.random(rng, length)
        expected = case.prefixes(x)
        result = cm.Scan(case.op, exclusive=exclusive)(x, context=context, mode=mode)
        assert_same(result, expected[:-1] if exclusive else expected[1:], length)


def test_partials_keep_the_order(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    for length in LENGTHS:
        x = case.random(rng, length)
        partials = cm.Partials(case.op)(x, context=context, mode=mode)
        assert_same(partials.prefix(mode=mode), case.prefixes(x), length)


def test_one_tile_is_the_oracle_of_many(case: Case, context: cm.Context, rng: np.random.Generator) -> None:
    x = case.random(rng, 1025)
    for primitive in (cm.Reduce(case.op), cm.Scan(case.op)):
        oracle = primitive(x, context=context, mode="sequential", tiles=1)
        for mode in ("sequential", "parallel"):
            assert_same(primitive(x, context=context, mode=mode), oracle, mode)


def test_unfold_gives_powers(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    base = case.random(rng, 1)[0]
    for length in (1, 17, 257, 1025):
        result = cm.Unfold(case.op)(base, length, context=context, mode=mode)
        assert_same(result, case.prefixes(np.repeat(base, length))[1:], length)


def test_nothing_gives_the_identity(case: Case, context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    x = case.random(rng, 0)
    identity = np.array(case.identity, case.dtype)
    assert_same(cm.Reduce(case.op)(x, context=context, mode=mode), identity)
    assert_same(cm.Scan(case.op)(x, context=context, mode=mode), x)
    assert_same(cm.Partials(case.op)(x, context=context, mode=mode).prefix(), identity.reshape(1))


# ------------------------------------------------------------------------------------------------------- plain numbers
@pytest.mark.parametrize("dtype", ["i4", "f4"])
@pytest.mark.parametrize("end", ["first", "last"])
def test_first_and_last_of_plain_numbers(
    end: str, dtype: str, context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    """0 stands for nothing. Lanes of plain numbers stay in order in a scan, and a reduce may not use them."""
    op = cm.Operator(
        (lambda a, b: cm.where(a == 0, b, a)) if end == "first" else (lambda a, b: cm.where(b == 0, a, b)), 0, commutative=False
    )
    for length in (*LENGTHS, PRIME):
        x = np.where(rng.random(length) < 8 / length, rng.integers(1, 1000, length), 0).astype(dtype)
        expected = np.array(prefixes((lambda a, b: a or b) if end == "first" else (lambda a, b: b or a), 0, x.tolist()), dtype)
        assert_same(cm.Reduce(op)(x, context=context, mode=mode), expected[-1], length)
        assert_same(cm.Scan(op)(x, context=context, mode=mode), expected[1:], length)


def test_operators_that_commute_use_every_lane(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    xor = cm.Operator(lambda a, b: a ^ b, 0)
    gcd_free = cm.Operator(lambda a, b: a * b, 1)
    for length in (*LENGTHS, PRIME):
        x = values(rng, np.uint8, length)
        assert_same(cm.Reduce(xor)(x, context=context, mode=mode), np.bitwise_xor.reduce(x), length)
        assert_same(cm.Scan(xor)(x, context=context, mode=mode), np.bitwise_xor.accumulate(x), length)
        y = values(rng, np.int32, length) | 1
        assert_same(cm.Reduce(gcd_free)(y, context=context, mode=mode), np.multiply.reduce(y, dtype=np.int32), length)


def test_bools_and_complex_numbers(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    differs = cm.Operator(lambda a, b: a ^ b, False)
    times = cm.Operator(lambda a, b: a * b, 1)
    for length in (1, 17, 1025, 5003):
        x = values(rng, bool, length)
        assert_same(cm.Reduce(differs)(x, context=context, mode=mode), np.logical_xor.reduce(x), length)
        z = rng.choice(np.array([1, -1, 1j, -1j], np.complex64), length)
        assert_near(cm.Reduce(times)(z, context=context, mode=mode), np.prod(z), 0.0, length)
        assert_near(cm.Scan(times)(z, context=context, mode=mode), np.cumprod(z), 0.0, length)


def test_a_dtype_converts_the_values(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    wide = cm.Operator(lambda a, b: a + b, 0, dtype=np.int64)
    x = rng.integers(-128, 128, 5003).astype(np.int8)
    assert_same(cm.Reduce(wide)(x, context=context, mode=mode), x.sum(dtype=np.int64))
    assert_same(cm.Scan(wide)(x, context=context, mode=mode), np.cumsum(x, dtype=np.int64))


def test_identities_that_are_limits(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    lowest = cm.Operator(lambda a, b: cm.math.maximum(a, b), -(2**63))
    largest = cm.Operator(lambda a, b: cm.math.minimum(a, b), 2**64 - 1)
    infinite = cm.Operator(lambda a, b: cm.math.maximum(a, b), -np.inf)
    x = values(rng, np.int64, 1025)
    assert_same(cm.Reduce(lowest)(x, context=context, mode=mode), x.max())
    assert_same(cm.Reduce(largest)(x.view(np.uint64), context=context, mode=mode), x.view(np.uint64).min())
    y = np.full(1025, -np.inf, np.float32)
    assert_same(cm.Reduce(infinite)(y, context=context, mode=mode), np.float32(-np.inf))
    assert_same(cm.Reduce(largest)(x[:0].view(np.uint64), context=context, mode=mode), np.uint64(2**64 - 1))


def test_a_fused_map_makes_the_records(context: cm.Context, mode: str, rng: np.random.Generator) -> None:
    """Mean and variance in one pass (Chan, Golub and LeVeque 1979)."""
    merge = cm.Operator(
        lambda x, y: {
            "n": x["n"] + y["n"],
            "sum": x["sum"] + y["sum"],
            "m2": x["m2"] + y["m2"]
            + cm.where((x["n"] == 0) | (y["n"] == 0), 0.0,
                       (x["n"] * y["sum"] - y["n"] * x["sum"]) ** 2 / (cm.math.maximum(x["n"], 1.0) * cm.math.maximum(y["n"], 1.0) * (x["n"] + y["n"]))),
        },
        (0, 0, 0),
    )  # fmt: skip
    moments = cm.Map(lambda x: {"n": x * 0 + 1, "sum": x, "m2": x * 0}) >> cm.Reduce(merge)
    dtype = np.float64 if context.device.fp64 else np.float32
    for length in (1, 17, 1025, PRIME):
        x = (rng.standard_normal(length) + 3).astype(dtype)
        result = moments(x, context=context, mode=mode)
        assert result["n"] == length
        exact = x.astype(np.longdouble)
        limit = length * float(np.finfo(dtype).eps) * 16
        assert_near(result["sum"] / length, exact.mean(), limit, length)
        assert_near(result["m2"] / length, exact.var(), limit, length)


# ------------------------------------------------------------------------------------------------------------ OpenCL C
@pytest.mark.parametrize(
    ("text", "identity", "dtype", "oracle"),
    [
        ("fmax(a, b)", -np.inf, "f4", np.max),
        ("a > b ? a : b", 0, "u8", np.max),
        ("(a & b)", -1, "i4", np.bitwise_and.reduce),
        ("(int)(a + b)", 0, "i4", np.add.reduce),
    ],
)
def test_opencl_c(
    text: str, identity: Any, dtype: str, oracle: Callable[..., Any], context: cm.Context, mode: str, rng: np.random.Generator
) -> None:
    op = cm.Operator(cm.c_source(text), identity)
    for length in (1, 17, 1025, PRIME):
        x = values(rng, dtype, length)
        assert_same(cm.Reduce(op)(x, context=context, mode=mode), np.asarray(oracle(x), dtype)[()], length)
        assert_same(cm.Scan(op)(x, context=context, mode=mode)[-1:], np.asarray(oracle(x), dtype).reshape(1), length)


def test_opencl_c_has_no_twin_on_the_host(context: cm.Context) -> None:
    op = cm.Operator(cm.c_source("fmax(a, b)"), -np.inf)
    with pytest.raises(cm.FormulaError, match="finish='device'"):
        cm.Reduce(op)(np.ones(PRIME, np.float32), context=context, finish="host")


@pytest.mark.parametrize("text", ["a + 1", "b", "", "x + y", "aa + bb"])
def test_opencl_c_must_use_both_values(text: str) -> None:
    with pytest.raises(cm.FormulaError, match="both a and b"):
        cm.c_source(text)


def test_errors_of_opencl_c_show_the_line(context: cm.Context) -> None:
    op = cm.Operator(cm.c_source("no_such_function(a, b)"), 0)
    with pytest.raises(cm.BuildError, match="no_such_function"):
        cm.Reduce(op)(np.ones(5, np.float32), context=context)
    assert cm.Reduce("sum")(np.ones(5, np.float32), context=context) == 5, "the device still works"


# ------------------------------------------------------------------------------------------------------------- refused
@pytest.mark.parametrize(
    ("op", "x", "error"),
    [
        (cm.Operator(lambda a, b: a + b, 0.5), np.ones(3, np.int32), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, -np.inf), np.ones(3, np.int32), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, 300), np.ones(3, np.uint8), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, 1j), np.ones(3, np.float32), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, "zero"), np.ones(3, np.float32), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, [0, 0]), np.ones(3, np.float32), cm.DTypeError),
        (cm.Operator(lambda a, b: (a + b) / 2.5, 0), np.ones(3, np.int32), cm.DTypeError),
        (cm.Operator(lambda a, b: a * 1j, 0), np.ones(3, np.float32), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, 0, dtype=np.int8), np.ones(3, np.float32), cm.DTypeError),
        (affine, np.ones(3, np.float32), cm.DTypeError),
        (affine, np.zeros(3, MATRIX), cm.DTypeError),
        (cm.Operator(lambda a, b: a + b, 0), np.zeros(3, AFFINE), cm.FormulaError),
        (cm.Operator(lambda f, g: {"a": f["a"]}, (0, 0)), np.zeros(3, AFFINE), cm.DTypeError),
        (cm.Operator(lambda f, g: {"a": f["a"], "b": g["c"]}, (0, 0)), np.zeros(3, AFFINE), cm.FormulaError),
        (cm.Operator(lambda f, g: {"a": f["a"], "b": g["b"]}, (0, 0, 0)), np.zeros(3, AFFINE), cm.DTypeError),
        (cm.Operator(lambda a, b: a if a > b else b, 0), np.ones(3, np.float32), cm.FormulaError),
        (cm.Operator(lambda a, b: None, 0), np.ones(3, np.float32), cm.FormulaError),
        (cm.Operator(cm.c_source("a + b"), (0, 0)), np.zeros(3, AFFINE), cm.FormulaError),
    ],
)
def test_operators_that_do_not_fit(op: cm.Operator, x: np.ndarray, error: type, context: cm.Context) -> None:
    for primitive in (cm.Reduce(op), cm.Scan(op), cm.Partials(op)):
        with pytest.raises(error):
            primitive(x, context=context)


def test_operators_that_are_none() -> None:
    for combine in (3, None, "a + b"):
        with pytest.raises(cm.FormulaError):
            cm.Operator(combine, 0)  # type: ignore[arg-type]
    for wrong in (lambda a: a, lambda a, b, c: a, lambda: 0):
        with pytest.raises(cm.FormulaError):
            cm.Operator(wrong, 0)
    with pytest.raises(cm.DTypeError):
        cm.Operator(lambda a, b: a, 0, dtype="U5")


def test_accumulate_is_for_sums(context: cm.Context) -> None:
    op = cm.Operator(lambda a, b: a + b, 0)
    for accumulate in ("double", "compensated"):
        with pytest.raises(cm.DTypeError, match="for sums"):
            cm.Reduce(op)(np.ones(3, np.float32), context=context, accumulate=accumulate)


def test_an_exception_in_combine_is_the_users_own(context: cm.Context) -> None:
    def combine(a: Any, b: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        cm.Reduce(cm.Operator(combine, 0))(np.ones(3), context=context)


# ----------------------------------------------------------------------------------------------------------------- laws
OFFSETS, PLACES, ONES = np.array([0, 2, 6]), np.zeros(6, np.int32), np.ones(6, np.float32)
POINTS = np.ones((6, 2), np.float32)
ALIASES = ["x = Vi(2)", "y = Vj(2)"]
USES: dict[str, Callable[..., Any]] = {
    "reduce": lambda op, **k: cm.Reduce(op)(ONES, **k),
    "scan": lambda op, **k: cm.Scan(op)(ONES, **k),
    "unfold": lambda op, **k: cm.Unfold(op)(np.float32(1), 5, **k),
    "partials": lambda op, **k: cm.Partials(op)(ONES, **k),
    "pipeline": lambda op, **k: (cm.Map(lambda a: a + 1) >> cm.Reduce(op))(ONES, **k),
    "fused": lambda op, **k: cm.fuse(lambda a: a - cm.Reduce(op)(a))(ONES, **k),
    "batch": lambda op, **k: cm.fuse(lambda a: cm.Reduce(op)(a))(ONES.reshape(2, 3), batch=True, **k),
    "compile": lambda op, **k: (cm.Map(lambda a: a + 1) >> cm.Reduce(op)).compile([(6,)], "f4", **k),
    "segments": lambda op, **k: cm.segmented_reduce(ONES, OFFSETS, op, **k),
    "keys": lambda op, **k: cm.reduce_by_key(PLACES, ONES, op, **k),
    "matrix": lambda op, **k: cm.spmv((OFFSETS, PLACES, ONES), ONES, add=op, **k),
    "genred": lambda op, **k: cm.Genred("x - y", ALIASES, op, axis=1)(POINTS, POINTS, **k),
    "lazy": lambda op, **k: (cm.Vi(POINTS) - cm.Vj(POINTS)).reduce(op, axis=1, **k),
}


@pytest.mark.parametrize("use", USES)
def test_operators_that_break_a_law_are_refused_before_anything_runs(
    use: str, context: cm.Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With this identity a sum was 3,355 sequentially and 16,055 in parallel."""

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("something was launched")

    monkeypatch.setattr(type(context.queue), "launch", refuse)
    with pytest.raises(cm.FormulaError, match=r"100\.0 is not its identity, combine\(identity, identity\) is 200\.0"):
        USES[use](cm.Operator(lambda a, b: a + b, 100.0), context=context)
    with pytest.raises(cm.FormulaError, match=r"is not associative: .*; check=False leaves this check out"):
        USES[use](cm.Operator(lambda a, b: a + b + (a * b) ** 2, 0), context=context)
    with pytest.raises(cm.FormulaError, match=r"does not commute: .*; pass commutative=False"):
        USES[use](cm.Operator(lambda a, b: cm.where(b == 0, a, b), 0), context=context)


def test_unchecked_operators_run(context: cm.Context, mode: str) -> None:
    """The largest sum of neighbours: 0 for nothing holds for what single values make, and not for any four numbers."""

    def merge(a: Any, b: Any) -> dict[str, Any]:
        return {
            "sum": a["sum"] + b["sum"],
            "head": cm.math.maximum(a["head"], a["sum"] + b["head"]),
            "tail": cm.math.maximum(b["tail"], b["sum"] + a["tail"]),
            "best": cm.math.maximum(cm.math.maximum(a["best"], b["best"]), a["tail"] + b["head"]),
        }

    x = np.array([3, -5, 4, -1, 2, 1, -6, 5], np.int32)
    ready = cm.Map(lambda v: {"sum": v, **{name: cm.math.maximum(v, 0) for name in ("head", "tail", "best")}})
    with pytest.raises(cm.FormulaError, match="is not its identity"):
        (ready >> cm.Reduce(cm.Operator(merge, (0, 0, 0, 0), commutative=False)))(x, context=context, mode=mode)
    op = cm.Operator(merge, (0, 0, 0, 0), commutative=False, check=False)
    assert (ready >> cm.Reduce(op))(x, context=context, mode=mode)["best"] == 6
