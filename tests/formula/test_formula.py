"""Formulas: their dtypes, how kernels read their inputs, and copies of them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import clmapreduce as cm
from clmapreduce.calls.arguments import collapsed as collapsed_strides
from clmapreduce.formula.formula import Access, Formula, Input, Place, symbol
from clmapreduce.formula.node import Apply, Index, Literal, Node, Symbol, components
from clmapreduce.formula.text.emit import Text
from clmapreduce.formula.text.loads import field_text, in_parameters, load
from clmapreduce.formula.trace import trace

PAIR = np.dtype([("a", "f4"), ("flag", "?"), ("b", "f8")], align=True)


def argument_input(dtype: Any, access: Access = Access.VECTOR, rank: int = 0) -> Input:
    return Input("in0", np.dtype(dtype), symbol("argument 1", np.dtype(dtype)), access, rank)


def formula_of(function: Any, *dtypes: Any) -> Formula:
    return trace(function, [argument_input(dtype) for dtype in dtypes], "the map")


# ------------------------------------------------------------------------------------------------------------- facts
def test_dtypes_are_all_that_is_met_but_the_index() -> None:
    formula = formula_of(lambda x, y: (x + 1 < 2) & (cm.index > 3), "f4", "i2")
    assert set(formula.dtypes) == {np.dtype(c) for c in ("f4", "?", "i2", "i8")}
    assert formula.uses_index
    assert not formula_of(lambda x: x, "f4").uses_index
    assert formula_of(lambda: cm.index).dtypes == ()
    assert set(formula_of(lambda r: r["a"], PAIR).dtypes) == {np.dtype("f4"), np.dtype("?"), np.dtype("f8")}


@pytest.mark.parametrize(
    ("function", "dtypes", "widest"),
    [
        (lambda x: x, ["u1"], 1),
        (lambda x: x + 1, ["i2"], 2),
        (lambda x: x.astype("f8"), ["u1"], 8),
        (lambda x, unused: x, ["f4", "f8"], 8),
        (lambda: cm.index, [], 1),
        (lambda: cm.index.astype("f4"), [], 4),
    ],
)
def test_the_widest_number_decides_how_many_lanes_fit(function: Any, dtypes: list[str], widest: int) -> None:
    assert formula_of(function, *dtypes).widest == widest


def test_complex_numbers_and_records_have_no_lanes() -> None:
    assert formula_of(lambda x: x, "f4").vectorisable
    assert not formula_of(lambda x: x, "c8").vectorisable
    assert not formula_of(lambda x: abs(x * 1j), "f4").vectorisable
    assert not formula_of(lambda r: r["a"], PAIR).vectorisable
    assert not formula_of(lambda x: {"a": x}, "f4").vectorisable


def test_every_node_is_listed_once_arguments_first() -> None:
    formula = formula_of(lambda x, y: (x * y, x * y + x), "f4", "f4")
    place = {id(node): i for i, node in enumerate(formula.nodes)}
    assert len(place) == len(formula.nodes)
    for node in formula.nodes:
        if isinstance(node, Apply):
            assert all(place[id(arg)] < place[id(node)] for arg in node.args)


# ------------------------------------------------------------------------------------------------------------ copies
def test_an_instance_shares_constants_and_nothing_else() -> None:
    formula = formula_of(lambda x, unused: (x * 2 + cm.index, x), "f4", "i4")
    copy = formula.instance()
    own = {id(n) for n in formula.nodes if not isinstance(n, Literal)}
    assert not own & {id(n) for n in copy.nodes}
    assert [type(n) for n in copy.nodes] == [type(n) for n in formula.nodes]
    assert [n.dtype for n in copy.nodes] == [n.dtype for n in formula.nodes]
    assert copy.inputs[0].value in copy.nodes, "inputs are those of the copy"
    assert copy.outputs[1] is copy.inputs[0].value
    assert copy.inputs[1].value is not formula.inputs[1].value, "unused ones too"
    assert sum(isinstance(n, Index) for n in copy.nodes) == 1


def test_an_instance_keeps_records_weak_numbers_and_depth() -> None:
    def deep(r: Any, s: Any) -> Any:
        value = r["a"] * s
        for _ in range(3_000):
            value = value + 1.0
        return {"x": value, "y": r["b"]}

    weak = Input("in1", np.dtype("f4"), Symbol("argument 2", np.dtype("f4"), 0.0), Access.ARGUMENT)
    formula = trace(deep, [argument_input(PAIR), weak], "the map")
    copy = formula.instance()
    assert list(components(copy.outputs[0])) == ["x", "y"]
    assert list(components(copy.inputs[0].value)) == ["a", "flag", "b"]
    value = copy.inputs[1].value
    assert isinstance(value, Symbol) and value.weak == 0.0


# ----------------------------------------------------------------------------------------------------------- reading
def texts(access: Access, dtype: Any = "f4", lanes: int = 1, rank: int = 0) -> tuple[list[str], list[Text]]:
    lines, values = load(replace(argument_input(dtype, access, rank), name="in2"), Place("i"), lanes, "p")
    return lines, list(values.values())


def test_parameters_are_declared_by_access() -> None:
    def parameters(access: Access, dtype: Any = "f4", rank: int = 0) -> list[str]:
        parameter = argument_input(dtype, access, rank)
        return in_parameters([parameter])

    assert parameters(Access.VECTOR) == ["__global const float *restrict in0"]
    assert parameters(Access.SINGLE, "?") == ["__global const uchar *restrict in0"]
    assert parameters(Access.ARGUMENT, "c16") == ["const double2 in0"]
    assert parameters(Access.VECTOR, PAIR) == ["__global const uchar *restrict in0"]
    assert parameters(Access.STRIDED, "i8", 2) == [
        "__global const long *restrict in0",
        "const idx in0_size0, const idx in0_stride0",
        "const idx in0_size1, const idx in0_stride1",
    ]


def test_inputs_are_read_by_access() -> None:
    assert texts(Access.VECTOR) == (["const float pin2_0 = in2[(i)];"], [Text("pin2_0")])
    assert texts(Access.VECTOR, lanes=8)[0] == ["const float8 pin2_0 = CMR_LOAD(float8, in2 + (i));"]
    assert texts(Access.ARGUMENT)[0] == ["const float pin2_0 = in2;"]
    assert texts(Access.ARGUMENT, lanes=4)[0] == ["const float4 pin2_0 = ((float4)(in2));"]
    assert texts(Access.SINGLE)[0] == ["const float pin2_0 = in2[0];"]
    assert texts(Access.SINGLE, lanes=4)[0] == ["const float4 pin2_0 = ((float4)(in2[0]));"]


def test_a_bool_is_read_as_a_byte_and_becomes_0_or_1_or_a_mask() -> None:
    lines, values = texts(Access.VECTOR, "?")
    assert lines[1] == "const int pin2_0_mask = pin2_0 != 0;"
    assert values == [Text("pin2_0_mask")]
    lines, values = texts(Access.VECTOR, "?", lanes=16)
    assert lines[1] == "const char16 pin2_0_mask = pin2_0 != (uchar16)(0);"
    assert values == [Text("pin2_0_mask", 8)]


def test_fields_are_read_at_their_offsets() -> None:
    lines, values = texts(Access.VECTOR, PAIR)
    assert [text.c for text in values] == ["pin2_0", "pin2_1_mask", "pin2_2"]
    assert lines[0] == "const float pin2_0 = (*(__global const float *)(in2 + (size_t)((i)) * 16 + 0));"
    assert lines[3].endswith("(in2 + (size_t)((i)) * 16 + 8));")


@pytest.mark.parametrize("name", ["float", "a b", "x; } __kernel void evil() {", "naïve", "1", "*/"])
def test_a_fields_name_never_enters_the_kernel(name: str) -> None:
    lines, _ = texts(Access.VECTOR, np.dtype([(name, "f4")]))
    assert lines == ["const float pin2_0 = (*(__global const float *)(in2 + (size_t)((i)) * 4 + 0));"]


def test_a_place_in_a_record_is_a_size_t() -> None:
    assert field_text("p", "i + 1", 12, np.dtype("f8"), 4) == "(*(__global double *)(p + (size_t)(i + 1) * 12 + 4))"


# ------------------------------------------------------------------------------------------------------- broadcasting
def place_in_c(text: str, sizes: dict[str, int], i: int) -> int:
    """The value of a C index expression of non-negative ints: / and % are Python's // and %."""
    assert re.fullmatch(r"[\w\s()+*/%]*", text)
    return int(eval(text.replace("/", "//"), {"__builtins__": {}}, {**sizes, "i": i}))


