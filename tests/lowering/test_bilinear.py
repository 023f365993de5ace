"""Inner products factored out of pairs: the same values with any centres, and the expected products."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from support.pair_plans import DISTANCE, GAUSSIAN, inputs_of, layout_of, pair_of, steps, vector

from clmapreduce.dtypes import FLOAT32
from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.fast import exp2_fast
from clmapreduce.formula.node import Apply, Literal, Node, Symbol, postorder
from clmapreduce.lowering.bilinear import Bilinear, Factoring, factored_pair
from clmapreduce.lowering.lower import lower
from clmapreduce.lowering.pair import Pair, PairInput, Role
from clmapreduce.vector import OPERATIONS
from clmapreduce.vector.derivative import gradient
from clmapreduce.vector.node import Category, Variable

PLACES = {Role.ROW: (slice(None), None), Role.COLUMN: (None, slice(None)), Role.PARAMETER: (None, None)}


def factoring_of(pair: Pair, limit: int = 16) -> Factoring:
    factoring = factored_pair(pair, limit)
    assert factoring is not None
    return factoring


def one(pair: Pair) -> Bilinear:
    (product,) = factoring_of(pair).products
    return product


def symbols(nodes: Iterable[Node | None]) -> set[Node]:
    return {part for part in postorder([n for n in nodes if n is not None]) if isinstance(part, Symbol)}


def random_values(pair: Pair, rng: np.random.Generator, code: str = "f4", apart: bool = False) -> dict[Node, Any]:
    """Numbers of every symbol of a pair, (13, 1) of rows, (1, 17) of columns, (1, 1) of parameters; these positive.
    apart: columns are greater than rows, by 0.2 at least.
    """
    counts = {Role.ROW: 13, Role.COLUMN: 17, Role.PARAMETER: 1}
    spans = {Role.ROW: (-1.5, 0.0 if apart else 1.5), Role.COLUMN: (0.2 if apart else -1.5, 1.5), Role.PARAMETER: (0.5, 1.5)}
    return {
        symbol: rng.uniform(*spans[g.role], counts[g.role]).astype("f4").astype(code)[PLACES[g.role]]
        for g in pair.inputs for symbol in g.symbols
    }  # fmt: skip


def exactly(node: Node, values: Mapping[Node, Any]) -> Any:
    """A node in float64, for any dtype."""
    memo: dict[int, Any] = {}
    for part in postorder([node]):
        if isinstance(part, Apply):
            memo[id(part)] = part.function.numpy(*(memo[id(arg)] for arg in part.args))
        else:
            memo[id(part)] = np.float64(part.value) if isinstance(part, Literal) else values[part]
    return memo[id(node)]


def with_results(factoring: Factoring, values: Mapping[Node, Any], compute: Any) -> tuple[dict[Node, Any], float]:
    """The values with the results added, and the largest sum of a product's absolute terms. Rows see their own inputs only."""
    node_values, largest = dict(values), 1.0
    for p in factoring.products:
        terms = [compute(r, values) * compute(c, values) for r, c in zip(p.rows, p.columns, strict=True)]
        terms += [compute(n, values) for n in (p.row, p.column) if n is not None]
        node_values[p.result] = sum(terms[1:], terms[0])
        largest = max(largest, float(np.max(sum(np.abs(t) for t in terms))))
    return node_values, largest


def check(pair: Pair, rng: np.random.Generator, limit: int = 16, apart: bool = False) -> Factoring:
    """Values agree in float64 to its digits and in float32 to its own; each side uses only the inputs of its own role.
    apart: as for `random_values`, where errors of small distances would grow.
    """
    factoring = factoring_of(pair, limit)
    for code, compute, tolerance in (("f8", exactly, 1e-13), ("f4", evaluate, 2e-6)):
        values = random_values(pair, rng, code, apart)
        centres = {symbol: rng.uniform(-1, 1, (1, 1)).astype(code) for symbol, _ in factoring.centres}
        node_values, largest = with_results(factoring, values | centres, compute)
        for result, expected_node in zip(factoring.values, pair.values, strict=True):
            actual, expected = np.broadcast_arrays(compute(result, node_values), compute(expected_node, values))
            assert np.isfinite(expected).all()
            scale = largest * max(1.0, np.abs(expected).max())
            np.testing.assert_allclose(actual, expected, rtol=0, atol=tolerance * scale)
    roles = {s: g.role for g in pair.inputs for s in g.symbols} | {s: Role.PARAMETER for s, _ in factoring.centres}
    for p in factoring.products:
        assert 1 <= len(p.rows) == len(p.columns) <= limit and p.result.dtype == np.float32
        assert {roles[s] for s in symbols([*p.rows, p.row])} <= {Role.ROW, Role.PARAMETER}
        assert {roles[s] for s in symbols([*p.columns, p.column])} <= {Role.COLUMN, Role.PARAMETER}
        nodes = [*p.rows, *p.columns, *(n for n in (p.row, p.column) if n is not None)]
        assert all(part.dtype == np.float32 and part.weak is None for part in postorder(nodes))
    for symbol, node in factoring.centres:
        assert symbol.dtype == np.float32 and {roles[s] for s in symbols([node])} <= {Role.ROW, Role.PARAMETER}
        assert not symbols([node]) & set(dict(factoring.centres)), "no centre needs another"
    assert [s.name for s, _ in factoring.centres] == [f"centre{k}" for k in range(len(factoring.centres))]
    return factoring


