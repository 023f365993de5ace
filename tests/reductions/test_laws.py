"""Every operator as a monoid, through its NumPy twin: identity, associativity, and NumPy's own result."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from clmapreduce.dtypes import is_aligned
from clmapreduce.errors import DTypeError, FormulaError, ModeError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, Record, Symbol, components, rebuild
from clmapreduce.formula.source import SOURCE_MARK, c_source
from clmapreduce.primitives.host import finished, merged
from clmapreduce.primitives.reduce import fitted
from clmapreduce.reductions import NAMED, Bound, Operator, operator
from clmapreduce.reductions.base import OneByOne
from clmapreduce.reductions.segment import SPREADS
from clmapreduce.reductions.sum import widened

REAL = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
ACCEPTED = {
    "sum": [*REAL, "c8", "c16"], "product": [*REAL, "c8", "c16"], "minimum": REAL, "maximum": REAL,
    "any": [*REAL, "c8", "c16"], "all": [*REAL, "c8", "c16"], "argmin": REAL, "argmax": REAL, "logsumexp": REAL,
}  # fmt: skip
CASES = [(name, code) for name, codes in ACCEPTED.items() for code in codes]
PAIR = np.dtype([("a", "i8"), ("b", "i8")])


# ------------------------------------------------------------------------------------------------ an operator in NumPy
class Twin:
    """A bound operator computed on structured arrays of accumulators."""

    def __init__(self, bound: Bound) -> None:
        self.bound = bound

    def identity(self, count: int = 1) -> Any:
        return np.array([tuple(c.identity for c in self.bound.components)] * count, self.bound.layout)

    def absorb(self, acc: Any, values: Sequence[Any], places: Sequence[int] | None = None) -> Any:
        """One value per accumulator for each array in `values`, in order."""
        symbols = self._symbols()
        inputs = [self._value(f"v{k}") for k in range(len(values))]
        indices = [Symbol(f"i{k}", np.dtype("i8")) for k in range(len(values))]
        result = self.bound.absorb(symbols, inputs, indices)
        known = self._known(symbols, acc)
        for symbol, array in zip(inputs, values, strict=True):
            known |= {n: array[name] if name else array for name, n in components(symbol).items()}
        known |= dict(zip(indices, places if places is not None else range(len(values)), strict=True))
        return self._stored(result, known, len(acc))

    def merge(self, a: Any, b: Any) -> Any:
        left, right = self._symbols(), self._symbols()
        return self._stored(self.bound.merge(left, right), self._known(left, a) | self._known(right, b), len(a))

    def singles(self, values: Any) -> Any:
        """One accumulator per value."""
        parts = [self.absorb(self.identity(), [values[k : k + 1]], [k]) for k in range(len(values))]
        return np.concatenate([self.identity()[:0], *parts])

    def reduced(self, values: Any) -> Any:
        return finished(self.bound, merged(self.bound, self.singles(values)))[()]

    def finish(self, acc: Any) -> Any:
        return finished(self.bound, acc)[()]

    def results(self, acc: Any) -> Any:
        """The result of each of several accumulators."""
        symbols = self._symbols()
        node = self.bound.finish(symbols)
        assert isinstance(node, Node)
        return evaluate(node, self._known(symbols, acc))

    def _symbols(self) -> Record:
        return Record({c.name: Symbol(c.name, c.dtype) for c in self.bound.components})

    def _value(self, name: str) -> Any:
        dtype = self.bound.value
        return rebuild({part: Symbol(name, dtype[part] if part else dtype) for part in dtype.names or ("",)})

    def _known(self, symbols: Record, acc: Any) -> dict[Node, Any]:
        return {node: acc[name] for name, node in symbols.items()}

    def _stored(self, result: Record, known: dict[Node, Any], count: int) -> Any:
        stored = np.empty(count, self.bound.layout)
        for name, node in result.items():
            stored[name] = evaluate(node, known)
        return stored


def twin(name: str | Operator, code: Any, accumulate: Any = "auto", fp64: bool = True) -> Twin:
    return Twin(operator(name).bind(np.dtype(code), accumulate, fp64))


def sample(code: str, count: int, seed: int = 1) -> Any:
    """Values of both signs, some equal, some zero; products of 12 of them stay in range."""
    numbers = np.random.default_rng(seed)
    dtype = np.dtype(code)
    if dtype.kind == "b":
        return numbers.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        return numbers.integers(0 if dtype.kind == "u" else -3, 4, count).astype(dtype)
    real = numbers.normal(size=count).round(2)
    return (real + 1j * numbers.normal(size=count)).astype(dtype) if dtype.kind == "c" else real.astype(dtype)


def numpys(name: str, values: Any) -> Any:
    """NumPy's own result, in a wider dtype where it computes narrowly."""
    if name == "logsumexp":
        with np.errstate(all="ignore"):
            return np.logaddexp.reduce(values.astype(np.float64))
    own = {"sum": np.sum, "product": np.prod, "minimum": np.min, "maximum": np.max}.get(name) or getattr(np, name)
    wide = {"f": np.float64, "c": np.complex128}.get(values.dtype.kind) if name in ("sum", "product") else None
    return own(values, dtype=wide) if wide else own(values)