@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.data())
def test_strided_places_are_those_of_broadcast_to(shape: list[int], data: st.DataObject) -> None:
    rank = data.draw(st.integers(0, len(shape)))
    own = tuple(data.draw(st.sampled_from([1, n])) for n in shape[len(shape) - rank :])
    strides = collapsed_strides(own, tuple(shape))
    assert all(size > 1 for size, _ in strides), "what is 1 long has no digit"
    expected = np.broadcast_to(np.arange(np.prod(own, dtype=int)).reshape(own), shape).reshape(-1)
    lines, _ = load(argument_input("f4", Access.STRIDED, len(strides)), Place("i"), 4, "p")
    match = re.fullmatch(r"const float4 pin0_0 = \(float4\)\((.*)\);", lines[0])
    assert match
    each = re.findall(r"in0\[(.*?)\](?:, |$)", match[1])
    assert len(each) == 4
    names = {f"in0_size{d}": size for d, (size, _) in enumerate(strides)}
    names |= {f"in0_stride{d}": stride for d, (_, stride) in enumerate(strides)}
    for i in range(len(expected)):
        for lane in range(4):
            if i + lane < len(expected):
                assert (place_in_c(each[lane], names, i) if strides else 0) == expected[i + lane]


@pytest.mark.parametrize(
    ("own", "shape", "digits"),
    [
        ((5,), (3, 5), ((3, 0), (5, 1))),
        ((3, 1), (3, 5), ((3, 1), (5, 0))),
        ((4, 1, 6), (4, 5, 6), ((4, 6), (5, 0), (6, 1))),
        ((1, 5, 6), (4, 5, 6), ((4, 0), (30, 1))),
        ((6,), (4, 5, 6), ((20, 0), (6, 1))),
        ((4, 5, 1), (4, 5, 6), ((20, 1), (6, 0))),
        ((5, 6), (1, 5, 6), ((30, 1),)),
        ((7, 1), (1, 7, 1), ((7, 1),)),
    ],
)
def test_neighbours_in_step_become_one_dimension(own: Any, shape: Any, digits: Any) -> None:
    assert collapsed_strides(own, shape) == digits