CASES = {  # formula → summands of each product, whether only exponentials use it
    "Exp(-SqDist(Vi(0,1),Vj(1,1))/Pm(2,1))*Vj(3,2)": ([1], [True]),
    GAUSSIAN: ([3], [True]),
    "Exp(-SqDist(Vi(0,10),Vj(1,10))/Pm(2,1))*Vj(3,2)": ([10], [True]),
    "Exp(-SqDist(Vi(0,16),Vj(1,16))/Pm(2,1))*Vj(3,2)": ([16], [True]),
    "Exp(Vi(0,3)|Vj(1,3))": ([3], [True]),
    "Square(1+(Vi(0,3)|Vj(1,3)))": ([9], [False]),
    "Square(1+(Vi(0,16)|Vj(1,16)))": ([16], [False]),
    "Exp(-WeightedSqDist(Pm(2,3),Vi(0,3),Vj(1,3)))": ([3], [True]),
    "Exp(-WeightedSqDist(Pm(2,9),Vi(0,3),Vj(1,3)))": ([3], [True]),
    "Exp(-SqDist(Extract(Vi(0,5),0,2),Extract(Vj(1,5),0,2))/Pm(2,1)-SqDist(Extract(Vi(0,5),2,3),Extract(Vj(1,5),2,3))/Pm(3,1))": ([5], [True]),
    "Exp(-SqDist(Vi(0,3),Vj(1,3))/Square(Vi(2,1)))*Vj(3,2)": ([4], [True]),
    "Exp(-SqDist(Vi(0,3),Vj(1,3))*Vj(2,1))*Vj(2,1)": ([4], [True]),
    "Exp(-SqDist(Vi(0,3),Vj(1,3))*Square(Vi(4,1))*Square(Vj(2,1)))": ([5], [True]),
    "Exp(Vi(2,1)-SqDist(Vi(0,3),Vj(1,3))/Pm(3,1)+Vj(4,1))": ([3], [True]),
    DISTANCE: ([3], [False]),
    "Square(Sum((Vi(0,3)-Vj(1,3))*Pm(2,3)))": ([1], [False]),
    "Sum((Vi(0,3)-Vj(1,3))*Pm(2,3))*Sum((Vi(0,3)-Vj(1,3))*Pm(3,3))": ([3], [False]),
    "Square(Vi(0,1)+Vi(0,1)*Vj(1,1))": ([1], [False]),
    "(Vi(0,1)*Vj(1,1)+Vj(2,1))*(Vi(0,1)*Vj(1,1)-Vj(2,1))": ([1], [False]),
    "Sum(Vi(0,3)*Vj(2,1))+(Vi(0,3)|Vj(1,3))": ([3], [False]),
    "SqDist(Vi(0,3)*Vi(2,3),Vj(1,3)*Pm(3,1))": ([3], [False]),
    "SqNorm2(Vi(0,3)+Vj(1,3))": ([3], [False]),
    "1/(1+SqDist(Vi(0,3),Vj(1,3)))": ([3], [False]),
    "Exp(-Norm2(Vi(0,3)-Vj(1,3)))": ([3], [False]),
    "Exp(-SqDist(Vi(0,3),Vj(1,3)))+Exp(-SqDist(Vi(0,3),Vj(1,3))/Pm(2,1))": ([3, 3], [True, True]),
    "SqDist(Vi(0,3),Vj(1,3))*Exp(-SqDist(Vi(0,3),Vj(1,3)))": ([3, 3], [False, True]),
    "Exp(Vi(0,1)*Vj(1,1)+Vj(1,1)*Vi(0,1))": ([1], [True]),
    "Sin((Vi(0,2)|Vj(1,2))+Cos(2+Vi(2,1)*Vj(3,1)))": ([1, 2], [False, False]),
    "(Vi(0,2)-Vj(1,2))*Vi(2,1)": ([1, 1], [False, False]),
    "IfElse(Vi(0,1)*Vj(1,1),Exp(-SqDist(Vi(2,3),Vj(3,3))),Vi(0,1))": ([1, 3], [False, True]),
}  # fmt: skip


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("text", CASES)
def test_values_agree_with_any_centres(text: str, axis: int, rng: np.random.Generator) -> None:
    factoring = check(pair_of(text, axis=axis), rng, apart="(-Norm2" in text)
    sizes, exponents = CASES[text]
    shapes = sorted((len(p.rows), p.exponent) for p in factoring.products)
    assert shapes == sorted(zip(sizes, exponents, strict=True))


