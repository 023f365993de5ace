"""Operators together: side by side in one accumulator, each as if it were alone."""

from __future__ import annotations

import itertools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from support.plans import FACTS, INTEL, PAIR, PARALLEL, SECOND, SEQUENTIAL, chain_of, sizes, source_of
from support.random_programs import NodeValues, accumulators, finish

import clmapreduce as cm
from clmapreduce.domain.line import Line
from clmapreduce.dtypes import is_aligned, leaf_view
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.formula import symbol
from clmapreduce.formula.node import Index, Node, Record, Symbol, Value, components
from clmapreduce.reductions import Bound, Operator, operator
from clmapreduce.reductions.around.together import BoundTogether
from clmapreduce.reductions.text import OperatorText

AFFINE = Operator(
    lambda a, b: {"a": a["a"] * b["a"], "b": a["b"] * b["a"].astype("i8") + b["b"]}, (1, 0), PAIR, commutative=False,
    name="affine",
)  # fmt: skip
"""x ↦ a x + b, one after the other."""
OPERATORS = ["sum", "product", "minimum", "maximum", "any", "all", "argmin", "argmax", "logsumexp"]
SPECIAL = [1.5, -2.0, np.nan, np.inf, 0.0, -0.0, 3.25]


class Together:
    """Some operators bound together, with a value for each (all vectors of one length)."""

    def __init__(self, *parts: tuple[Any, Any], accumulate: Any = "auto", fp64: bool = True) -> None:
        self.parts: list[Bound] = []
        self.values: list[Value] = []
        self.numbers: NodeValues = {}
        for k, (op, numbers) in enumerate(parts):
            array = np.asarray(numbers)
            self.parts.append(operator(op).bind(array.dtype, accumulate, fp64))
            value = symbol(f"v{k}", array.dtype, varies=True)
            self.values.append(value)
            self.numbers |= {n: leaf_view(array, name) if name else array for name, n in components(value).items()}
            self.length = array.size
        self.bound = BoundTogether(self.parts)

    def absorb_all(self) -> list[dict[str, Any]]:
        """The accumulator of nothing, and after each index."""
        return list(accumulators(self.bound, self.values, self.numbers, self.length))

    def alone(self, k: int) -> list[dict[str, Any]]:
        """The same of one operator alone."""
        return list(accumulators(self.parts[k], [self.values[k]], self.numbers, self.length))

    def singles(self) -> list[dict[str, Any]]:
        """One accumulator per index, which it knows."""
        return singles(self.bound, self.values, self.numbers, self.length)


def singles(bound_operator: Bound, values: Sequence[Value], numbers: Mapping[Node, Any], length: int) -> list[dict[str, Any]]:
    at, acc = Index(), Record({c.name: Symbol(c.name, c.dtype) for c in bound_operator.components})
    value: Any = values[0] if len(values) == 1 else tuple(values)
    result = bound_operator.absorb(acc, [value], [at])
    start = {acc[c.name]: np.asarray(c.identity).astype(c.dtype)[()] for c in bound_operator.components}
    results = []
    for i in range(length):
        here = {**{n: v[i] for n, v in numbers.items()}, **start, at: np.int64(i)}
        results.append({name: evaluate(node, here) for name, node in result.items()})
    return results


def merge(bound_operator: Bound, a: Mapping[str, Any], b: Mapping[str, Any]) -> dict[str, Any]:
    left, right = (Record({c.name: Symbol(c.name, c.dtype) for c in bound_operator.components}) for _ in range(2))
    values: NodeValues = {left[n]: part for n, part in a.items()} | {right[n]: part for n, part in b.items()}
    return {name: evaluate(node, values) for name, node in bound_operator.merge(left, right).items()}


def assert_same(a: Mapping[Any, Any], b: Mapping[Any, Any]) -> None:
    """The same parts, bit by bit (any NaN for any NaN)."""
    assert list(a) == list(b)
    for name in a:
        assert np.asarray(a[name]).dtype == np.asarray(b[name]).dtype
        np.testing.assert_array_equal(a[name], b[name])


def several() -> Together:
    """One of every kind: wide, locating, ordered in value, of records; exact in every order of work."""
    x = np.array([3, -1, 4, 1, -5, 4], "f4")
    r = np.array([(1, 2), (2, 0), (1, 1), (-1, 3), (2, 2), (1, 0)], PAIR)
    return Together(
        ("sum", x), ("maximum", x * 2), ("argmax", x), ("any", x > 3), (AFFINE, r), ("product", x.astype("i2"))
    )