def assert_close(given: Any, wanted: Any, terms: int = 16) -> None:
    """Equal; floats to the rounding of as many operations in their own dtype."""
    given, wanted = np.asarray(given), np.asarray(wanted)
    if given.dtype.kind in "fc":
        eps = np.finfo(given.dtype).eps
        np.testing.assert_allclose(given, wanted.astype(given.dtype), rtol=terms * eps, atol=terms * eps)
    else:
        np.testing.assert_array_equal(given, wanted)


# --------------------------------------------------------------------------------------------------- named operators
@pytest.mark.parametrize(("name", "code"), CASES)
def test_a_reduction_is_numpys(name: str, code: str) -> None:
    for count in (1, 2, 3, 12):
        values = sample(code, count)
        given = twin(name, code).reduced(values)
        assert_close(given, numpys(name, values))


@pytest.mark.parametrize(("name", "code"), CASES)
def test_the_result_dtype_is_numpys(name: str, code: str) -> None:
    values = sample(code, 3)
    bound = twin(name, code).bound
    if name == "logsumexp":
        wanted = {"f": np.dtype(code)}.get(values.dtype.kind, np.dtype("f4" if values.itemsize <= 2 else "f8"))
    elif name in ("sum", "product"):
        wanted = np.sum(values).dtype
    else:
        wanted = numpys(name, values).dtype
    assert bound.result == wanted
    assert twin(name, code).reduced(values).dtype == wanted


@pytest.mark.parametrize(("name", "code"), CASES)
def test_the_identity_changes_nothing(name: str, code: str) -> None:
    made = twin(name, code)
    for k, single in enumerate(made.singles(sample(code, 6))):
        acc = np.array([single], made.bound.layout)
        for both in (made.merge(acc, made.identity()), made.merge(made.identity(), acc)):
            assert_close(made.finish(both), made.finish(acc), 1)
        if name.startswith("arg"):
            assert made.finish(acc) == k


@pytest.mark.parametrize(("name", "code"), CASES)
def test_merging_is_associative_and_commutative(name: str, code: str) -> None:
    made = twin(name, code)
    assert made.bound.commutative
    singles = made.singles(sample(code, 7))
    for a, b, c in itertools.combinations(singles, 3):
        a, b, c = (np.array([x], made.bound.layout) for x in (a, b, c))
        left, right = made.merge(made.merge(a, b), c), made.merge(a, made.merge(b, c))
        assert_close(made.finish(left), made.finish(right), 4)
        assert_close(made.finish(made.merge(a, b)), made.finish(made.merge(b, a)), 1)


