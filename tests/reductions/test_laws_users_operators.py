"""Users' operators through their NumPy twins: order, dtypes, fields, OpenCL C, and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.operator_twin import PAIR, assert_close, sample, twin

from clmapreduce.dtypes import is_aligned
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.formula import Formula, Input
from clmapreduce.formula.functions import apply
from clmapreduce.formula.node import Apply, Node, Record, Symbol
from clmapreduce.formula.text.source import SOURCE_MARK, c_source
from clmapreduce.primitives.operand import fitted
from clmapreduce.reductions import NAMED, Operator
from clmapreduce.reductions.user import fields

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
    reduction = twin(Operator(matrices, (1, 0, 0, 1), MATRIX, commutative=False), MATRIX)
    assert not reduction.bound.commutative and not reduction.bound.vectorisable
    numbers = np.random.default_rng(5)
    data = np.zeros(9, MATRIX)
    for field in "pqrs":
        data[field] = numbers.integers(-2, 3, 9)
    product = np.eye(2, dtype=int)
    for row in data:
        product = product @ np.array([[row["p"], row["q"]], [row["r"], row["s"]]])
    result = reduction.reduce(data)
    assert [result[f] for f in "pqrs"] == product.reshape(-1).tolist()
    acc = reduction.singles(data[:3])
    from_the_left = reduction.merge(reduction.merge(acc[:1], acc[1:2]), acc[2:])
    assert from_the_left == reduction.merge(acc[:1], reduction.merge(acc[1:2], acc[2:]))
    for both in (reduction.merge(acc[:1], reduction.identity()), reduction.merge(reduction.identity(), acc[:1])):
        assert both == acc[:1]


def test_mean_and_variance_in_one_pass() -> None:
    reduction = twin(Operator(moments, (0, 0, 0), MEAN), MEAN)
    numbers = np.random.default_rng(6).normal(3, 2, 50)
    data = np.zeros(50, MEAN)
    data["count"], data["mean"] = 1, numbers
    result = reduction.reduce(data)
    assert result["count"] == 50
    assert result["mean"] == pytest.approx(numbers.mean())
    assert result["spread"] == pytest.approx(numbers.var() * 50)


@pytest.mark.parametrize("code", ["?", "i1", "u8", "f4", "c8"])
def test_plain_operators_compute_in_the_values_dtype(code: str) -> None:
    reduction = twin(Operator(lambda a, b: a ^ b if code in ("?", "i1", "u8") else a + b, 0), code)
    values = sample(code, 8)
    if code in ("?", "i1", "u8"):
        assert reduction.reduce(values) == np.bitwise_xor.reduce(values)
    else:
        assert_close(reduction.reduce(values), values.sum())
    assert reduction.bound.result == np.dtype(code)


def test_an_operators_own_dtype_is_what_values_become() -> None:
    operator = twin(Operator(lambda a, b: a * b, 1, dtype="f8"), "f4").bound
    assert operator.value == operator.result == np.float64
    for code, expected in (("f4", "i4"), ("c8", "f4"), ("i4", "u4")):
        with pytest.raises(DTypeError, match=r"cannot become .* without loss; cast them first"):
            twin(Operator(lambda a, b: a + b, 0, dtype=expected), code)


def test_an_operators_own_dtype_is_aligned_as_kernels_need_it() -> None:
    layout = np.dtype([("n", "u1"), ("m", "f8", (2, 2)), ("z", "c8")])
    op = Operator(lambda a, b: {"n": a["n"] + b["n"], "m": a["m"] @ b["m"], "z": a["z"] * b["z"]}, (0, np.eye(2), 1), layout, False)
    operator = op.bind(layout, "auto", True)
    assert [operator.result.fields[name] for name in "nmz"] == [(layout["n"], 0), (layout["m"], 8), (layout["z"], 40)]
    assert is_aligned(operator.result) and operator.value == operator.result


def test_values_are_converted_to_the_operators_dtype_field_by_field() -> None:
    wide = np.dtype([("a", "f8"), ("b", "i8")])
    narrow = np.dtype([("a", "f4"), ("b", "i2")])
    op = Operator(lambda x, y: {"a": x["a"] + y["a"], "b": x["b"] * y["b"]}, (0, 1), wide)
    record = Record(a=Symbol("a", narrow["a"]), b=Symbol("b", narrow["b"]))
    formula = Formula((Input("x", narrow, record),), (record,))
    operator = op.bind(narrow, "auto", True)
    assert fitted(formula, operator) is formula, "a record's fields are converted as they are absorbed"
    acc = operator.absorb(Record({c.name: Symbol(c.name, c.dtype) for c in operator.components}), [record], [Symbol("i", np.dtype("i8"))])
    assert [node.dtype for node in acc.values()] == [np.float64, np.int64]

    with pytest.raises(DTypeError, match=r"cannot become .* without loss"):
        op.bind(np.dtype([("a", "f4"), ("b", "f4")]), "auto", True)

    plain = Symbol("x", np.dtype("f4"))
    formula = Formula((Input("x", plain.dtype, plain),), (plain,))
    assert fitted(formula, NAMED["sum"].bind(plain.dtype, "auto", True)) is formula
    value = fitted(formula, Operator(lambda x, y: x + y, 0, "f8").bind(plain.dtype, "auto", True))
    assert isinstance(value.outputs[0], Apply) and value.outputs[0].dtype == np.float64


def test_first_and_last_are_operators() -> None:
    ends = np.dtype([("first", "f4"), ("last", "f4"), ("any", "?")])

    def join(a: Record, b: Record) -> dict[str, Node]:
        return {
            "first": apply("where", a["any"], a["first"], b["first"]),
            "last": apply("where", b["any"], b["last"], a["last"]),
            "any": a["any"] | b["any"],
        }

    reduction = twin(Operator(join, (0, 0, False), ends, commutative=False), ends)
    data = np.array([(k, k, True) for k in range(1, 8)], ends)
    assert reduction.reduce(data).tolist() == (1.0, 7.0, True)
    assert [c.dtype for c in reduction.bound.components] == [np.float32, np.float32, np.uint8], "a bool is kept as a byte"


@pytest.mark.parametrize("names", [("float", "x y"), ("a); evil(", "*/"), ("total", "ä")])
def test_fields_may_have_any_name(names: tuple[str, str]) -> None:
    pair = np.dtype([(name, "i4") for name in names])
    first, second = names
    reduction = twin(Operator(lambda a, b: {first: a[first] + b[first], second: a[second] | b[second]}, (0, 0), pair), pair)
    assert reduction.reduce(np.array([(1, 1), (2, 4), (3, 8)], pair)).tolist() == (6, 13)
    assert all(c.name.isidentifier() and c.name.isascii() for c in reduction.bound.components)


def test_fields_have_the_dtype_of_the_record() -> None:
    for value in ((3, 4), np.array((3, 4), PAIR)[()]):
        assert fields(value, PAIR, "a pair").dtype == PAIR


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
    ("combine", "code", "message"),
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
def test_a_combine_that_gives_something_else_is_refused_when_it_is_bound(combine: Any, code: Any, message: str) -> None:
    identity = (0, 0) if code is PAIR else 0
    with pytest.raises(DTypeError) as error:
        Operator(combine, identity, name="mine").bind(np.dtype(code), "auto", True)
    assert str(error.value).startswith("operator mine") and message in str(error.value)


def test_a_combine_that_gives_something_narrower_or_constant_is_fine() -> None:
    assert twin(Operator(lambda a, b: (a > b).astype("i1"), 0, check=False), "f8").reduce(np.array([3.0, 1.0])) in (0.0, 1.0)
    assert twin(Operator(lambda a, b: 1, 0, check=False), "f4").reduce(np.array([3.0, 1.0], np.float32)) == 1.0
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
    reduction = twin(Operator(c_source("fmax(a, b)"), -np.inf), "f4")
    with pytest.raises(FormulaError, match=r"c_source\('fmax\(a, b\)'\) cannot be computed on the host"):
        reduction.reduce(np.array([1.0, 2.0], np.float32))
    for text in ("a", "b + 1", "x", "alpha + beta", ""):
        with pytest.raises(FormulaError, match="must be an expression that uses both a and b"):
            c_source(text)
    with pytest.raises(FormulaError, match="combines plain numbers, not records"):
        Operator(c_source("a + b"), (0, 0)).bind(PAIR, "auto", True)


def test_c_source_names_are_whole_words_and_braces_are_kept() -> None:
    a, b = Symbol("a", np.dtype("f4")), Symbol("b", np.dtype("f4"))
    source = c_source("a + fabs(b) * abs_b + (float2){a, b}.x")(a, b)
    assert isinstance(source, Apply)
    text = source.function.spelling(np.dtype("f4"))
    assert text is not None
    assert text.format("p", "q") == f"(p + fabs(q) * abs_b + (float2){{p, q}}.x {SOURCE_MARK})"
    flag = c_source("a & b")(Symbol("a", np.dtype("?")), Symbol("b", np.dtype("?")))
    assert flag.dtype == np.bool_
    assert isinstance(flag, Apply) and flag.args[0].dtype == np.uint8, "bools meet as bytes"
