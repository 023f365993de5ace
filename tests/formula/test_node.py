"""Nodes: operators build typed graphs with NumPy's dtypes; what cannot be traced says so."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.errors import DTypeError, FormulaError
from clmapreduce.formula.node import (
    Apply,
    Index,
    Literal,
    Node,
    Record,
    Symbol,
    components,
    index,
    postorder,
    rebuild,
)
from clmapreduce.formula.trace import call

F4, I4, BOOL = np.dtype("f4"), np.dtype("i4"), np.dtype(bool)
DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]

ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod, "**": operator.pow, "&": operator.and_, "|": operator.or_, "^": operator.xor,
    "<<": operator.lshift, ">>": operator.rshift, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge, "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
NUMBERS = [True, 3, 2.5, 1j, np.float32(2), np.int16(3), np.bool_(True), np.float64(1)]


def numpy_dtype(operation: Callable[[Any, Any], Any], left: Any, right: Any) -> np.dtype[Any] | None:
    """What NumPy gives for arrays of one 1 and plain numbers; None where it refuses."""
    try:
        with np.errstate(all="ignore"):
            return np.dtype(operation(left, right).dtype)
    except TypeError:
        return None


def refused_on_purpose(sign: str, *dtypes: np.dtype[Any]) -> bool:
    """uint64 with signed integers loses digits in NumPy's float64; complex numbers have no order, no // and no powers
    but whole ones.
    """
    has_both_signs = np.dtype("u8") in dtypes and any(d.kind == "i" for d in dtypes)
    complex_ = any(d.kind == "c" for d in dtypes)
    return has_both_signs or (complex_ and sign in ("<", "<=", ">", ">=", "**"))


@pytest.mark.parametrize("sign", ARITHMETIC)
def test_operators_give_numpys_dtype(sign: str) -> None:
    operation = ARITHMETIC[sign]
    for a in map(np.dtype, DTYPES):
        for b in map(np.dtype, DTYPES):
            expected = numpy_dtype(operation, np.ones(1, a), np.ones(1, b))
            x, y = Symbol("x", a), Symbol("y", b)
            if expected is None or refused_on_purpose(sign, a, b):
                with pytest.raises(DTypeError):
                    operation(x, y)
            else:
                node = operation(x, y)
                assert (node.dtype, isinstance(node, Apply)) == (expected, True), (a, b)


@pytest.mark.parametrize("sign", ARITHMETIC)
@pytest.mark.parametrize("number", NUMBERS, ids=lambda n: f"{type(n).__name__}")
def test_numbers_on_either_side_give_numpys_dtype(sign: str, number: Any) -> None:
    operation = ARITHMETIC[sign]
    strong = [number.dtype] if isinstance(number, np.generic) else []
    for a in map(np.dtype, DTYPES):
        for number_first in (False, True):
            order = (lambda x: (number, x)) if number_first else (lambda x: (x, number))
            expected = numpy_dtype(operation, *order(np.ones(1, a)))
            complex_ = isinstance(number, complex)
            if sign == "**" and not number_first and type(number) is int:
                if a == BOOL:
                    continue  # NumPy squares bools to int8 by a short cut; any other exponent follows the rule, as ours
                expected = a
            elif expected is None or refused_on_purpose(sign, a, *strong, *([np.dtype("c16")] if complex_ else [])):
                with pytest.raises(DTypeError):
                    operation(*order(Symbol("x", a)))
                continue
            assert operation(*order(Symbol("x", a))).dtype == expected, (a, number_first)


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operators(dtype: str) -> None:
    x = Symbol("x", np.dtype(dtype))
    assert +x is x
    kind = x.dtype.kind
    if kind == "b":
        with pytest.raises(DTypeError, match="not defined for bool"):
            _ = -x
    else:
        assert (-x).dtype == x.dtype
    if kind in "biu":
        assert (~x).dtype == x.dtype
    else:
        with pytest.raises(DTypeError, match="bit operations need integers or bools"):
            _ = ~x
    part = np.dtype(f"f{x.dtype.itemsize // 2}") if kind == "c" else x.dtype
    assert abs(x).dtype == x.real.dtype == x.imag.dtype == part


def test_astype_converts_and_refuses_what_loses_a_part() -> None:
    x = Symbol("x", F4)
    assert x.astype("f4") is x
    assert x.astype(np.int16).dtype == np.int16
    assert Symbol("z", np.dtype("c8")).astype(bool).dtype == BOOL
    with pytest.raises(DTypeError, match=r"without losing its imaginary part; use \.real"):
        Symbol("z", np.dtype("c8")).astype("f4")


def test_nodes_are_compared_by_identity() -> None:
    x, y = Symbol("x", F4), Symbol("x", F4)
    assert {x: 1, y: 2}[x] == 1
    assert isinstance(x == y, Apply)
    assert isinstance(x != y, Apply)


def mistaken(x: Node) -> None:
    raise TypeError("an author's mistake")


def test_a_traced_value_has_no_truth_no_items_and_no_length() -> None:
    x = Symbol("x", F4)
    for use in (lambda: bool(x), lambda: x if x > 0 else 0, lambda: x and x, lambda: not x, lambda: 0 < x < 1):
        with pytest.raises(FormulaError, match=r"cm\.where\(condition, a, b\)"):
            use()
    with pytest.raises(FormulaError, match="cannot be iterated"):
        list(x)
    with pytest.raises(FormulaError, match=r"it has no field or element; pass cm\.Table"):
        call(lambda y: y["f"], [x], "the map")
    with pytest.raises(TypeError, match="not subscriptable"):
        x["f"]
    with pytest.raises(TypeError, match="an author's mistake"):
        call(mistaken, [x], "the map")
    assert np.array([x, x + 1]).shape == (2,), "NumPy takes nodes for single objects, whatever their length"
    for ask in (len, np.sum, np.mean, lambda y: y.shape, lambda y: y.size, lambda y: y.std(), lambda y: y.cumsum()):
        with pytest.raises(FormulaError, match=r"cm\.fuse"):
            ask(x)
    with pytest.raises(FormulaError):
        max(x, 1)


def test_arrays_and_other_objects_cannot_stand_in_a_formula() -> None:
    x = Symbol("x", F4)
    with pytest.raises(FormulaError, match=r"array of shape \(3,\).*pass it as an argument"):
        x + np.ones(3)
    for other in ("1", None, [1], {"a": 1}, object()):
        with pytest.raises(FormulaError, match="neither a traced value nor a number"):
            x + other  # type: ignore[operator]
    assert (x + np.array(2.0)).dtype == np.float64, "a 0-d array is a number of its dtype"


@pytest.mark.parametrize(("value", "dtype"), [(300, "u1"), (-1, "u8"), (2**63, "i8"), (-(2**31) - 1, "i4")])
def test_a_constant_that_does_not_fit_is_refused_when_it_is_met(value: int, dtype: str) -> None:
    x = Symbol("x", np.dtype(dtype))
    for meet in (lambda: x + value, lambda: value - x, lambda: Literal(value, x.dtype), lambda: x & value):
        with pytest.raises(DTypeError, match=f"constant {value} does not fit {x.dtype}"):
            meet()


def test_a_number_that_no_float_holds_is_refused() -> None:
    with pytest.raises(DTypeError, match="constant of 1329 bits does not fit float32"):
        Symbol("x", F4) * 10**400
    with pytest.raises(DTypeError, match="constant nan does not fit int32"):
        Literal(float("nan"), I4)


@pytest.mark.parametrize("dtype", ["u1", "i1", "u2", "i4", "u4"])
def test_comparing_with_a_constant_out_of_range_is_no_mistake(dtype: str) -> None:
    x = Symbol("x", np.dtype(dtype))
    for comparison in (x < 2**40, x == -(2**40), x >= -(2**40), x != 10**15):
        assert isinstance(comparison, Apply)
        assert [arg.dtype for arg in comparison.args] == [np.int64] * 2
    for comparison in (x < 1, x == 100):
        assert isinstance(comparison, Apply)
        assert comparison.args[0] is x


# ------------------------------------------------------------------------------------------------------ weak numbers
def weak(number: Any, dtype: str) -> Symbol:
    return Symbol("s", np.dtype(dtype), type(number)(0))


def test_what_comes_from_python_numbers_alone_stays_weak() -> None:
    x, s = Symbol("x", F4), weak(0.5, "f4")
    for node in (s + s, 1 - s, s * 2, -s, abs(s), (1 - s) * (1 + s), s**2, s / 3):
        assert (node.weak, node.dtype) == (0.0, F4)
        assert (x * node).dtype == F4
        assert (Symbol("h", np.dtype("f2")) * node).dtype == np.float16


def test_weak_numbers_move_to_the_next_kind_as_python_numbers_do() -> None:
    n, s, z = weak(1, "i4"), weak(0.5, "f4"), weak(1j, "c8")
    byte = Symbol("b", np.dtype("u1"))
    assert (byte + n * n).dtype == np.uint8
    assert (n * n).dtype == np.int64, "two int32 arguments may have a product beyond int32"
    assert (byte + n / 2).dtype == np.float64
    assert ((n + s).weak, (n + s).dtype) == (0.0, F4)
    assert ((n + z).weak, (s + z).dtype) == (0j, np.complex64)
    assert (s < 1).dtype == BOOL and (s < 1).weak is None
    assert (weak(0.5, "f8") + n).dtype == np.float64


# -------------------------------------------------------------------------------------------------- graphs, records
def test_postorder_gives_arguments_first_and_every_node_once() -> None:
    x, y = Symbol("x", F4), Symbol("y", F4)
    product = x * y
    top = (product + x) / (product + y)
    order = list(postorder([top, product]))
    assert len(order) == len({id(node) for node in order}) == 6
    place = {id(node): i for i, node in enumerate(order)}
    for node in order:
        if isinstance(node, Apply):
            assert all(place[id(arg)] < place[id(node)] for arg in node.args)
    assert order[-1] is top
    assert next(postorder([top], {id(product)})) is x, "what is known is left out, and what is below it"
    assert not list(postorder([top], {id(top)}))


def test_postorder_of_a_deep_formula_is_no_recursion() -> None:
    node: Node = Symbol("x", F4)
    for _ in range(20_000):
        node = node + 1.5
    assert sum(isinstance(n, Apply) for n in postorder([node])) == 20_000


def test_values_are_one_part_or_one_per_field() -> None:
    x = Symbol("x", F4)
    record = Record(a=x, b=Symbol("b", I4))
    assert components(x) == {"": x}
    assert rebuild(components(x)) is x
    assert rebuild(components(record)) == record
    assert isinstance(rebuild({"only": x}), Record)


def test_a_record_lists_its_fields_and_has_no_arithmetic() -> None:
    record = Record(a=Symbol("a", F4), b=Symbol("b", F4))
    with pytest.raises(FormulaError, match="no field 'c'; the value has 'a', 'b'"):
        record["c"]
    for combine in (lambda: record | record, lambda: record | {}, lambda: {} | record):
        with pytest.raises(FormulaError, match="combine its fields"):
            combine()


def test_the_index_is_an_int64() -> None:
    assert isinstance(index, Index)
    assert index.dtype == np.int64
    assert (index + 1).dtype == np.int64
    assert (index * 0.5).dtype == np.float64
    assert (index * np.float32(0.5)).dtype == np.float64


RECORDS: dict[str, Callable[[Any, Any], Any]] = {
    "two": lambda r, x: r + r, "a number": lambda r, x: 2 * r, "a sign": lambda r, x: -r, "a comparison": lambda r, x: r < r,
    "a value": lambda r, x: x * r, "bits": lambda r, x: r | x,
}  # fmt: skip


@pytest.mark.parametrize("name", RECORDS)
def test_records_have_no_arithmetic(name: str) -> None:
    records = np.array([(1.0,), (2.0,)], [("a", "f4")])
    with pytest.raises(cm.ClMapReduceError, match="record"):
        cm.Map(RECORDS[name])(records, np.ones(2, np.float32))
