"""Arrays of nodes: NumPy's own operations on them, and what NumPy would get wrong, against NumPy on numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.dtypes import leaf_view, leaves
from clmapreduce.errors import DTypeError, FormulaError, ShapeError
from clmapreduce.formula.array import NodeArray
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import Input, symbol
from clmapreduce.formula.node import Node, Record, Symbol, Value, components, rebuild
from clmapreduce.formula.trace import as_value, trace

DTYPE = np.dtype(
    [("m", "f4", (2, 2)), ("v", "f8", 3), ("z", "c8", 2), ("n", "i4"), ("k", "i4", 3), ("s", "f4")], align=True
)


def random_records(rng: np.random.Generator, count: int = 5) -> np.ndarray:
    x = np.zeros(count, DTYPE)
    for leaf, (dtype, _) in leaves(DTYPE).items():
        part = leaf_view(x, leaf)
        part[...] = rng.integers(-9, 10, count) if dtype.kind == "i" else rng.standard_normal(count)
        if dtype.kind == "c":
            part.imag = rng.standard_normal(count)
    return x


def twin_of(value: Value, symbols: Value, x: np.ndarray) -> Any:
    """The twin's result of a value for every element of `x`: an array, or a dict of them for a record."""
    numbers = {node: leaf_view(x, leaf) for leaf, node in components(symbols).items()}

    def number(node: Node) -> Any:
        return np.broadcast_to(evaluate(node, numbers), x.shape)

    if not isinstance(value, Record):
        return number(value)
    parts = {}
    for name, part in value.items():
        if isinstance(part, np.ndarray):
            parts[name] = np.stack([number(node) for node in part.flat], -1).reshape(*x.shape, *part.shape)
        else:
            parts[name] = number(part)
    return parts


