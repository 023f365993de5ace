"""An operator's statements: names, types, lanes and places in memory, as templates count on them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import clmapreduce as cm
from clmapreduce.dtypes import LANES
from clmapreduce.formula.formula import Formula, Input, symbol
from clmapreduce.reductions import NAMED, Bound, Operator, operator
from clmapreduce.reductions.text import OperatorText

MATRIX = np.dtype([("p", "f4"), ("q r", "?"), ("s", "f8")])


def operator_of(name: str, code: Any = "f4", accumulate: Any = "auto", fp64: bool = True) -> Bound:
    return operator(name).bind(np.dtype(code), accumulate, fp64)


def records() -> Bound:
    op = Operator(lambda a, b: {"p": a["p"] + b["p"], "q r": a["q r"] | b["q r"], "s": a["s"] * b["s"]}, (0, 0, 1))
    return op.bind(MATRIX, "auto", True)


def identity_map(code: Any) -> Formula:
    value = symbol("argument 1", np.dtype(code))
    return Formula((Input("in0", np.dtype(code), value),), (value,))


BOUNDS = {
    "sum": operator_of("sum"), "compensated": operator_of("sum", accumulate="compensated"), "argmin": operator_of("argmin"),
    "logsumexp": operator_of("logsumexp"), "any": operator_of("any", "f8"), "maximum of bools": operator_of("maximum", "?"),
    "complex": operator_of("sum", "c8"), "records": records(), "uint64": operator_of("minimum", "u8"),
}  # fmt: skip


def declarations(text: str) -> dict[str, str]:
    """Name → type of every variable declared outside the braces."""
    outside = re.sub(r"\{[^{}]*\}", "", text)
    return {name: kind for kind, name in re.findall(r"(?:^|;\s*)(\w+) (\w+) = ", outside, re.M)}


@pytest.fixture(params=BOUNDS, name="op")
def every_operator(request: pytest.FixtureRequest) -> OperatorText:
    return OperatorText(BOUNDS[request.param], narrow=True)


def widths(op: OperatorText) -> tuple[int, ...]:
    return LANES if op.bound.vectorisable else (1,)


def of(op: OperatorText, name: str, lanes: int = 1) -> dict[str, str]:
    return {f"{name}_{part}": kind + (str(lanes) if lanes > 1 else "") for part, kind in op.parts}


def test_parts_are_c_names_with_their_types(op: OperatorText) -> None:
    for part, kind in op.parts:
        assert re.fullmatch(r"[a-z]\w*", part) and part.isascii()
        assert kind in ("uchar", "char", "int", "long", "ulong", "float", "double", "float2", "double2")
    assert op.itemsize == op.bound.layout.itemsize


def test_declare_copy_and_broadcast_declare_one_variable_per_part(op: OperatorText) -> None:
    for lanes in widths(op):
        assert declarations(op.declare("acc", lanes)) == of(op, "acc", lanes)
        assert declarations(op.copy("new", "old", lanes)) == of(op, "new", lanes)
        assert declarations(op.broadcast("wide", "acc", lanes)) == of(op, "wide", lanes)
        assert declarations(op.last_lane("end", "acc", lanes)) == of(op, "end")
        assert declarations(op.lanes_up("up", "acc", 1, lanes) if lanes > 1 else op.declare("up")) == of(op, "up", lanes)
        assert declarations(op.joined("row", ["a", "b"], lanes)) == of(op, "row", lanes)
        assert declarations(op.paired("p", "a", "b", lanes)).items() >= of(op, "p", lanes).items()


def test_assign_and_reset_declare_nothing(op: OperatorText) -> None:
    for text in (op.assign("a", "b"), op.reset("a")):
        assert not declarations(text)
        assert [f"a_{part}" for part, _ in op.parts] == re.findall(r"\b(a_\w+) = ", text)


def test_merge_writes_the_target_and_leaves_its_names_inside_braces(op: OperatorText) -> None:
    for lanes in widths(op):
        text = op.merge("acc", "acc", "next", lanes)
        assert text.startswith("{\n") and text.endswith("\n}")
        assert not declarations(text)
        assert re.findall(r"^(acc_\w+) = ", text, re.M) == [f"acc_{part}" for part, _ in op.parts]


def test_fold_halves_the_lanes_until_one_is_left(op: OperatorText) -> None:
    halving = re.compile(r"^(\w+) (\w+) = (\w+)\.(\w+), (\w+) = (\w+)\.(\w+);", re.M)
    for lanes in widths(op):
        text = op.fold("whole", "acc", lanes)
        assert of(op, "whole").items() <= declarations(text).items()
        halves = halving.findall(text)
        lanes_left = lanes
        for k in range(0, len(halves), len(op.parts)):
            lanes_left //= 2
            for (part, kind), half in zip(op.parts, halves[k : k + len(op.parts)], strict=True):
                source = f"acc_{part}" if 2 * lanes_left == lanes else f"whole_h{2 * lanes_left}_{part}"
                name = "whole" if lanes_left == 1 else f"whole_h{lanes_left}"
                low, high = ("lo", "hi") if lanes_left > 1 else ("x", "y")
                wide = kind + (str(lanes_left) if lanes_left > 1 else "")
                assert half == (wide, f"{name}_{part}", source, low, f"{name}b_{part}", source, high)
        assert lanes_left == 1


def test_records_lie_in_memory_as_the_layout_says(op: OperatorText) -> None:
    fields = op.bound.layout.fields
    assert fields is not None
    places = {part: f"parts + (size_t)(g + 1) * {op.itemsize} + {fields[part][1]}))" for part, _ in op.parts}
    text_of_write, read = op.write("parts", "g + 1", "acc"), op.read("next", "parts", "g + 1")
    for (part, kind), line, back in zip(op.parts, text_of_write.split("\n"), read.split("\n"), strict=True):
        assert line == f"(*(__global {kind} *)({places[part]} = acc_{part};"
        assert back == f"{kind} next_{part} = (*(__global {kind} *)({places[part]};"


def test_absorb_loads_every_place_once_and_in_order(op: OperatorText) -> None:
    formula = identity_map(op.bound.value)
    for lanes in widths(op):
        text = op.absorb("acc", formula, ["i", "(i + 99)"], lanes)
        assert text.startswith("{\n")
        loads = [line for line in text.split("\n") if "in0" in line.split(" = ")[-1] and "const" in line]
        if op.bound.value.names is None:
            assert len([line for line in loads if "(i)" in line]) == 1
            assert len([line for line in loads if "((i + 99))" in line]) == 1
            assert text.index("(i)") < text.index("((i + 99))")
        assert re.findall(r"^(acc_\w+) = ", text, re.M) == [f"acc_{part}" for part, _ in op.parts]


def test_finish_hands_the_results_parts_to_the_store(op: OperatorText) -> None:
    parts = list(op.bound.result.names or ("",))
    calls: list[Any] = []

    def store(texts: Any) -> str:
        calls.append(texts)
        return "STORED;"

    text = op.finish("acc", store)
    assert list(calls[0]) == parts
    assert text.endswith("STORED;\n}")


def test_converting_an_accumulator_keeps_its_parts() -> None:
    wide, narrow = OperatorText(operator_of("sum"), True), OperatorText(operator_of("sum", accumulate="fast"), True)
    text = wide.converted("carry", "acc", narrow)
    assert declarations(text)["carry_total"] == "double"
    assert "((double)(acc_total))" in text
    assert wide.converted("carry", "acc", wide).strip() == "double carry_total = acc_total;"
    names = [
        m for prefix in ("one", "two") for m in re.findall(r"const \w+ (\w+) =", wide.converted(prefix, "acc", narrow))
    ]
    assert len(names) == len(set(names)) == 2, "two conversions may stand in one block"


def test_gather_reads_neighbours_of_an_array() -> None:
    op = OperatorText(operator_of("product", "f4", "fast"), True)
    assert op.gather("v", "tile", "(j)", 2) == "float2 v_total = (float2)(tile_total[(j) + 0], tile_total[(j) + 1]);"


# ---------------------------------------------------------------------------------------------------------- locating
@pytest.mark.parametrize(
    ("code", "counter", "limit"),
    [("u1", "int", 2**31 - 1), ("i2", "int", 2**31 - 1), ("f4", "int", 2**31 - 1), ("f8", "long", 2**63 - 1),
     ("u8", "long", 2**63 - 1), ("?", "int", 2**31 - 1)],
)  # fmt: skip
def test_blocks_are_counted_by_an_integer_as_wide_as_the_values(code: str, counter: str, limit: int) -> None:
    op = OperatorText(operator_of("argmax", code), True)
    assert (op.block_counter(1), op.block_limit) == (counter, limit)
    assert op.block_counter(8) == counter + "8"


@pytest.mark.parametrize("lanes", LANES)
@pytest.mark.parametrize("code", ["?", "i1", "u2", "i4", "f4", "f8"])
def test_beat_takes_value_and_block_together(code: str, lanes: int) -> None:
    op = OperatorText(operator_of("argmin", code), True)
    text = op.beat("best0", identity_map(code), ["i", "j"], "number", lanes)
    assert re.findall(r"^(best0_\w+) = (\w+);", text, re.M)[0][0] == "best0_best"
    assert re.findall(r"^(best0_\w+) = ", text, re.M) == ["best0_best", "best0_block"]
    choices = re.findall(r"= \((\w+) \? (\w+) : (best0_\w+)\);", text)
    assert [old for _, _, old in choices] == ["best0_best", "best0_block"]


def test_the_winning_block_is_searched_by_value_and_place() -> None:
    op = OperatorText(operator_of("argmin", "f4"), True)
    text = op.match(identity_map("f4"), "at", "found_best", "found_place")
    assert "found_place = " in text and "found_best" in text
    assert (
        op.lane_arrays("p", 2)
        == "const float bests[2] = {p_best.s0, p_best.s1}; const int blocks[2] = {p_block.s0, p_block.s1};"
    )
    assert op.lane_arrays("p", 1) == "const float bests[1] = {p_best}; const int blocks[1] = {p_block};"
    assert op.candidate("found", "bests", "lane").endswith("found_best = bests[lane];")


def test_indices_are_those_of_the_kernel() -> None:
    formula = identity_map("f4")
    for narrow, kind in ((True, "int"), (False, "long")):
        assert f"(({kind})(i))" in OperatorText(operator_of("argmin"), narrow).absorb("acc", formula, ["i"])


@pytest.mark.parametrize("name", NAMED)
def test_every_named_operator_writes_every_width_it_claims(name: str) -> None:
    for code in ("?", "i1", "u4", "i8", "f2", "f4", "f8", "c8"):
        if code == "c8" and name in ("minimum", "maximum", "argmin", "argmax", "logsumexp", "var", "std"):
            continue
        op = OperatorText(operator_of(name, code), False)
        for lanes in widths(op):
            for text in (
                op.absorb("acc", identity_map(code), ["i", "j", "k"], lanes),
                op.merge("a", "a", "b", lanes),
                op.declare("a", lanes),
                op.finish("a", lambda texts: f"use({', '.join(texts.values())});", lanes),
            ):
                assert text.count("(") == text.count(")")
                assert text.count("{") == text.count("}")
                assert "None" not in text and "barrier" not in text and "__local" not in text


def test_a_users_monoid_of_lambdas_writes_no_python() -> None:
    op = OperatorText(Operator(lambda a, b: cm.where(a > b, a, b), 0, check=False).bind(np.dtype("i2"), "auto", True), True)
    assert op.merge("acc", "acc", "next").split("\n")[1:-1] == [
        "const int v0 = (acc_value > next_value);",
        "const short v1 = (v0 ? acc_value : next_value);",
        "acc_value = v1;",
    ]