@pytest.mark.parametrize(("name", "code"), CASES)
def test_absorbing_several_values_is_absorbing_one_after_another(name: str, code: str) -> None:
    made = twin(name, code)
    values = sample(code, 5)
    begin = made.absorb(made.identity(), [values[:1]], [0])
    at_once = made.absorb(begin, [values[k : k + 1] for k in range(1, 5)], [1, 2, 3, 4])
    one_by_one = begin
    for k in range(1, 5):
        one_by_one = made.absorb(one_by_one, [values[k : k + 1]], [k])
    assert_close(made.finish(at_once), made.finish(one_by_one))
    assert_close(made.finish(at_once), numpys(name, values))


@pytest.mark.parametrize("name", NAMED)
def test_an_empty_reduction_is_the_identity(name: str) -> None:
    made = twin(name, "f4")
    if name.startswith("arg"):
        assert not made.bound.has_identity
        return
    wanted = {"sum": 0, "product": 1, "minimum": np.inf, "maximum": -np.inf, "any": False, "all": True,
              "logsumexp": -np.inf}[name]  # fmt: skip
    assert made.finish(made.identity()) == wanted


@pytest.mark.parametrize("name", ["minimum", "maximum", "argmin", "argmax", "logsumexp"])
@pytest.mark.parametrize("code", ["c8", PAIR])
def test_what_has_no_order_is_refused(name: str, code: Any) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: values of dtype "):
        twin(name, code)