def test_a_gaussian_is_one_product(rng: np.random.Generator) -> None:
    pair = pair_of(GAUSSIAN)
    result = check(pair, rng)
    (product,) = result.products
    assert product.exponent and len(product.rows) == 3 and product.row is not None and product.column is not None
    x, y = (set(g.symbols) for g in pair.inputs[:2])
    assert [node for _, node in result.centres] == list(pair.inputs[0].symbols)
    assert not symbols(result.values) & (x | y) and product.result in symbols(result.values)
    assert steps(result.values) == ["exp2_fast", "multiply", "multiply"], "the factor of the distance is inside"
    assert x <= symbols(product.rows) and not symbols(product.rows) & y
    assert y <= symbols(product.columns) and not symbols(product.columns) & x


def test_gradients_share_the_product_of_their_exponential(rng: np.random.Generator) -> None:
    for text in (GAUSSIAN, "Exp(-Norm2(Vi(0,3)-Vj(1,3))/Pm(2,1))*Vj(3,2)"):
        formula = f"Grad({text},Vi(0,3),Vi(4,2))"
        result = check(pair_of(formula), rng, apart=text != GAUSSIAN)
        assert [len(p.rows) for p in result.products if p.exponent] == [3] * (text == GAUSSIAN)
        assert result.products[0].result in symbols(result.values)
    x = Variable(0, 3, Category.I)
    assert gradient(vector(GAUSSIAN), x, Variable(4, 2, Category.I)) is vector(f"Grad({GAUSSIAN},Vi(0,3),Vi(4,2))")


def test_scaled_values_are_whole_products(rng: np.random.Generator) -> None:
    """As LogSumExp has them, its powers being of 2; weights stay."""
    for op, weight in (("LogSumExp", None), ("SumSoftMaxWeight", "Vj(3,2)")):
        layout = layout_of("-SqDist(Vi(0,3),Vj(1,3))/Pm(2,1)", op, weight=weight)
        assert layout.bound.scale == pytest.approx(np.log2(np.e))
        result = check(layout.pair, rng)
        assert result.values[0] is result.products[0].result and result.values[1:] == layout.pair.values[1:]
        assert len(result.products[0].rows) == 3 and not result.products[0].exponent


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Exp(-Abs(Vi(0,1)-Vj(1,1)))*Vj(2,1)", "f4"), ("Vi(0,3)-Vj(1,3)", "f4"), ("Vi(0,2)*Vi(0,2)+Vj(1,2)*2", "f4"),
        ("Exp(-Vi(0,1))+Exp(Vj(1,1))*Vj(2,1)", "f4"), ("Vi(0,1)*Vj(1,1)-Vj(1,1)*Vi(0,1)+Vj(2,1)", "f4"),
        (GAUSSIAN, "f8"), ("Sum((Vi(0,6)-Vj(1,6))*Pm(2,6))*Sum((Vi(0,6)-Vj(1,6))*Pm(3,6))", "f4"), ("Exp(-SqDist(Vi(0,17),Vj(1,17)))", "f4"), ("(Vi(0,1)<Vj(1,1))*Vj(1,1)", "f4"),
    ],
)  # fmt: skip
def test_pairs_without_products_are_left_alone(text: str, code: str) -> None:
    assert factored_pair(pair_of(text, code)) is None


def test_expansions_are_left_alone() -> None:
    pair = layout_of("Exp(-SqDist(Vi(0,3),Vj(1,3)))*Vj(2,40)").pair
    assert pair.expansion is not None and factored_pair(pair) is None