def test_a_node_may_stand_in_two_outputs() -> None:
    formula = formula_of(lambda x: (x, x, x + 1), "f4")
    first, second, third = formula.outputs
    assert first is second
    assert isinstance(third, Node) and isinstance(third, Apply) and third.args[0] is first


def test_what_lies_ahead_and_private_arrays_are_read_as_vectors() -> None:
    ahead = replace(argument_input("f4", Access.GATHERED), ahead=3)
    through = replace(ahead, through=("in5",))
    every_eighth = replace(ahead, every=8)
    private = argument_input("f4", Access.PRIVATE)
    texts = {
        (ahead, 1): "in0[((i) + 3)]", (ahead, 4): "CMR_LOAD_ANYWHERE(float4, 4, in0 + ((i) + 3))",
        (through, 1): "in0[cmr_within((idx)in5[((i) + 3)], in0_last)]", (private, 1): "in0[(i)]", (private, 4): "CMR_PEEK(float4, in0 + (i))",
        (every_eighth, 1): "in0[(((size_t)(i) * 8) + 3)]",
        (every_eighth, 2): "(float2)(in0[(((size_t)(i) * 8) + 3)], in0[(((size_t)((i) + 1) * 8) + 3)])",
    }  # fmt: skip
    for (argument, lanes), expected in texts.items():
        kind = f"float{lanes}" if lanes > 1 else "float"
        assert load(argument, Place("i"), lanes, "p")[0] == [f"const {kind} pin0_0 = {expected};"]
