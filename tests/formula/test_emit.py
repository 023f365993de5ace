"""The emitter: every value once, every mask as wide as the values it selects, and on devices the same values as the twin."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.calls.arguments import gather
from clmapreduce.calls.options import Options
from clmapreduce.calls.prepared import prepare
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import LANES
from clmapreduce.errors import DTypeError
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.functions import apply, cast
from clmapreduce.formula.node import Index, Literal, Node, Record, Symbol
from clmapreduce.formula.registry import FUNCTIONS
from clmapreduce.formula.text.emit import Emitter, Text, index_text
from clmapreduce.formula.text.statements import Statements
from clmapreduce.formula.trace import trace
from clmapreduce.modes import ComputeMode
from clmapreduce.planning.lines import MapRequest
from clmapreduce.schemes.common.boxes import launch_box

CODES = ("?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8")


def symbol(dtype: str, name: str = "x") -> Symbol:
    return Symbol(name, np.dtype(dtype))


class Writing:
    """An emitter with symbols bound to C variables of their own names."""

    def __init__(self, lanes: int, *symbols: Symbol, narrow: bool = False) -> None:
        self.emitter = Emitter(lanes, "t", narrow)
        for leaf_symbol in symbols:
            bits = 8 if leaf_symbol.dtype == np.bool_ and lanes > 1 else 0
            self.emitter.bind(leaf_symbol, Text(leaf_symbol.name, bits))

    def __call__(self, node: Node) -> Text:
        return self.emitter.text(node)

    @property
    def lines(self) -> list[str]:
        return self.emitter.lines

    def names(self, pattern: str) -> list[str]:
        """The variables whose statement matches."""
        return [line.split(" = ")[0].split()[-1] for line in self.lines if re.search(pattern, line)]


# ----------------------------------------------------------------------------------------------------- every value once
def test_a_value_used_twice_is_computed_once() -> None:
    x, y = symbol("f4", "x"), symbol("f4", "y")
    write = Writing(1, x, y)
    write((x * y + 1) / (x * y) + apply("sqrt", x * y))
    assert len(write.names(r"\(x \* y\)")) == 1
    assert len(write.lines) == len(set(write.lines)) == 5


def test_constants_and_symbols_need_no_statement() -> None:
    x = symbol("f4")
    write = Writing(4, x)
    assert write(x).c == "x"
    assert write(Literal(2, np.dtype("f4"))).c == "((float4)(((float)(0x1.0000000000000p+1f))))"
    assert not write.lines


def test_equal_casts_are_shared_and_different_ones_are_not() -> None:
    x = symbol("i4")
    write = Writing(1, x)
    first, again = write(cast(x, np.dtype("f4"))), write(cast(x, np.dtype("f4")))
    assert first == again and len(write.lines) == 1
    others = [write(cast(x, np.dtype(code))) for code in ("f8", "i8", "u4", "i2", "?")]
    assert len({text.c for text in [first, *others]}) == 6
    assert [line.split()[1] for line in write.lines] == ["float", "double", "long", "uint", "short", "int"]


@pytest.mark.parametrize("lanes", [1, 4])
def test_same_text_of_different_dtypes_is_not_shared(lanes: int) -> None:
    """A bool as 0 or 1 has the same text in one lane for every dtype."""
    flag = symbol("?", "b")
    write = Writing(lanes, flag)
    whole = write(apply("where", flag, Literal(1, np.dtype("i4")), Literal(0, np.dtype("i4"))))
    short = write(apply("where", flag, Literal(1, np.dtype("i2")), Literal(0, np.dtype("i2"))))
    truth = write(apply("where", flag, Literal(True, np.dtype(bool)), Literal(False, np.dtype(bool))))
    assert len({whole.c, short.c, truth.c}) == 3
    assert whole.bits == short.bits == 0


def test_two_functions_of_the_same_arguments_are_two_values() -> None:
    x, y = symbol("i4", "x"), symbol("i4", "y")
    write = Writing(1, x, y)
    texts = {write(apply(name, x, y)).c for name in ("add", "subtract", "minimum", "maximum", "less", "bitwise_and")}
    assert len(texts) == 6
    assert write(x - y) != write(y - x)


def test_an_unbound_symbol_is_named() -> None:
    with pytest.raises(KeyError, match="no C text was given for 'lost'"):
        Writing(1)(symbol("f4", "lost") + 1)


def test_names_of_two_emitters_are_kept_apart_by_their_prefix() -> None:
    x = symbol("f4")
    for prefix in ("a", "b"):
        emitter = Emitter(1, prefix)
        emitter.bind(x, Text("x"))
        assert emitter.text(x + 1).c == f"{prefix}0"


def test_a_formula_thousands_of_steps_deep_is_written() -> None:
    x = symbol("f4")
    node: Node = x
    for _ in range(5_000):
        node = node * 0.5 + x
    write = Writing(4, x)
    write(node)
    assert len(write.lines) == 10_000
    assert evaluate(node, {x: np.float32(1)}) == 2.0


# -------------------------------------------------------------------------------------------------------------- masks
@pytest.mark.parametrize(
    ("comparison", "mask"), [("i1", "char"), ("u2", "short"), ("f4", "int"), ("i8", "long"), ("f8", "long")]
)
def test_a_comparison_is_a_mask_as_wide_as_its_numbers(comparison: str, mask: str) -> None:
    x = symbol(comparison)
    for lanes in LANES[1:]:
        write = Writing(lanes, x)
        text = write(x < x + x)
        assert text.bits == x.dtype.itemsize * 8
        assert write.lines[-1].startswith(f"const {mask}{lanes} ")
    assert Writing(1, x)(x < x).bits == 0


def test_a_mask_is_widened_once_per_width() -> None:
    small, x, y = symbol("i1", "s"), symbol("f4", "x"), symbol("f8", "y")
    write = Writing(8, small, x, y)
    condition = small > 0
    write(apply("where", condition, x, x + 1))
    write(apply("where", condition, x + 1, x))
    write(apply("where", condition, y, y + 1))
    write(apply("where", condition, small, small + 1))
    assert [line for line in write.lines if "CMR_CONVERT" in line] == [
        f"const int8 {write.names('int8')[0]} = CMR_CONVERT({write.names('char8')[0]}, int8);",
        f"const long8 {write.names('long8')[0]} = CMR_CONVERT({write.names('char8')[0]}, long8);",
    ]


def test_masks_of_different_widths_meet_in_the_widest() -> None:
    small, wide = symbol("i1", "s"), symbol("f8", "w")
    write = Writing(4, small, wide)
    text = write((small > 0) & (wide > 0))
    assert text.bits == 64
    assert write.lines[-1].startswith("const long4 ")
    assert "CMR_CONVERT" in write.lines[-2]


@pytest.mark.parametrize("lanes", [1, 8])
def test_a_bool_becomes_0_or_1_when_it_is_a_number(lanes: int) -> None:
    x = symbol("i2")
    write = Writing(lanes, x)
    text = write.emitter.number(x > 0)
    assert text == ("((uchar)(t0))" if lanes == 1 else f"({write.names('char8 ')[0]} ? {one(lanes)} : {zero(lanes)})")
    assert write(cast(x > 0, np.dtype("f4"))).bits == 0


def one(lanes: int) -> str:
    return f"((uchar{lanes})(((uchar)(1u))))"


def zero(lanes: int) -> str:
    return f"((uchar{lanes})(((uchar)(0u))))"


def test_bools_compare_as_numbers_not_as_masks() -> None:
    """A mask's true is -1, which is less than its false."""
    a, b = symbol("?", "a"), symbol("?", "b")
    write = Writing(8, a, b)
    write(a < b)
    assert re.fullmatch(r"const char8 t\d = \(t\d < t\d\);", write.lines[-1])
    assert all(" ? " in line for line in write.lines[:2])