def test_more_than_the_limit_is_looked_into(rng: np.random.Generator) -> None:
    """A row's bandwidth is one summand more; without place for it, it stays outside."""
    pair = pair_of("Exp(-SqDist(Vi(0,3),Vj(1,3))/Square(Vi(2,1)))")
    assert one(pair).exponent and len(one(pair).rows) == 4
    result = check(pair, rng, limit=3)
    assert [(len(p.rows), p.exponent) for p in result.products] == [(3, False)]
    assert steps(result.values)[-2:] == ["multiply", "exp2_fast"]
    square = check(pair_of("Square(1+(Vi(0,3)|Vj(1,3)))"), rng, limit=8)
    assert [len(p.rows) for p in square.products] == [3]


def test_equal_parts_are_one_product() -> None:
    result = factoring_of(
        pair_of("Concat(Exp(-SqDist(Vi(0,3),Vj(1,3))*Pm(2,1)),Exp(-SqDist(Vi(0,3),Vj(1,3))*Pm(2,1))*Vj(3,1))")
    )
    assert len(result.products) == 1 and result.products[0].exponent
    pair = by_hand(lambda x, y, p: [exp2_fast((x * y) * Literal(2.0, FLOAT32)) for _ in range(2)])
    assert len(factoring_of(pair).products) == 1, "equal, and not the same nodes"


def by_hand(values: Callable[[Node, Node, Node], Sequence[Node]]) -> Pair:
    """The pair of values of a function of a row's number, a column's number and a parameter, without rewriting."""
    x, y, p = (Symbol(name, FLOAT32) for name in "xyp")
    inputs = [
        PairInput(s.name, r, 1, FLOAT32, (s,))
        for s, r in zip((x, y, p), (Role.ROW, Role.COLUMN, Role.PARAMETER), strict=True)
    ]
    nodes = tuple(values(x, y, p))
    return Pair(tuple(inputs), nodes, len(nodes))


def test_what_is_used_outside_an_exponential_is_no_exponent() -> None:
    for flip in (1, -1):
        pair = by_hand(lambda x, y, p: [exp2_fast(z := x * y), z][::flip])  # noqa: B023
        assert not one(pair).exponent
    assert one(by_hand(lambda x, y, p: [exp2_fast(z := x * y), exp2_fast(z) + 1.0])).exponent


def test_divisors_of_one_side_are_factors(rng: np.random.Generator) -> None:
    def quotient(x: Node, y: Node, p: Node) -> list[Node]:
        return [(x * y - p) / (x * x + 1.0) + x * y / (y * y + 1.0)]

    check(by_hand(quotient), rng)
    assert len(one(by_hand(quotient)).rows) == 2
    assert factored_pair(by_hand(lambda x, y, p: [x / (x + y)])) is None


def test_what_is_times_zero_stays() -> None:
    """It may be no number."""
    pair = by_hand(lambda x, y, p: [(x - y) * Literal(0.0, FLOAT32) + x * y])
    result = factoring_of(pair)
    assert "subtract" in steps(result.values) and len(result.products[0].rows) == 1
    assert factored_pair(by_hand(lambda x, y, p: [(x + y) + Literal(0.0, FLOAT32)])) is None


def test_numbers_that_float32_has_not_are_not_multiplied_out(rng: np.random.Generator) -> None:
    for number in (1e30, 1e-30):
        pair = by_hand(lambda x, y, p: [x * y * number * number])  # noqa: B023
        assert set(steps(factoring_of(pair).values)) == {"multiply"}


def test_squares_of_other_values_than_differences(rng: np.random.Generator) -> None:
    """Sides may cancel."""
    assert factored_pair(by_hand(lambda x, y, p: [(z := (x + y) - x) * z])) is None
    assert factored_pair(by_hand(lambda x, y, p: [(z := (x + y + p) - x) * z])) is None
    assert factored_pair(by_hand(lambda x, y, p: [(z := (x + y) - y) * z])) is None
    check(by_hand(lambda x, y, p: [(z := ((s := x * y) + p + p * p - s) * (x - y)) * z]), rng)


def test_parameters_are_the_rows_factors() -> None:
    """So that what the columns give needs them in their own sum alone."""
    for text in ("Exp(-SqDist(Vi(0,3),Vj(1,3))/Pm(2,1))", "Exp(-SqDist(Vi(0,3),Vj(1,3))*Square(Vi(3,1))/Pm(2,1))"):
        pair = pair_of(text)
        parameters = {s for g in pair.inputs if g.role is Role.PARAMETER for s in g.symbols}
        assert parameters <= symbols(one(pair).rows) and not parameters & symbols(one(pair).columns)