CASES: list[Callable[[Any], Any]] = [
    lambda a: a["m"] @ a["m"],
    lambda a: a["m"].swapaxes(-1, -2) @ a["m"] - 2,
    lambda a: a["m"][..., ::-1, 0],
    lambda a: -abs(a["m"]) + +a["m"],
    lambda a: a["m"] ** 2 / 3 + 1 / a["m"] ** 0.5,
    lambda a: a["m"] * a["s"][..., None, None],
    lambda a: a["s"][..., None, None] - a["m"],
    lambda a: np.eye(2) @ a["m"],
    lambda a: a["m"] + np.arange(4).reshape(2, 2),
    lambda a: a["m"] * np.float64(0.1),
    lambda a: np.float64(0.1) * a["m"],
    lambda a: a["v"] * a["m"][..., :1, 0],
    lambda a: a["v"].sum(axis=-1),
    lambda a: np.cross(a["v"], a["v"][..., [1, 2, 0]]),
    lambda a: np.stack([a["v"], a["v"] * 2], axis=-1),
    lambda a: (a["v"] > 0) & ~(a["v"] >= 1) | (a["v"] == a["v"][..., ::-1]),
    lambda a: (a["v"] < 0) ^ (a["v"] <= a["v"][..., :1]) ^ (a["v"] != 0),
    lambda a: (np.float32(0) < a["v"]) | (a["s"][..., None] < a["v"]) | (np.zeros(3) >= a["v"]),
    lambda a: (a["k"] // 2 + a["k"] % 5) << 1,
    lambda a: a["k"] * 0.5,
    lambda a: a["k"] & 3 | a["n"][..., None],
    lambda a: a["z"].real * a["z"].imag + a["z"].conj().imag,
    lambda a: a["z"] * a["z"].conjugate(),
    lambda a: a["m"].real - a["m"].imag,
    lambda a: a["k"].astype("f4"),
    lambda a: cm.math.sqrt(abs(a["v"])) + cm.math.exp(a["v"]),
    lambda a: cm.math.maximum(a["v"], 0),
    lambda a: cm.math.minimum(a["v"], a["s"][..., None]),
    lambda a: cm.where(a["v"] > 0, a["v"], a["s"][..., None]),
    lambda a: cm.where(a["s"][..., None] > 0, a["v"], [1, 2, 3]),
]


class OneRow(dict):  # type: ignore[type-arg]
    """A record whose single numbers take `[..., None]`, as columns of arrays do."""

    def __init__(self, record: Record) -> None:
        super().__init__({n: record[n] if record.shapes[n] else np.array(record[n]).view(NodeArray) for n in record})


@pytest.mark.parametrize("case", CASES)
def test_arrays_of_nodes_compute_as_arrays_of_numbers(case: Callable[[Any], Any], rng: np.random.Generator) -> None:
    x, symbols = random_records(rng), symbol("x", DTYPE)
    with np.errstate(invalid="ignore"):
        expected = case(x)
    value = as_value({"part": case(OneRow(symbols))}, "the map")  # type: ignore[arg-type]
    result = twin_of(value, symbols, x)["part"]
    assert result.shape == expected.shape
    if result.dtype != expected.dtype:  # the one difference: numbers are weak beside arrays of nodes
        assert (result.dtype, expected.dtype) == (np.float32, np.float64)
    np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_single_results_are_nodes() -> None:
    a: Any = symbol("x", DTYPE)
    for single in (a["v"].sum(), a["v"] @ a["v"], a["m"].trace(), a["m"][0, 1], np.einsum("i,i", a["v"], a["v"])):
        assert isinstance(single, Node)
    assert as_value(np.array(a["n"]), "the map") is a["n"], "an array of no dimensions is what it holds"


def test_a_record_gives_its_fields_and_keeps_its_own() -> None:
    a: Any = symbol("x", DTYPE)
    assert list(a) == list(DTYPE.names)
    assert a.shapes == {"m": (2, 2), "v": (3,), "z": (2,), "n": (), "k": (3,), "s": ()}
    before = a["m"][0, 0]
    m = a["m"]
    m[0, 0] = a["n"]
    assert a["m"][0, 0] is before and m[0, 0] is a["n"]
    with pytest.raises(ValueError, match="read-only"):
        dict(a)["m"][0, 0] = 1
    assert [*components(a)] == [*leaves(DTYPE)]
    again = rebuild(components(a))
    assert isinstance(again, Record)
    assert all(mine is own for mine, own in zip(components(again).values(), components(a).values(), strict=True))
    with pytest.raises(FormulaError, match=r"no field 'w'; the value has 'm', 'v'"):
        a["w"]


# -------------------------------------------------------------------------------------------------- returned fields
def test_a_returned_field_is_an_array_a_list_or_constants() -> None:
    a: Any = symbol("x", DTYPE)
    s = a["s"]
    record: Any = as_value(
        {
            "nested": [[s, 0.5], (1, a["m"][0, 0])], "rows": [a["v"], np.zeros(3)], "constants": np.eye(2, dtype="i2"),
            "numbers": [1, 2.5], "mixed": np.array([s, a["v"][0]]), "single": np.array(2.5), **{"m": a["m"]},
        }, "the map",
    )  # fmt: skip
    assert {name: (node[0] if node.ndim == 1 else node[0, 0]).dtype for name, node in record.items() if record.shapes[name]} == {
        "nested": np.float32, "rows": np.float64, "constants": np.int16, "numbers": np.float64, "mixed": np.float64, "m": np.float32,
    }  # fmt: skip
    assert record.shapes == {
        "nested": (2, 2),
        "rows": (2, 3),
        "constants": (2, 2),
        "numbers": (2,),
        "mixed": (2,),
        "single": (),
        "m": (2, 2),
    }
    assert all(len({node.dtype for node in part.flat}) == 1 for part in record.values() if isinstance(part, np.ndarray))
    other: Any = as_value({**a, "m": [s]}, "the map")
    assert other.shapes == {**a.shapes, "m": (1,)}


@pytest.mark.parametrize(
    ("field", "error", "message"),
    [
        ([1, [2, 3]], FormulaError, "the map: the lists of field 'part' have different lengths"),
        ([[1, 2], [3]], FormulaError, "the map: the lists of field 'part' have different lengths"),
        ([np.zeros(2), np.zeros(3)], FormulaError, "the map: the lists of field 'part' have different lengths"),
        ([], FormulaError, r"the map: field 'part' of shape \(0,\) has no elements"),
        (np.zeros((2, 0)), FormulaError, r"the map: field 'part' of shape \(2, 0\) has no elements"),
        (np.zeros(65), DTypeError, "the map: field 'part': array fields of 65 elements together; a record may have 64"),
        ([1, "two"], FormulaError, "the map returned 'two'; return a value made from its arguments"),
        ([1, {"a": 1}], FormulaError, "the map returned {'a': 1}; return a value made from its arguments"),
        (np.array(["a"]), DTypeError, "no kernel holds"),
        ([np.uint64(1), np.int64(1)], DTypeError, "no common integer dtype"),
    ],
)  # fmt: skip
def test_fields_that_are_no_arrays_of_numbers(field: Any, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        as_value({"part": field}, "the map")


def test_an_array_needs_a_name() -> None:
    x = Input("x", DTYPE, symbol("x", DTYPE))
    with pytest.raises(FormulaError, match=r"the map returned an array of shape \(2, 2\); .* or a dict of fields$"):
        trace(lambda a: a["m"], [x], "the map")


# ------------------------------------------------------------------------------------------------------------- refused
def test_a_numeric_array_cannot_meet_a_single_node() -> None:
    x = Symbol("x", np.dtype("f4"))
    for meet in (lambda: x + np.ones(3), lambda: np.ones(3) * x, lambda: cm.where(x > 0, np.ones(3), x)):
        with pytest.raises(FormulaError, match=r"an array of shape \(3,\) cannot stand inside a formula"):
            meet()


def test_shapes_that_do_not_broadcast() -> None:
    a: Any = symbol("x", DTYPE)
    for meet in (
        lambda: a["m"] < a["v"],
        lambda: cm.where(a["s"] > 0, a["m"], a["v"]),
        lambda: cm.math.hypot(a["v"], a["m"]),
    ):
        with pytest.raises(ShapeError, match=r"\(2, 2\).*do not broadcast|\(3,\).*do not broadcast"):
            meet()
    with pytest.raises(ValueError, match="broadcast"):
        a["m"] + a["v"]


def test_arrays_of_nodes_have_no_truth() -> None:
    a: Any = symbol("x", DTYPE)
    for use in (lambda: max(*a["v"]), lambda: a["v"].max(), lambda: a["m"] if (a["v"] > 0)[0] else 0):
        with pytest.raises(FormulaError, match=r"cm\.where\(condition, a, b\)"):
            use()


def test_functions_of_plain_object_arrays_stay_numpys() -> None:
    result = cm.math.maximum(np.array([1, 5], object), np.array([3, 2], object))
    assert result.tolist() == [3, 5] and not isinstance(result, NodeArray)