# -------------------------------------------------------------------------------------------------------------- index
@pytest.mark.parametrize(("narrow", "kind"), [(True, "int"), (False, "long")])
def test_the_index_counts_in_the_kernels_own_type(narrow: bool, kind: str) -> None:
    assert index_text("i", 1, narrow) == f"(({kind})(i))"
    assert index_text("i + 8", 4, narrow) == f"(({kind}4)(({kind})(i + 8)) + ({kind}4)(0, 1, 2, 3))"


def test_an_index_is_converted_once_per_dtype_and_place() -> None:
    here, there = Index(), Index()
    write = Writing(4, narrow=True)
    write.emitter.place(here, "i")
    write.emitter.place(there, "j")
    for _ in range(2):
        for node in (here, there):
            write(cast(node, np.dtype("f4")) + cast(node, np.dtype("f8")) + (node + 1))
    assert len(write.names(r"^const float4 .*\bi\b")) == 1
    assert len(write.names(r"^const double4 .*\bi\b")) == 1
    assert len(write.names(r"^const long4 .*\bi\b")) == 1
    assert len(write.names(r"\bi\b")) == len(write.names(r"\bj\b")) == 3


def test_an_index_that_is_only_converted_is_not_written_as_a_long() -> None:
    index = Index()
    write = Writing(16, narrow=True)
    write.emitter.place(index, "i")
    write(cast(index, np.dtype("f4")) * 2)
    assert not write.names("long")