def test_a_difference_squared_twice_has_one_centre(rng: np.random.Generator) -> None:
    result = check(pair_of("Concat(Exp(-SqDist(Vi(0,3),Vj(1,3))),SqDist(Vi(0,3),Vj(1,3)))"), rng)
    assert len(result.products) == 2 and len(result.centres) == 3


@pytest.mark.parametrize(
    "text", [DISTANCE, "WeightedSqDist(Pm(2,3),Vi(0,3),Vj(1,3))", "WeightedSqDist(Pm(2,9),Vi(0,3),Vj(1,3))"]
)
def test_centres_keep_the_digits_of_distances(text: str, rng: np.random.Generator) -> None:
    """Far from the origin the squares are 1e6 times the distances; less their means, they are not."""
    pair = pair_of(text)
    result, errors = factoring_of(pair), {}
    values = random_values(pair, rng)
    values |= {s: (values[s] + 1000).astype("f4") for g in pair.inputs[:2] for s in g.symbols}
    expected = exactly(pair.values[0], {s: v.astype("f8") for s, v in values.items()})
    for name, place in (("none", 0.0), ("mean", 1.0)):
        centres = {s: np.float32(place * np.mean(evaluate(n, values))).reshape(1, 1) for s, n in result.centres}
        node_values, _ = with_results(result, values | centres, evaluate)
        errors[name] = np.abs(evaluate(result.values[0], node_values) - expected).max()
    assert errors["mean"] < 1e-4 < 1e-2 < errors["none"]


@pytest.mark.parametrize(
    "text", ["Norm2(Vi(0,3)-Vj(1,3))", "Exp(-Norm2(Vi(0,3)-Vj(1,3)))*Vj(2,1)", "Rsqrt(SqDist(Vi(0,3),Vj(1,3)))"]
)
def test_roots_of_distances_are_never_no_numbers(text: str) -> None:
    """A product that should be 0 may come out a little below."""
    pair = pair_of(text)
    result = factoring_of(pair)
    values = random_values(pair, np.random.default_rng(0)) | {result.products[0].result: np.float32(-1e-6)}
    assert all(np.isfinite(evaluate(value, values)).all() for value in result.values)
    free = factoring_of(pair_of("Sqrt(Vi(0,3)|Vj(1,3))"))
    assert "maximum" not in steps(free.values), "what may be below 0 stays no number there"


def test_long_products_are_not_multiplied_out(rng: np.random.Generator) -> None:
    """Of more than 64 monomials; the factors are products still."""
    result = check(pair_of("Square(Square(1+(Vi(0,4)|Vj(1,4))))"), rng)
    assert sorted(len(p.rows) for p in result.products) == [4, 14] and set(steps(result.values)) == {"multiply"}


def test_deep_formulas_are_walked_without_recursion() -> None:
    formula = vector("Vi(0,1)*Vj(1,1)")
    for _ in range(3000):
        formula = OPERATIONS["Sin"](formula) + formula
    result = factoring_of(lower(formula, None, inputs_of(formula.variables)))
    assert [len(p.rows) for p in result.products] == [1]


def test_the_order_is_the_same_every_time() -> None:
    def text_of(node: Node) -> str:
        if isinstance(node, Apply):
            return f"{node.function.name}({','.join(map(text_of, node.args))})"
        return node.name if isinstance(node, Symbol) else repr(getattr(node, "value", None))

    def all_of(factoring: Factoring) -> list[str]:
        return [text_of(n) for p in factoring.products for n in (*p.rows, *p.columns, p.row, p.column) if n is not None]

    text = "Exp(-WeightedSqDist(Pm(2,9),Vi(0,3),Vj(1,3))*Vi(3,1))+(Vi(0,3)|Vj(1,3))"
    assert all_of(factoring_of(pair_of(text))) == all_of(factoring_of(pair_of(text)))


def test_a_factoring_may_be_of_exponents_alone() -> None:
    """In a gradient only exponents become products; the other parts stay, with their centres. Values that are exponents all do."""
    text = "Exp(-SqDist(Vi(0,3),Vj(1,3)))*((Vi(2,2)|Vj(3,2))+SqDist(Vi(4,2),Vj(5,2)))"
    pair = pair_of(text)
    every, only = factored_pair(pair), factored_pair(pair, every=False)
    assert every is not None and only is not None
    assert [p.exponent for p in every.products] == [True, False] and [p.exponent for p in only.products] == [True]
    assert len(only.centres) == 3 and len(every.centres) == 5
    distance = pair_of("SqDist(Vi(0,3),Vj(1,3))")
    assert factored_pair(distance, every=False) is None
    factoring = factored_pair(distance, exponents=1, every=False)
    assert factoring is not None and factoring.products[0].exponent
