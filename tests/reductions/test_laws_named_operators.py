"""Every named operator as a monoid, through its NumPy twin: identity, associativity, and NumPy's own result."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from support.operator_twin import PAIR, assert_close, numpys, sample, twin

from clmapreduce.errors import DTypeError, ModeError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.node import Apply, Symbol
from clmapreduce.reductions import ALIASES, NAMED, operator
from clmapreduce.reductions.sum import widened

REAL = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
DTYPES_OF = {
    "sum": [*REAL, "c8", "c16"], "product": [*REAL, "c8", "c16"], "minimum": REAL, "maximum": REAL,
    "any": [*REAL, "c8", "c16"], "all": [*REAL, "c8", "c16"], "argmin": REAL, "argmax": REAL, "logsumexp": REAL,
    "mean": [*REAL, "c8", "c16"], "var": REAL, "std": REAL, "norm": [*REAL, "c8", "c16"],
}  # fmt: skip
CASES = [(name, code) for name, codes in DTYPES_OF.items() for code in codes]


# --------------------------------------------------------------------------------------------------- named operators
@pytest.mark.parametrize(("name", "code"), CASES)
def test_a_reduction_is_numpys(name: str, code: str) -> None:
    for count in (1, 2, 3, 12):
        values = sample(code, count)
        result = twin(name, code).reduce(values)
        assert_close(result, numpys(name, values))


@pytest.mark.parametrize(("name", "code"), CASES)
def test_the_result_dtype_is_numpys(name: str, code: str) -> None:
    values = sample(code, 3)
    bound_operator = twin(name, code).bound
    if name == "logsumexp":
        expected = {"f": np.dtype(code)}.get(values.dtype.kind, np.dtype("f4" if values.itemsize <= 2 else "f8"))
    elif name in ("sum", "product"):
        expected = np.sum(values).dtype
    elif name in ("var", "std") and values.dtype.kind in "biu":
        expected = np.dtype("f4" if values.itemsize <= 2 else "f8")
    elif name in ("mean", "var", "std", "norm"):
        expected = np.asarray(getattr(np.linalg if name == "norm" else np, name)(values)).dtype
    else:
        expected = numpys(name, values).dtype
    assert bound_operator.result == expected
    assert twin(name, code).reduce(values).dtype == expected


@pytest.mark.parametrize(("name", "code"), CASES)
def test_the_identity_changes_nothing(name: str, code: str) -> None:
    reduction = twin(name, code)
    for k, single in enumerate(reduction.singles(sample(code, 6))):
        acc = np.array([single], reduction.bound.layout)
        for both in (reduction.merge(acc, reduction.identity()), reduction.merge(reduction.identity(), acc)):
            assert_close(reduction.finish(both), reduction.finish(acc), 1)
        if name.startswith("arg"):
            assert reduction.finish(acc) == k


@pytest.mark.parametrize(("name", "code"), CASES)
def test_merging_is_associative_and_commutative(name: str, code: str) -> None:
    reduction = twin(name, code)
    assert reduction.bound.commutative
    singles = reduction.singles(sample(code, 7))
    for a, b, c in itertools.combinations(singles, 3):
        a, b, c = (np.array([x], reduction.bound.layout) for x in (a, b, c))
        left, right = reduction.merge(reduction.merge(a, b), c), reduction.merge(a, reduction.merge(b, c))
        assert_close(reduction.finish(left), reduction.finish(right), 4)
        assert_close(reduction.finish(reduction.merge(a, b)), reduction.finish(reduction.merge(b, a)), 1)


@pytest.mark.parametrize(("name", "code"), CASES)
def test_absorbing_several_values_is_absorbing_one_after_another(name: str, code: str) -> None:
    reduction = twin(name, code)
    values = sample(code, 5)
    begin = reduction.absorb(reduction.identity(), [values[:1]], [0])
    at_once = reduction.absorb(begin, [values[k : k + 1] for k in range(1, 5)], [1, 2, 3, 4])
    one_by_one = begin
    for k in range(1, 5):
        one_by_one = reduction.absorb(one_by_one, [values[k : k + 1]], [k])
    assert_close(reduction.finish(at_once), reduction.finish(one_by_one))
    assert_close(reduction.finish(at_once), numpys(name, values))


@pytest.mark.parametrize("name", NAMED)
def test_an_empty_reduction_is_the_identity(name: str) -> None:
    reduction = twin(name, "f4")
    if name.startswith("arg"):
        assert not reduction.bound.has_identity
        return
    expected = {"sum": 0, "product": 1, "minimum": np.inf, "maximum": -np.inf, "any": False, "all": True,
              "logsumexp": -np.inf, "mean": np.nan, "var": np.nan, "std": np.nan, "norm": 0}[name]  # fmt: skip
    with np.errstate(invalid="ignore"):
        np.testing.assert_equal(reduction.finish(reduction.identity()), expected)


@pytest.mark.parametrize("name", ["minimum", "maximum", "argmin", "argmax", "logsumexp", "var", "std"])
@pytest.mark.parametrize("code", ["c8", PAIR])
def test_what_has_no_order_is_refused(name: str, code: Any) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: values of dtype "):
        twin(name, code)


@pytest.mark.parametrize("name", ["sum", "product", "any", "all", "mean", "norm"])
def test_records_are_refused_by_named_operators(name: str) -> None:
    with pytest.raises(DTypeError, match=f"^{name}: values of dtype .* are records"):
        twin(name, PAIR)


def test_unknown_names_are_refused() -> None:
    with pytest.raises(ModeError, match=r"operator 'median' is unknown; use one of sum, product, .*, or a cm.Operator"):
        operator("median")
    for odd in (3, None, ["sum"], np.ones(2)):
        with pytest.raises(ModeError, match="is unknown"):
            operator(odd)
    assert operator(NAMED["sum"]) is NAMED["sum"]


def test_aliases_are_the_operators_that_they_name() -> None:
    for other, name in ALIASES.items():
        assert operator(other) is NAMED[name]
    assert operator(np.add) is operator("add") is operator(sum) is NAMED["sum"]
    assert operator(max) is operator("max") is operator(np.maximum) is NAMED["maximum"]
    assert operator(np.max) is operator(np.amax) is NAMED["maximum"] and operator(np.min) is NAMED["minimum"]
    assert operator(np.sum) is NAMED["sum"] and operator(np.prod) is NAMED["product"]
    assert [operator(f).name for f in (np.any, np.all, np.argmin, np.argmax)] == ["any", "all", "argmin", "argmax"]
    assert [operator(f).name for f in (np.mean, np.var, np.std, np.linalg.norm)] == ["mean", "var", "std", "norm"]
    with pytest.raises(ModeError, match=r"cm\.segmented_median"):
        operator("median")


def test_a_function_of_two_values_is_refused_with_a_hint() -> None:
    for function in (lambda a, b: a + b, np.hypot):
        with pytest.raises(ModeError, match=r"without an identity; give one: cm.Operator\(function, identity\)"):
            operator(function)


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
def test_sums_accumulate_as_the_option_says(code: str, accumulate: str, fp64: bool, components: list[str]) -> None:
    bound_operator = twin("sum", code, accumulate, fp64).bound
    assert [c.dtype for c in bound_operator.components] == [np.dtype(c) for c in components]
    assert (bound_operator.chain is None) == (len(components) == 1)


@pytest.mark.parametrize("fp64", [True, False])
def test_small_integers_do_not_overflow(fp64: bool) -> None:
    assert twin("sum", "i1", fp64=fp64).reduce(np.full(100, 127, np.int8)) == 12700
    assert twin("product", "u1", fp64=fp64).reduce(np.full(4, 255, np.uint8)) == 255**4
    assert twin("sum", "?", fp64=fp64).reduce(np.ones(300, bool)) == 300


def test_a_compensated_sum_loses_nothing_of_what_it_absorbed() -> None:
    reduction = twin("sum", "f4", "compensated")
    values = [np.float32(x) for x in (1e8, 1.0, -1e8, 1e-3, 3.5, -1.0)]
    acc = reduction.identity()
    for value in values:
        acc = reduction.absorb(acc, [np.array([value])])
    assert reduction.finish(acc) == np.float32(math.fsum(map(float, values)))
    assert twin("sum", "f4", "fast").reduce(np.array(values)) != reduction.finish(acc)


@pytest.mark.parametrize("accumulate", ["auto", "fast", "compensated", "double"])
@pytest.mark.parametrize(
    "values",
    [[1, np.inf], [-np.inf, 1, 2], [np.inf, -np.inf], [np.nan, 1], [np.inf, np.inf], [3e38, 3e38], [np.nan, np.inf]],
)
def test_infinite_and_undefined_sums_are_numpys(accumulate: str, values: list[float]) -> None:
    data = np.array(values, np.float32)
    reduction = twin("sum", "f4", accumulate)
    acc = reduction.identity()
    for k in range(len(data)):
        acc = reduction.absorb(acc, [data[k : k + 1]])
    with np.errstate(all="ignore"):
        expected = np.sum(data)
    np.testing.assert_equal(reduction.finish(acc), expected)
    np.testing.assert_equal(reduction.reduce(data), expected)


def test_a_product_of_floats_is_formed_where_it_is_exact() -> None:
    x, y = Symbol("x", np.dtype("f4")), Symbol("y", np.dtype("f4"))
    product = widened(x * y, np.dtype("f8"))
    assert isinstance(product, Apply) and product.function.name == "multiply"
    assert [arg.dtype for arg in product.args] == [np.float64] * 2
    a, b = np.float32(1 + 2**-20), np.float32(1 - 2**-20)
    assert evaluate(product, {x: a, y: b}) == float(a) * float(b)
    assert widened(x + y, np.dtype("f8")).dtype == np.float64


@pytest.mark.parametrize(("name", "code"), [(n, c) for n in ("sum", "minimum", "maximum") for c in REAL[1:]])
def test_a_closed_form_is_as_many_combinations(name: str, code: str) -> None:
    bound_operator = twin(name, code).bound
    base, count = Symbol("base", np.dtype(code)), Symbol("count", np.dtype("i8"))
    formula = bound_operator.unfolded(base, count)
    assert formula is not None
    value = np.asarray(2, code)[()]
    for n in (1, 2, 5):
        assert evaluate(formula, {base: value, count: np.int64(n)}) == twin(name, code).reduce(np.repeat(value, n))
