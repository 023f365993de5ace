"""Operators for pairs as statements: their cost in the inner loop, and their text for any lanes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from clmapreduce.dtypes import c_name
from clmapreduce.formula.node import Node, Record
from clmapreduce.formula.text.statements import Statements
from clmapreduce.reductions.pairs import PAIR_REDUCTIONS, PairBound, PairOptions

INT32 = np.dtype("i4")
INLINE = {"cmr_exp2_fast_float16", "cmr_lesser_float16", "cmr_greater_one_float16", "cmr_difference_float16"}


def bind(name: str, code: str = "f4", width: int = 1, weights: int = 1, **options: Any) -> PairBound:
    reduction = PAIR_REDUCTIONS[name]
    options = {"k": 3, **options}
    return reduction.bind(np.dtype(code), width, weights if reduction.weighted else 0, INT32, PairOptions(**options))


class OperatorLines:
    """The statements of an operator for some columns, in one block."""

    def __init__(self, operator: PairBound, columns: int, lanes: int, products: bool = False) -> None:
        self.bound = operator
        self.block = Statements(lanes, narrow=True)
        self.acc = self.record("acc", operator)
        numbers = operator.width + operator.weights
        self.values = [
            tuple(self.block.variable(f"f{k}_{d}", operator.value) for d in range(numbers)) for k in range(columns)
        ]
        if products:
            self.values = [tuple(v * self.block.variable("b", operator.value) for v in value) for value in self.values]
        self.indices = [self.block.variable(f"j{k}", INT32) for k in range(columns)]

    def record(self, name: str, operator: PairBound) -> Record:
        return self.block.record(name, {c.name: c.dtype for c in operator.components})

    def rarely(self) -> list[str]:
        self.block.text(self.bound.rarely(self.acc, self.values))
        return self.new()

    def absorb(self) -> list[str]:
        return self.assign(self.bound.absorb(self.acc, self.values, self.indices))

    def adjust(self) -> list[str]:
        return self.assign(self.bound.adjust(self.acc, self.values, self.indices))

    def assign(self, new: Record, target: str = "acc") -> list[str]:
        self.block.assign({f"{target}_{name}": node for name, node in new.items()})
        return self.new()

    def new(self) -> list[str]:
        lines = self.block.drained().splitlines()
        return [line for line in lines if not re.fullmatch(r"(\w+) = \1;", line)]  # a part that stays as it is


def targets(lines: list[str]) -> set[str]:
    """What some statements assign to."""
    return {line.split(" = ")[0] for line in lines if not line.startswith("const ")}


@pytest.mark.parametrize("lanes", [1, 16])
@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("width", [1, 3])
@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_every_step_renders_and_names_every_component(name: str, width: int, code: str, lanes: int) -> None:
    reduction = PAIR_REDUCTIONS[name]
    if width > 1 and (reduction.weighted or "Shift" in name):
        return
    outer = bind(name, code, width, 2)
    assert outer.vectorisable
    for operator in (outer, outer.block):
        if operator is None:
            continue
        names = [c.name for c in operator.components]
        kernel = OperatorLines(operator, 4, lanes)
        texts = [kernel.absorb()]
        if operator.rare:
            texts = [kernel.rarely(), kernel.adjust(), *texts]
        for text in texts:
            assert targets(text) <= {f"acc_{part}" for part in names}
    kernel = OperatorLines(outer, 1, lanes)
    lines = kernel.assign(outer.merge(kernel.acc, kernel.record("other", outer)))
    assert targets(lines) == {f"acc_{c.name}" for c in outer.components}
    if outer.block is not None:
        seed_lines = kernel.assign(outer.seed(kernel.acc), "own")
        assert targets(seed_lines) == {f"own_{c.name}" for c in outer.block.components}
        assert kernel.assign(outer.widened(kernel.record("own", outer.block)))
    count = kernel.block.variable("count", np.dtype("i8"))
    for output, nodes in zip(outer.outputs, outer.finish_pairs(kernel.acc, count), strict=True):
        assert all(isinstance(node, Node) and kernel.block.text(node).c for node in nodes)
        assert c_name(output.dtype)


# ----------------------------------------------------------------------------------------------- statements per column
def test_a_column_of_a_block_sum_is_one_addition() -> None:
    block = bind("Sum", accumulate=np.dtype("f8")).block
    assert block is not None
    assert OperatorLines(block, 1, 16).absorb() == ["const float16 v0 = (acc_total0 + f0_0);", "acc_total0 = v0;"]


def test_products_are_added_one_after_another_and_other_terms_as_a_tree() -> None:
    block = bind("Sum").block
    assert block is not None
    chain = [line.split(" = ")[1] for line in OperatorLines(block, 3, 1, products=True).absorb()]
    assert chain == [
        "(f0_0 * b);",
        "(acc_total0 + v0);",
        "(f1_0 * b);",
        "(v1 + v2);",
        "(f2_0 * b);",
        "(v3 + v4);",
        "v5;",
    ]
    tree = [line.split(" = ")[1] for line in OperatorLines(block, 4, 1).absorb()]
    assert tree == ["(f0_0 + f1_0);", "(f2_0 + f3_0);", "(v0 + v1);", "(acc_total0 + v2);", "v3;"]


@pytest.mark.parametrize(("name", "helper"), [("Min", "lesser"), ("Max", "greater_one")])
def test_a_column_of_an_extremum_is_one_helper(name: str, helper: str) -> None:
    """Which a vendor may spell as one instruction; the accumulator, never a NaN, is the second."""
    lines = OperatorLines(bind(name), 1, 16).absorb()
    assert lines == [f"const float16 v0 = cmr_{helper}_float16(f0_0, acc_best0);", "acc_best0 = v0;"]


def test_an_argmin_asks_one_question_per_group_and_finds_without_asking_again() -> None:
    text = OperatorLines(bind("ArgMin"), 4, 16)
    rarely = text.rarely()
    assert len(rarely) == 4 + 1
    assert text.absorb() == []
    adjust = text.adjust()
    assert sum(" == " in line for line in adjust) == 3  # the last column is what the others are not
    assert not any(" < " in line for line in adjust)


@pytest.mark.parametrize(("name", "exponentials"), [("LogSumExp", 4), ("LogSumExpWeight", 4), ("SumSoftMaxWeight", 4)])
def test_a_column_has_one_exponential_which_the_test_and_the_sum_share(name: str, exponentials: int) -> None:
    block = bind(name, weights=3).block
    assert block is not None
    text = OperatorLines(block, 4, 1)
    rarely = text.rarely()
    absorb = text.absorb()
    assert sum("cmr_exp2_fast_float(" in line for line in rarely) == exponentials
    assert not any("exp2" in line for line in absorb)
    if (
        name == "LogSumExp"
    ):  # differences, exponentials, their tree of three additions, one comparison; then one addition
        assert len(rarely) == 4 + 4 + 3 + 1
        assert absorb == ["const float v12 = (acc_total0 + v10);", "acc_total0 = v12;"]


@pytest.mark.parametrize(("name", "lines"), [("KMin", 4 + 1), ("ArgKMin", 4 + 1)])
def test_a_k_min_compares_a_column_with_the_last_only(name: str, lines: int) -> None:
    text = OperatorLines(bind(name, k=10), 4, 16)
    assert len(text.rarely()) == lines
    assert text.absorb() == []


def test_a_merge_of_k_least_costs_k_log_k() -> None:
    text = OperatorLines(bind("KMin", k=64), 1, 1)
    lines = text.assign(text.bound.merge(text.acc, text.record("other", text.bound)))
    exchanges = sum(" < " in line for line in lines)
    assert exchanges <= 64 * 7


def test_a_variance_takes_two_additions_and_a_product_per_column() -> None:
    block = bind("Var").block
    assert block is not None
    lines = OperatorLines(block, 8, 1).absorb()
    steps = [line for line in lines if not line.startswith("acc_")]
    assert len(steps) == 8 * 4 + 1  # and one to count the group; a product and its addition are one instruction


@pytest.mark.parametrize("name", PAIR_REDUCTIONS)
def test_nothing_is_converted_or_called_per_column_of_floats(name: str) -> None:
    """With int32 indices and float32 values every mask is as wide as the values it selects, and every function is inlined."""
    operator = bind(name)
    operator = operator.block or operator
    text = OperatorLines(operator, 4, 16)
    hot = [*(text.rarely() if operator.rare else []), *text.absorb()]
    assert not any("CONVERT" in line for line in hot)
    assert {call for line in hot for call in re.findall(r"\b([a-z]\w*)\(", line)} <= INLINE


@pytest.mark.parametrize("name", ["LogSumExp", "LogSumExpWeight", "SumSoftMaxWeight", "Max_SumShiftExpWeight"])
def test_no_result_is_a_product_with_zero(name: str) -> None:
    """A NaN must pass, and some compilers replace a product with zero by 0."""
    text = OperatorLines(bind(name, weights=2), 1, 1)
    (numbers,) = text.bound.finish_pairs(text.acc, text.block.variable("count", INT32))
    text.block.assign({f"out{k}": number for k, number in enumerate(numbers)})
    assert not any("* ((float)(0x0.0p+0f))" in line for line in text.new())