# ---------------------------------------------------------------------------------------------------- lane by lane
def test_what_has_no_vector_form_is_written_lane_by_lane() -> None:
    x = symbol("i4")
    write = Writing(4, x)
    write(x // 3)
    lanes = ", ".join(f"cmr_floor_divide_int(x.s{k}, ((int4)(((int)(3)))).s{k})" for k in range(4))
    assert write.lines == [f"const int4 t0 = (int4)({lanes});"]


@pytest.mark.parametrize("lanes", LANES)
def test_every_function_is_written_for_every_width(lanes: int) -> None:
    for name, function in FUNCTIONS.items():
        for code in CODES:
            symbols = [symbol(code, f"x{k}") for k in range(function.arity)]
            try:
                node = apply(name, *symbols)
            except DTypeError:
                continue
            write = Writing(lanes, *symbols)
            write(node)
            for line in write.lines:
                assert re.fullmatch(r"const \w+ t\d+ = .*;", line), line
                assert line.count("(") == line.count(")"), line
                assert "{" not in line and "None" not in line, line


# -------------------------------------------------------------------------------------------------------------- blocks
def test_assignments_do_not_read_what_another_one_wrote() -> None:
    block = Statements(1, True)
    a, b = block.variable("acc_a", np.dtype("f4")), block.variable("acc_b", np.dtype("f4"))
    block.assign({"acc_a": b, "acc_b": a, "acc_c": a})
    lines = str(block).splitlines()
    copies = dict(re.fullmatch(r"const float (\w+) = (\w+);", line).groups() for line in lines[:-3])  # type: ignore[union-attr]
    assignments = dict(re.fullmatch(r"(\w+) = (\w+);", line).groups() for line in lines[-3:])  # type: ignore[union-attr]
    assert {target: copies.get(source, source) for target, source in assignments.items()} == {
        "acc_a": "acc_b",
        "acc_b": "acc_a",
        "acc_c": "acc_a",
    }
    assert not set(assignments.values()) & set(assignments), "no right side is a target"


def test_a_variable_may_stay_what_it_is() -> None:
    block = Statements(1, True)
    a = block.variable("acc_a", np.dtype("f4"))
    block.assign({"acc_a": a})
    assert str(block) == "acc_a = acc_a;"


def test_a_block_loads_a_formula_at_several_places() -> None:
    formula = trace(lambda x: x * cm.index, [input_of("f4")], "the map")
    block = Statements(4, True)
    values = [block.load(formula, at)[0] for at in ("i", "(i + 4)")]
    texts = [block.texts(value)[""] for value in values]
    assert len(set(texts)) == 2
    assert str(block).count("CMR_LOAD(float4, in0 + ") == 2
    assert len(re.findall(r"^const (\w+) (\w+) =", str(block), re.M)) == len(
        set(re.findall(r"^const \w+ (\w+) =", str(block), re.M))
    ), "no name is declared twice"


def input_of(code: str) -> Any:
    return gather([np.zeros(3, code)], None).inputs[0].signature.input(0)


def test_a_swap_of_fields_in_an_operator_swaps(context: cm.Context, mode: str) -> None:
    """A sum whose accumulator changes its fields' places at every merge; after an even number they are back."""
    pair = np.dtype([("a", "i8"), ("b", "i8")])
    op = cm.Operator(lambda x, y: {"a": y["a"], "b": x["b"]}, (0, 0), pair, commutative=False, check=False)
    data = np.zeros(1000, pair)
    data["a"], data["b"] = np.arange(1, 1001), np.arange(1001, 2001)
    last = cm.Reduce(op)(data, context=context, mode=mode, tiles=1 if mode == "sequential" else None)
    assert last["a"] in (0, 1000) and last["b"] in (0, 1001)


# -------------------------------------------------------------------------- on devices: random formulas, every width
FORMULAS = 16
LEAVES = {
    "b": np.dtype("?"), "c": np.dtype("i1"), "h": np.dtype("u2"), "n": np.dtype("i4"), "l": np.dtype("i8"),
    "x": np.dtype("f4"), "y": np.dtype("f8"),
}  # fmt: skip
STEPS = [
    "add", "subtract", "multiply", "minimum", "maximum", "less", "less_equal", "greater", "equal", "not_equal", "where",
    "logical_and", "logical_or", "logical_not", "bitwise_and", "bitwise_or", "bitwise_xor", "invert", "abs", "sign",
    "floor", "negative", "isnan", "isfinite", "floor_divide", "mod", "left_shift", "right_shift", "cast",
]  # fmt: skip


def leaf(rnd: random.Random, symbols: Sequence[Node]) -> Any:
    if rnd.random() < 0.25:
        return rnd.choice([0, 1, 2, 3, 0.5, True, False])
    return rnd.choice([*symbols, cm.index])


def at_least(divisor: Any) -> Node:
    magnitude = apply("abs", divisor)
    return apply("maximum", magnitude, 0.5 if magnitude.dtype.kind == "f" else 1)


def tree(rnd: random.Random, symbols: Sequence[Node], depth: int) -> Any:
    """A random formula. Every number in it is a small multiple of 1/2, so that no order of rounding matters."""
    if depth == 0:
        return leaf(rnd, symbols)
    while True:
        name = rnd.choice(STEPS)
        try:
            if name == "cast":
                node = tree(rnd, symbols, depth - 1)
                node = node if isinstance(node, Node) else rnd.choice(symbols)
                code = rnd.choice(["?", "i4", "i8", "f4", "f8"])
                return node.astype(code) if node.dtype.kind != "f" or code not in ("?", "i4", "i8") else node
            operands = [tree(rnd, symbols, depth - 1) for _ in range(FUNCTIONS[name].arity)]
            if not any(isinstance(o, Node) for o in operands):
                operands[0] = rnd.choice(symbols)
            if name in ("floor_divide", "mod"):
                operands[1] = at_least(operands[1])  # no rule fixes the sign of a zero
            node = apply(name, *operands)
        except DTypeError:
            continue
        return node if node.dtype.kind != "f" or name != "multiply" else apply("minimum", node, 64)


def results_of(
    function: Callable[..., Any], data: Sequence[Any], context: cm.Context, mode: str, bytes: int
) -> list[Any]:
    """The map of `function` with vectors of `bytes` bytes, as a GPU would have them."""
    arguments = gather(data, context)
    formula = trace(function, [s.input(i) for i, s in enumerate(arguments.signature)], "the map")
    outputs = [(arguments.shape, node.dtype) for node in formula.outputs if not isinstance(node, Record)]
    compute_mode = ComputeMode.SEQUENTIAL if mode == "sequential" else ComputeMode.PARALLEL
    box = replace(launch_box("map", compute_mode, context.facts), bytes=bytes)
    executable = context.executable(MapRequest(formula, Line(arguments.length), compute_mode, box))
    return prepare(arguments, executable, outputs, Options()).run()


@pytest.mark.parametrize("bytes", [0, 16, 32, 64])
def test_random_formulas_give_the_twins_values_in_every_width(context: cm.Context, mode: str, bytes: int) -> None:
    """0 to 64 bytes a vector are 1 to 8 lanes here: masks of every width meet numbers of every width."""
    if not context.facts.fp64:
        pytest.skip(f"{context.device.name} has no float64")
    rnd = random.Random(bytes)
    symbols = [Symbol(name, dtype) for name, dtype in LEAVES.items()]
    nodes = [n for n in (tree(rnd, symbols, 3) for _ in range(FORMULAS)) if isinstance(n, Node)]
    numbers = np.random.default_rng(1)
    data = [
        numbers.integers(0, 2, 333).astype(bool) if d.kind == "b" else (numbers.integers(-6, 7, 333) / 2).astype(d)
        if d.kind == "f" else numbers.integers(0 if d.kind == "u" else -3, 4, 333).astype(d)
        for d in LEAVES.values()
    ]  # fmt: skip

    def function(*arguments: Node) -> tuple[Node, ...]:
        again = random.Random(bytes)
        formulas = [tree(again, arguments, 3) for _ in range(FORMULAS)]
        return tuple(n for n in formulas if isinstance(n, Node))

    results = results_of(function, data, context, mode, bytes)
    values: dict[Node, Any] = dict(zip(symbols, data, strict=True)) | {cm.index: np.arange(333)}
    for k, (node, result) in enumerate(zip(nodes, results, strict=True)):
        twin = np.broadcast_to(evaluate(node, values), 333)
        assert result.dtype == node.dtype
        np.testing.assert_array_equal(result, twin, err_msg=f"formula {k}")