# ------------------------------------------------------------------------------------------------------ names and dtypes
def test_components_are_the_parts_under_names_of_their_own() -> None:
    together = several()
    expected = [(f"r{k}_{c.name}", c.dtype, c.identity) for k, part in enumerate(together.parts) for c in part.components]
    assert [(c.name, c.dtype, c.identity) for c in together.bound.components] == expected
    assert len({name for name, _, _ in expected}) == len(expected)


def test_two_of_one_kind_do_not_share_a_name() -> None:
    together = Together(("sum", np.ones(2)), ("sum", np.ones(2)))
    assert [c.name for c in together.bound.components] == ["r0_total", "r1_total"]


def test_an_accumulator_in_memory_is_an_aligned_record_of_all() -> None:
    together = several()
    assert together.bound.layout.names == tuple(c.name for c in together.bound.components)
    assert is_aligned(together.bound.layout)
    assert together.bound.layout.itemsize >= sum(part.layout.itemsize for part in together.parts) - 8 * len(together.parts)


def test_the_result_is_a_record_of_all_results_in_order() -> None:
    result = several().bound.result
    codes = ["f4", "f4", "i8", "?", "f4", "i8", "i8"]  # the record brings two
    assert result.names == tuple(f"p{i}" for i in range(7))
    assert [result[name] for name in result.names or ()] == [np.dtype(code) for code in codes]


# ------------------------------------------------------------------------------------------------------------- the laws
@pytest.mark.parametrize("first", OPERATORS)
@pytest.mark.parametrize("second", ["sum", "argmin", "logsumexp", "all"])
def test_each_absorbs_as_if_alone(first: str, second: str) -> None:
    """Also NaN, infinities and both zeros, which another operator's values must not touch."""
    together = Together((first, np.array(SPECIAL)), (second, np.array(SPECIAL[::-1], "f4")))
    for i, acc in enumerate(together.absorb_all()):
        both = {f"r{k}_{name}": part for k in (0, 1) for name, part in together.alone(k)[i].items()}
        assert_same(acc, both)


def test_each_finishes_as_if_alone() -> None:
    together = several()
    for i, acc in enumerate(together.absorb_all()):
        own = [part for k, bound_operator in enumerate(together.parts) for part in finish(bound_operator, together.alone(k)[i]).values()]
        assert_same(finish(together.bound, acc), {f"p{j}": part for j, part in enumerate(own)})


def test_each_merges_as_if_alone() -> None:
    together = several()
    whole = together.singles()
    for a, b in itertools.combinations(range(together.length), 2):
        both = merge(together.bound, whole[a], whole[b])
        for k, bound_operator in enumerate(together.parts):
            alone = singles(
                bound_operator, [together.values[k]], {n: together.numbers[n] for n in components(together.values[k]).values()}, together.length
            )
            own = merge(bound_operator, alone[a], alone[b])
            assert_same({name: both[f"r{k}_{name}"] for name in own}, own)


def test_the_identity_changes_nothing() -> None:
    together = several()
    nothing = together.absorb_all()[0]
    for acc in together.singles():
        assert_same(merge(together.bound, acc, nothing), acc)
        assert_same(merge(together.bound, nothing, acc), acc)


def test_merging_is_associative() -> None:
    together = several()
    for a, b, c in itertools.combinations(together.singles(), 3):
        from_the_left = merge(together.bound, merge(together.bound, a, b), c)
        assert_same(from_the_left, merge(together.bound, a, merge(together.bound, b, c)))


def test_absorbing_is_merging_one_by_one() -> None:
    together = several()
    total = together.absorb_all()[0]
    for single in together.singles():
        total = merge(together.bound, total, single)
    assert_same(total, together.absorb_all()[-1])


def test_several_values_are_absorbed_in_order() -> None:
    x = np.array([3.0, -1.0, 4.0, 1.0])
    together = Together((SECOND, x), ("sum", x), ("argmin", x))
    acc = Record({c.name: Symbol(c.name, c.dtype) for c in together.bound.components})
    each = [tuple(Symbol(f"{i}{k}", np.dtype("f8")) for k in range(3)) for i in range(4)]
    places = [Symbol(f"at{i}", np.dtype("i8")) for i in range(4)]
    numbers: NodeValues = {acc[c.name]: np.asarray(c.identity, c.dtype)[()] for c in together.bound.components}
    numbers |= {node: x[i] for i, nodes in enumerate(each) for node in nodes}
    numbers |= {place: np.int64(i) for i, place in enumerate(places)}
    at_once: Any = together.bound.absorb(acc, each, places)  # type: ignore[arg-type]
    assert_same({name: evaluate(node, numbers) for name, node in at_once.items()}, together.absorb_all()[-1])