@pytest.mark.parametrize("name", ["sum", "product", "any", "all"])
def test_records_are_refused_by_named_operators(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: values of dtype .* are records"):
        twin(name, PAIR)


def test_names_are_known_or_told() -> None:
    with pytest.raises(ModeError, match=r"operator 'mean' is unknown; use one of sum, product, .*, or a cm.Operator"):
        operator("mean")
    assert operator(NAMED["sum"]) is NAMED["sum"]


# ------------------------------------------------------------------------------------------------------ sum, product
@pytest.mark.parametrize(
    ("code", "accumulate", "fp64", "components"),
    [
        ("f4", "auto", True, ["f8"]), ("f4", "double", True, ["f8"]), ("f4", "fast", True, ["f4"]),
        ("f4", "compensated", True, ["f4", "f4"]), ("f4", "auto", False, ["f4", "f4"]), ("f4", "fast", False, ["f4"]),
        ("f2", "auto", True, ["f8"]), ("f2", "fast", True, ["f4"]), ("f8", "compensated", True, ["f8", "f8"]),
        ("c8", "auto", True, ["c16"]), ("c8", "auto", False, ["c8"]), ("c8", "compensated", True, ["c8"]),
        ("i1", "auto", True, ["i8"]), ("u2", "compensated", True, ["u8"]), ("?", "fast", False, ["i8"]),
    ],
)  # fmt: skip
def test_sums_accumulate_as_asked(code: str, accumulate: str, fp64: bool, components: list[str]) -> None:
    bound = twin("sum", code, accumulate, fp64).bound
    assert [c.dtype for c in bound.components] == [np.dtype(c) for c in components]
    assert (bound.chain is None) == (len(components) == 1)


@pytest.mark.parametrize("fp64", [True, False])
def test_small_integers_do_not_overflow(fp64: bool) -> None:
    assert twin("sum", "i1", fp64=fp64).reduced(np.full(100, 127, np.int8)) == 12700
    assert twin("product", "u1", fp64=fp64).reduced(np.full(4, 255, np.uint8)) == 255**4
    assert twin("sum", "?", fp64=fp64).reduced(np.ones(300, bool)) == 300


def test_a_compensated_sum_loses_nothing_of_what_it_absorbed() -> None:
    made = twin("sum", "f4", "compensated")
    values = [np.float32(x) for x in (1e8, 1.0, -1e8, 1e-3, 3.5, -1.0)]
    acc = made.identity()
    for value in values:
        acc = made.absorb(acc, [np.array([value])])
    assert made.finish(acc) == np.float32(math.fsum(map(float, values)))
    assert twin("sum", "f4", "fast").reduced(np.array(values)) != made.finish(acc)


@pytest.mark.parametrize("accumulate", ["auto", "fast", "compensated", "double"])
@pytest.mark.parametrize(
    "values",
    [[1, np.inf], [-np.inf, 1, 2], [np.inf, -np.inf], [np.nan, 1], [np.inf, np.inf], [3e38, 3e38], [np.nan, np.inf]],
)
def test_infinite_and_undefined_sums_are_numpys(accumulate: str, values: list[float]) -> None:
    data = np.array(values, np.float32)
    made = twin("sum", "f4", accumulate)
    acc = made.identity()
    for k in range(len(data)):
        acc = made.absorb(acc, [data[k : k + 1]])
    with np.errstate(all="ignore"):
        wanted = np.sum(data)
    np.testing.assert_equal(made.finish(acc), wanted)
    np.testing.assert_equal(made.reduced(data), wanted)


def test_a_product_of_floats_is_formed_where_it_is_exact() -> None:
    x, y = Symbol("x", np.dtype("f4")), Symbol("y", np.dtype("f4"))
    made = widened(x * y, np.dtype("f8"))
    assert isinstance(made, Apply) and made.function.name == "multiply"
    assert [arg.dtype for arg in made.args] == [np.float64] * 2
    a, b = np.float32(1 + 2**-20), np.float32(1 - 2**-20)
    assert evaluate(made, {x: a, y: b}) == float(a) * float(b)
    assert widened(x + y, np.dtype("f8")).dtype == np.float64


@pytest.mark.parametrize(("name", "code"), [(n, c) for n in ("sum", "minimum", "maximum") for c in REAL[1:]])
def test_a_closed_form_is_as_many_combinations(name: str, code: str) -> None:
    bound = twin(name, code).bound
    base, count = Symbol("base", np.dtype(code)), Symbol("count", np.dtype("i8"))
    closed = bound.unfolded(base, count)
    assert closed is not None
    value = np.asarray(2, code)[()]
    for n in (1, 2, 5):
        assert evaluate(closed, {base: value, count: np.int64(n)}) == twin(name, code).reduced(np.repeat(value, n))


# ------------------------------------------------------------------------------------------------------------ NaN, inf
SPECIAL = [0.0, -0.0, 1.5, -2.0, np.inf, -np.inf, np.nan]


def every(values: Sequence[Any], repeat: int, code: str) -> Any:
    """(cases, repeat): every choice of that many values."""
    return np.array(list(itertools.product(values, repeat=repeat)), code)


def in_order(made: Twin, data: Any, order: Sequence[int]) -> Any:
    """The results for each row, its values absorbed one each and merged in this order."""
    count = len(data)
    singles = [made.absorb(made.identity(count), [data[:, k]], [k]) for k in range(data.shape[1])]
    acc = singles[order[0]]
    for k in order[1:]:
        acc = made.merge(acc, singles[k])
    return made.results(acc)


@pytest.mark.parametrize("name", ["minimum", "maximum", "argmin", "argmax", "any", "all"])
@pytest.mark.parametrize("code", ["f2", "f4", "f8"])
def test_nan_and_infinities_are_numpys(name: str, code: str) -> None:
    data = every(SPECIAL, 3, code)
    wanted = [numpys(name, row) for row in data]
    for order in itertools.permutations(range(3)):
        np.testing.assert_array_equal(in_order(twin(name, code), data, order), wanted)


@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize("code", ["i1", "u1", "i8", "u8", "?", "f4"])
def test_the_lowest_place_of_equals_wins_also_at_the_ends_of_a_dtype(name: str, code: str) -> None:
    dtype = np.dtype(code)
    if dtype.kind in "iu":
        ends = [np.iinfo(dtype).min, np.iinfo(dtype).max, 3]
    else:
        ends = [False, True] if dtype.kind == "b" else [-np.inf, np.inf, 3]
    data = every(ends, 4, code)
    wanted = [numpys(name, row) for row in data]
    for order in itertools.permutations(range(4)):
        np.testing.assert_array_equal(in_order(twin(name, code), data, order), wanted)


@pytest.mark.parametrize("code", ["f2", "f4", "f8", "i1", "i4"])
def test_logsumexp_is_numpys_logaddexp(code: str) -> None:
    dtype = np.dtype(code)
    numbers = np.random.default_rng(3)
    top = 100 if dtype.kind == "i" or dtype.itemsize == 2 else 5000
    for count in (1, 2, 9, 40):
        data = numbers.uniform(-top, top, count).astype(dtype)
        made = twin("logsumexp", code)
        assert_close(made.reduced(data), numpys("logsumexp", data))
        at_once = made.absorb(made.identity(), [data[k : k + 1] for k in range(count)])
        assert_close(made.finish(at_once), numpys("logsumexp", data))


@pytest.mark.parametrize(("code", "fp64"), [("f2", True), ("f2", False), ("f4", True), ("f4", False), ("f8", True)])
def test_logsumexp_of_infinities_nan_and_the_ends_of_the_dtype(code: str, fp64: bool) -> None:
    low, high = float(np.finfo(code).min), float(np.finfo(code).max)
    made, data = twin("logsumexp", code, fp64=fp64), every([*SPECIAL, low, high], 3, code)
    wanted = np.array([numpys("logsumexp", row) for row in data])
    at_once = made.results(made.absorb(made.identity(len(data)), [data[:, k] for k in range(3)]))
    for found in (at_once, in_order(made, data, (0, 1, 2)), in_order(made, data, (2, 0, 1))):
        with np.errstate(over="ignore"):
            assert_close(found, wanted)


def test_logsumexp_ignores_where_the_largest_stands() -> None:
    data = np.array([-1000.0, 0.0, 1000.0, 999.5, -np.inf], np.float64)
    for order in itertools.permutations(range(5)):
        assert_close(twin("logsumexp", "f8").reduced(data[list(order)]), numpys("logsumexp", data), 4)


@given(st.lists(st.floats(-1e4, 1e4, width=32), min_size=1, max_size=20), st.randoms())
@settings(deadline=None)
def test_any_tree_of_merges_gives_the_same(values: list[float], rnd: Any) -> None:
    data = np.array(values, np.float32)
    for name in ("sum", "minimum", "argmax", "logsumexp"):
        made = twin(name, "f4")
        parts = [np.array([single], made.bound.layout) for single in made.singles(data)]
        while len(parts) > 1:
            k = rnd.randrange(len(parts) - 1)
            parts[k : k + 2] = [made.merge(parts[k], parts[k + 1])]
        if name == "sum":
            np.testing.assert_allclose(
                made.finish(parts[0]), numpys(name, data), rtol=1e-6, atol=1e-6 * np.abs(data).max()
            )
        else:
            assert_close(made.finish(parts[0]), numpys(name, data))


# --------------------------------------------------------------------------------------------------- users' operators
MATRIX = np.dtype([("p", "i8"), ("q", "i8"), ("r", "i8"), ("s", "i8")])
MEAN = np.dtype([("count", "i4"), ("mean", "f8"), ("spread", "f8")])


def matrices(a: Record, b: Record) -> dict[str, Node]:
    return {
        "p": a["p"] * b["p"] + a["q"] * b["r"], "q": a["p"] * b["q"] + a["q"] * b["s"],
        "r": a["r"] * b["p"] + a["s"] * b["r"], "s": a["r"] * b["q"] + a["s"] * b["s"],
    }  # fmt: skip


def moments(a: Record, b: Record) -> dict[str, Node]:
    """Chan's merge of counts, means and sums of squared distances from the mean."""
    count = a["count"] + b["count"]
    part = b["count"] / apply("maximum", count, 1)
    apart = b["mean"] - a["mean"]
    return {
        "count": count,
        "mean": a["mean"] + apart * part,
        "spread": a["spread"] + b["spread"] + apart**2 * a["count"] * part,
    }


def test_matrix_products_keep_their_order() -> None:
    made = twin(Operator(matrices, (1, 0, 0, 1), MATRIX, commutative=False), MATRIX)
    assert not made.bound.commutative and not made.bound.vectorisable
    numbers = np.random.default_rng(5)
    data = np.zeros(9, MATRIX)
    for field in "pqrs":
        data[field] = numbers.integers(-2, 3, 9)
    product = np.eye(2, dtype=int)
    for row in data:
        product = product @ np.array([[row["p"], row["q"]], [row["r"], row["s"]]])
    given = made.reduced(data)
    assert [given[f] for f in "pqrs"] == product.reshape(-1).tolist()
    acc = made.singles(data[:3])
    left = made.merge(made.merge(acc[:1], acc[1:2]), acc[2:])
    assert left == made.merge(acc[:1], made.merge(acc[1:2], acc[2:]))
    for both in (made.merge(acc[:1], made.identity()), made.merge(made.identity(), acc[:1])):
        assert both == acc[:1]


def test_mean_and_variance_in_one_pass() -> None:
    made = twin(Operator(moments, (0, 0, 0), MEAN), MEAN)
    numbers = np.random.default_rng(6).normal(3, 2, 50)
    data = np.zeros(50, MEAN)
    data["count"], data["mean"] = 1, numbers
    given = made.reduced(data)
    assert given["count"] == 50
    assert given["mean"] == pytest.approx(numbers.mean())
    assert given["spread"] == pytest.approx(numbers.var() * 50)


@pytest.mark.parametrize("name", ["var", "std"])
def test_spreads_of_a_value_that_is_merged_with_nothing(name: str) -> None:
    """As segments of one value may be: 0, and NaN of what is infinite or no number."""
    bound = SPREADS[name].bind(np.dtype("f4"), "auto", True)
    assert isinstance(bound, OneByOne)
    value = Symbol("value", bound.value)
    result = bound.finish(bound.single(value, Symbol("at", np.dtype("i8"))))
    assert isinstance(result, Node)
    with np.errstate(invalid="ignore"):
        given = evaluate(result, {value: np.array([3, np.inf, -np.inf, np.nan], "f4")})
    np.testing.assert_array_equal(given, [0, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("code", ["?", "i1", "u8", "f4", "c8"])
def test_plain_operators_compute_in_the_values_dtype(code: str) -> None:
    made = twin(Operator(lambda a, b: a ^ b if code in ("?", "i1", "u8") else a + b, 0), code)
    values = sample(code, 8)
    if code in ("?", "i1", "u8"):
        assert made.reduced(values) == np.bitwise_xor.reduce(values)
    else:
        assert_close(made.reduced(values), values.sum())
    assert made.bound.result == np.dtype(code)


def test_an_operators_own_dtype_is_what_values_become() -> None:
    bound = twin(Operator(lambda a, b: a * b, 1, dtype="f8"), "f4").bound
    assert bound.value == bound.result == np.float64
    for code, wanted in (("f4", "i4"), ("c8", "f4"), ("i4", "u4")):
        with pytest.raises(DTypeError, match=r"cannot become .* without loss; cast them first"):
            twin(Operator(lambda a, b: a + b, 0, dtype=wanted), code)


def test_an_operators_own_dtype_is_aligned_as_kernels_need_it() -> None:
    packed = np.dtype([("n", "u1"), ("m", "f8", (2, 2)), ("z", "c8")])
    op = Operator(lambda a, b: {"n": a["n"] + b["n"], "m": a["m"] @ b["m"], "z": a["z"] * b["z"]}, (0, np.eye(2), 1), packed, False)
    bound = op.bind(packed, "auto", True)
    assert [bound.result.fields[name] for name in "nmz"] == [(packed["n"], 0), (packed["m"], 8), (packed["z"], 40)]
    assert is_aligned(bound.result) and bound.value == bound.result


def test_values_are_converted_to_the_operators_dtype_field_by_field() -> None:
    wide = np.dtype([("a", "f8"), ("b", "i8")])
    narrow = np.dtype([("a", "f4"), ("b", "i2")])
    op = Operator(lambda x, y: {"a": x["a"] + y["a"], "b": x["b"] * y["b"]}, (0, 1), wide)
    record = Record(a=Symbol("a", narrow["a"]), b=Symbol("b", narrow["b"]))
    formula = Formula((Input("x", narrow, record),), (record,))
    bound = op.bind(narrow, "auto", True)
    assert fitted(formula, bound) is formula, "a record's fields are converted as they are absorbed"
    acc = bound.absorb(Record({c.name: Symbol(c.name, c.dtype) for c in bound.components}), [record], [Symbol("i", np.dtype("i8"))])
    assert [node.dtype for node in acc.values()] == [np.float64, np.int64]

    with pytest.raises(DTypeError, match=r"cannot become .* without loss"):
        op.bind(np.dtype([("a", "f4"), ("b", "f4")]), "auto", True)

    plain = Symbol("x", np.dtype("f4"))
    formula = Formula((Input("x", plain.dtype, plain),), (plain,))
    assert fitted(formula, NAMED["sum"].bind(plain.dtype, "auto", True)) is formula
    made = fitted(formula, Operator(lambda x, y: x + y, 0, "f8").bind(plain.dtype, "auto", True))
    assert isinstance(made.outputs[0], Apply) and made.outputs[0].dtype == np.float64


def test_first_and_last_are_operators() -> None:
    ends = np.dtype([("first", "f4"), ("last", "f4"), ("any", "?")])

    def join(a: Record, b: Record) -> dict[str, Node]:
        return {
            "first": apply("where", a["any"], a["first"], b["first"]),
            "last": apply("where", b["any"], b["last"], a["last"]),
            "any": a["any"] | b["any"],
        }

    made = twin(Operator(join, (0, 0, False), ends, commutative=False), ends)
    data = np.array([(k, k, True) for k in range(1, 8)], ends)
    assert made.reduced(data).tolist() == (1.0, 7.0, True)
    assert [c.dtype for c in made.bound.components] == [np.float32, np.float32, np.uint8], "a bool is kept as a byte"


@pytest.mark.parametrize("names", [("float", "x y"), ("a); evil(", "*/"), ("total", "ä")])
def test_fields_may_have_any_name(names: tuple[str, str]) -> None:
    pair = np.dtype([(name, "i4") for name in names])
    first, second = names
    made = twin(Operator(lambda a, b: {first: a[first] + b[first], second: a[second] | b[second]}, (0, 0), pair), pair)
    assert made.reduced(np.array([(1, 1), (2, 4), (3, 8)], pair)).tolist() == (6, 13)
    assert all(c.name.isidentifier() and c.name.isascii() for c in made.bound.components)


@pytest.mark.parametrize(
    ("identity", "code"),
    [(300, "u1"), (-1, "u4"), (0.5, "i4"), (np.nan, "i8"), (2**63, "i8"), (1j, "f4"), ("0", "f4"), ([0, 0], "f4"),
     (None, "f4"), ({"a": 0}, "f4"), ((0, 0, 0), PAIR), ("ab", PAIR), ([(0, 0), (0, 0)], PAIR)],
)  # fmt: skip
def test_an_identity_that_is_no_value_is_refused(identity: Any, code: Any) -> None:
    op = Operator(lambda a, b: a, identity, name="mine")
    with pytest.raises(DTypeError, match=r"^operator mine: identity "):
        op.bind(np.dtype(code), "auto", True)


@pytest.mark.parametrize(
    ("combine", "code", "told"),
    [
        (lambda a, b: a / b, "i4", "a plain number comes out as float64, which int32 cannot hold without loss"),
        (lambda a, b: a + 0.5, "i4", "a plain number comes out as float64"),
        (lambda a, b: 2.5, "i4", "a plain number 2.5 does not fit int32 values"),
        (lambda a, b: 300, "u1", "a plain number 300 does not fit uint8 values"),
        (lambda a, b: a * 1j, "f4", "comes out as complex64"),
        (lambda a, b: {"x": a}, "f4", "gives 'x'; its values are a plain number"),
        (lambda a, b: {"a": a["a"]}, PAIR, "gives 'a'; its values are 'a', 'b'"),
        (lambda a, b: a["a"], PAIR, "gives a plain number; its values are 'a', 'b'"),
        (lambda a, b: {"a": a["a"], "b": 0.5}, PAIR, "'b' 0.5 does not fit int64 values"),
    ],
)
def test_a_combine_that_gives_something_else_is_refused_when_it_is_bound(combine: Any, code: Any, told: str) -> None:
    identity = (0, 0) if code is PAIR else 0
    with pytest.raises(DTypeError) as caught:
        Operator(combine, identity, name="mine").bind(np.dtype(code), "auto", True)
    assert str(caught.value).startswith("operator mine") and told in str(caught.value)


def test_a_combine_that_gives_something_narrower_or_constant_is_fine() -> None:
    assert twin(Operator(lambda a, b: (a > b).astype("i1"), 0, check=False), "f8").reduced(np.array([3.0, 1.0])) in (0.0, 1.0)
    assert twin(Operator(lambda a, b: 1, 0, check=False), "f4").reduced(np.array([3.0, 1.0], np.float32)) == 1.0
    assert twin(Operator(lambda a, b: a < b, 0, check=False), "i4").bound.result == np.int32


def test_a_combine_must_take_two_values() -> None:
    for combine in (lambda a: a, lambda: 0, lambda a, b, c: a):
        with pytest.raises(FormulaError, match=r"combine takes \(.*\), 2 argument\(s\) given"):
            Operator(combine, 0)
    with pytest.raises(FormulaError, match="combine must be a function of two values, not 'sum'"):
        Operator("sum", 0)  # type: ignore[arg-type]
    with pytest.raises(FormulaError, match="has no truth value"):
        Operator(lambda a, b: a if a > b else b, 0).bind(np.dtype("f4"), "auto", True)
    with pytest.raises(FormulaError, match="no field 'z'"):
        Operator(lambda a, b: {"a": a["z"], "b": b["b"]}, (0, 0)).bind(PAIR, "auto", True)


def test_accumulate_is_for_sums() -> None:
    for accumulate in ("compensated", "double"):
        with pytest.raises(DTypeError, match="is for sums"):
            Operator(lambda a, b: a + b, 0).bind(np.dtype("f4"), accumulate, True)  # type: ignore[arg-type]


def test_an_operators_dtype_must_match_the_values() -> None:
    with pytest.raises(DTypeError, match=r"operator mine is for .*; values have float32"):
        Operator(lambda a, b: a, (0, 0), PAIR, name="mine").bind(np.dtype("f4"), "auto", True)
    with pytest.raises(DTypeError, match=r"^the operator has dtype"):
        Operator(lambda a, b: a, 0, dtype="U3")
    assert Operator(min, 0).name == "min"
    assert Operator(lambda a, b: a, 0).name == "operator"


# ---------------------------------------------------------------------------------------------------------- OpenCL C
def test_c_source_uses_both_values_and_needs_a_device() -> None:
    made = twin(Operator(c_source("fmax(a, b)"), -np.inf), "f4")
    with pytest.raises(FormulaError, match=r"c_source\('fmax\(a, b\)'\) cannot be computed on the host"):
        made.reduced(np.array([1.0, 2.0], np.float32))
    for text in ("a", "b + 1", "x", "alpha + beta", ""):
        with pytest.raises(FormulaError, match="must be an expression that uses both a and b"):
            c_source(text)
    with pytest.raises(FormulaError, match="combines plain numbers, not records"):
        Operator(c_source("a + b"), (0, 0)).bind(PAIR, "auto", True)


def test_c_source_names_are_whole_words_and_braces_are_kept() -> None:
    a, b = Symbol("a", np.dtype("f4")), Symbol("b", np.dtype("f4"))
    made = c_source("a + fabs(b) * abs_b + (float2){a, b}.x")(a, b)
    assert isinstance(made, Apply)
    text = made.function.spelling(np.dtype("f4"))
    assert text is not None
    assert text.format("p", "q") == f"(p + fabs(q) * abs_b + (float2){{p, q}}.x {SOURCE_MARK})"
    flag = c_source("a & b")(Symbol("a", np.dtype("?")), Symbol("b", np.dtype("?")))
    assert flag.dtype == np.bool_
    assert isinstance(flag, Apply) and flag.args[0].dtype == np.uint8, "bools meet as bytes"