# ------------------------------------------------------------------------------------------------------------- locating
@pytest.mark.parametrize("name", ["argmin", "argmax"])
@pytest.mark.parametrize(
    "data", [[2, 1, 2, 1, 2], [5, 5, 5, 5, 5], [1, np.nan, 0, np.nan, 7], [-np.inf, np.inf, np.inf, -np.inf, 0]]
)
def test_the_lowest_place_wins_in_every_order_of_merging(name: str, data: list[float]) -> None:
    x = np.array(data, "f4")
    together = Together((name, x), ("maximum", x))
    whole = together.singles()
    for order in itertools.permutations(range(len(x))):
        acc = whole[order[0]]
        for k in order[1:]:
            acc = merge(together.bound, acc, whole[k])
        assert finish(together.bound, acc)["p0"] == getattr(np, name)(x)


def test_places_are_kept_not_searched_for() -> None:
    """What locates alone numbers blocks; together it keeps the index beside the value."""
    x = np.array([1.0, 2.0], "f4")
    together = Together(("argmin", x), ("sum", x))
    assert together.parts[0].locates and not together.bound.locates
    assert [c.name for c in together.bound.components] == ["r0_best", "r0_place", "r1_total"]


def test_kernels_of_operators_together_search_no_blocks() -> None:
    alone, both = (
        chain_of(f, "f4") for f in (cm.Reduce("argmin"), lambda x: (cm.Reduce("argmin")(x), cm.Reduce("sum")(x)))
    )
    texts = [source_of(chain.plan(Line(10**6), SEQUENTIAL, INTEL, True).stages[0]) for chain in (alone, both)]
    assert [re.search(r"_block\b", text) is not None for text in texts] == [True, False]
    assert "_r0_place" in texts[1]


# ---------------------------------------------------------------------------------------------------- what follows from all
ONES = np.ones(2, "f4")


@pytest.mark.parametrize(
    ("others", "commutative", "identity", "vectorisable"),
    [
        ([], True, True, True),
        ([("argmin", ONES)], True, False, True),
        ([(SECOND, ONES)], False, True, False),
        ([("sum", ONES.astype("c8"))], True, True, False),
        ([(AFFINE, np.ones(2, PAIR)), ("argmax", ONES)], False, False, False),
    ],
)  # fmt: skip
def test_one_part_decides_for_all(others: list[Any], commutative: bool, identity: bool, vectorisable: bool) -> None:
    bound_operator = Together(("sum", ONES), *others, ("maximum", ONES)).bound
    assert (bound_operator.commutative, bound_operator.has_identity, bound_operator.vectorisable) == (commutative, identity, vectorisable)


def test_the_shortest_chain_holds_for_all() -> None:
    assert Together(("sum", ONES), ("maximum", ONES)).bound.chain is None
    without_doubles = Together(("maximum", ONES), ("sum", ONES), fp64=False)
    assert without_doubles.bound.chain == without_doubles.parts[1].chain == 4096
    without_doubles.parts[0].chain = 100
    assert BoundTogether(without_doubles.parts).chain == 100


def test_a_long_line_is_cut_as_the_chain_asks() -> None:
    """More groups than units ask for, so that no accumulator meets more values than stay accurate."""
    chain = chain_of(lambda x: (cm.Reduce("sum")(x), cm.Reduce("maximum")(x)), "f4", fp64=False)
    stage = chain.plan(Line(10**9), PARALLEL, FACTS["small"], True).stages[0]
    numbers = stage.spec.context()
    per_accumulator = sizes(stage)[-1] / (numbers["block"] * numbers["lanes"] * numbers["streams"])
    assert per_accumulator <= 4096 + numbers["unroll"]


# ----------------------------------------------------------------------------------------------------------- as C text
@pytest.mark.parametrize("lanes", [1, 4])
def test_statements_name_every_component_once(lanes: int) -> None:
    text = OperatorText(Together(("sum", ONES), ("maximum", ONES), ("argmin", ONES)).bound)
    declarations = text.declare("acc", lanes).splitlines()
    suffix = str(lanes) if lanes > 1 else ""
    assert [line.split(" = ")[0] for line in declarations] == [
        f"double{suffix} acc_r0_total", f"float{suffix} acc_r1_best", f"float{suffix} acc_r2_best", f"long{suffix} acc_r2_place",
    ]  # fmt: skip
    assert text.itemsize == 24


def test_what_two_operators_are_given_is_computed_once() -> None:
    chain = chain_of(lambda x: (cm.Reduce("sum")(cm.math.exp(x)), cm.Reduce("maximum")(cm.math.exp(x))), "f4")
    source = source_of(chain.plan(Line(1), SEQUENTIAL, INTEL, True, strict=True).stages[0])
    kernel = source[source.index("__kernel ") :]
    loops = len(re.findall(r"\bin0\[", kernel))
    assert kernel.count("exp(") == loops > 0
