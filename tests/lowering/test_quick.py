"""Terms by approximations: which functions are replaced, and what each term may be off by."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.pair_plans import layout_of

from clmapreduce.formula.evaluate import evaluate
from clmapreduce.formula.fast import LOG_FAST, QUICK, SIN_FAST
from clmapreduce.formula.node import Apply, Node, postorder
from clmapreduce.lowering.approximations.errors import BEARABLE
from clmapreduce.lowering.approximations.quick import QuickPair, quick_pair
from clmapreduce.lowering.pair import Pair, Role

DISTANCE = "SqDist(Vi(0,1),Vj(1,1))"
X, Y, B = (np.float32(v) for v in (0.7, -1.1, -3.0))
LOG, SIN = QUICK[LOG_FAST].error / BEARABLE, QUICK[SIN_FAST].error / BEARABLE
D = float(np.square(X - Y))


def quick_of(formula: str) -> tuple[Pair, QuickPair | None]:
    pair = layout_of(formula).pair
    return pair, quick_pair(pair)


def names(nodes: Any) -> list[str]:
    """Those of approximations."""
    return [n.function.name for n in postorder(nodes) if isinstance(n, Apply) and n.function.name.endswith("_quick")]


def number(pair: Pair, node: Node) -> float:
    """A node's value for X, Y and B."""
    arguments = {Role.ROW: [X], Role.COLUMN: [Y, B], Role.PARAMETER: [np.float32(2)]}  # the formula's only number
    symbols: dict[Node, Any] = {}
    for variable in pair.inputs:
        symbols |= dict.fromkeys(variable.symbols, arguments[variable.role].pop(0))
    return float(evaluate(node, symbols))


PRODUCT = "(Vi(0,1)*Vj(1,1))"
"""Of any sign, as a distance is not."""
P = float(X * Y)

FLOORS: dict[str, tuple[float, int]] = {
    f"Log(1+{DISTANCE})": (LOG, 0),
    f"Log(1+{DISTANCE})*Vj(2,1)": (3 * LOG, 0),
    f"Sin({PRODUCT})/Vj(2,1)": (SIN / 3, 1),
    f"Sin({DISTANCE})/Vj(2,1)": (SIN / 3, 0),
    f"Log(1+{DISTANCE})*{DISTANCE}*Vj(2,1)-Sin({PRODUCT})*Vj(2,1)": (3 * (LOG * D + SIN), 1),
    f"XLogX({DISTANCE})*Vj(2,1)": (3 * LOG * D, 0),
    f"Exp(-{DISTANCE})+Sin({DISTANCE})": (SIN, 0),
    f"Log(2+Cos({DISTANCE}))": (LOG, 0),
    f"Log(1+{DISTANCE})*Cos({PRODUCT})": (LOG * abs(np.cos(P)), 0),
}


@pytest.mark.parametrize("formula", FLOORS)
def test_the_floor_is_what_a_term_may_be_off_by(formula: str) -> None:
    """For one pair, beside numbers that were worked out by hand."""
    pair, quick = quick_of(formula)
    floor, arguments = FLOORS[formula]
    assert quick is not None and quick.floors and quick.arguments == arguments
    assert len(quick.quick.values) == len(quick.careful.values) == 2 + arguments
    assert names(quick.quick.values[:1]) and not names(quick.careful.values)
    scale = number(quick.quick, quick.quick.factors[0]) if quick.quick.factors else 1.0
    np.testing.assert_allclose(scale * number(quick.quick, quick.quick.values[1]), floor, rtol=1e-5)
    np.testing.assert_allclose(scale * number(quick.quick, quick.quick.values[0]), number(pair, pair.values[0]), rtol=1e-5)
    assert [number(quick.careful, node) for node in quick.careful.values[1:]] == [0.0] * (1 + arguments)


@pytest.mark.parametrize(
    "formula, waits",
    [
        (f"Log(1+{DISTANCE})", True), (f"-Log(1+{DISTANCE})*Vj(2,1)/Pm(3,1)", True), (f"XLogX({DISTANCE})*Vj(2,1)", True),
        (f"Vj(2,1)/(1+{DISTANCE})-Log(1+{DISTANCE})", False), (f"Log(1+{DISTANCE})+Sin({DISTANCE})", False),
        (f"Concat(Log(1+{DISTANCE}),{DISTANCE})", False), (f"IfElse(Vi(0,1),Log(1+{DISTANCE}),Vi(0,1))", False),
        (f"IfElse(Vi(0,1),Log(1+{DISTANCE}),0*Vi(0,1)*Vj(1,1))", False), (f"Sin({DISTANCE})*Vj(2,1)", False),
    ],
)  # fmt: skip
def test_the_scale_of_logarithms_waits(formula: str, waits: bool) -> None:
    """The hardware's are binary. Where all of a term is a logarithm times something, its tile's sum is scaled."""
    pair, quick = quick_of(formula)
    assert quick is not None
    before = number(pair, pair.factors[0]) if pair.factors else 1.0
    factor = number(quick.quick, quick.quick.factors[0]) if quick.quick.factors else 1.0
    assert factor == pytest.approx(before * (np.log(2) if waits else 1))
    for at in range(pair.width):
        scale = number(quick.quick, quick.quick.factors[at]) if quick.quick.factors else 1.0
        whole = before * number(pair, pair.values[at])
        np.testing.assert_allclose(scale * number(quick.quick, quick.quick.values[at]), whole, rtol=1e-5)
    assert all(number(quick.quick, node) == 1 for node in quick.quick.factors[pair.width :])


@pytest.mark.parametrize("argument", [DISTANCE, PRODUCT])
@pytest.mark.parametrize("around", ["Exp({})", "{}/(Square(Vi(0,1)-Vj(1,1))+1)", "Square({})*Vj(2,1)", "{}"])
def test_cosines_have_no_floor(around: str, argument: str) -> None:
    """They stand anywhere, of magnitudes."""
    pair, quick = quick_of(around.format(f"Cos({argument})"))
    assert quick is not None and not quick.floors and quick.arguments == 0
    assert len(quick.quick.values) == len(quick.careful.values) == 1
    cosines = [n for n in postorder(quick.quick.values) if isinstance(n, Apply) and n.function.name == "cos_quick"]
    assert [number(quick.quick, n.args[0]) for n in cosines] == [pytest.approx(D if argument == DISTANCE else -P)]
    assert ("abs" in [n.function.name for n in postorder(cosines) if isinstance(n, Apply)]) == (argument == PRODUCT)
    np.testing.assert_allclose(number(quick.quick, quick.quick.values[0]), number(pair, pair.values[0]), rtol=1e-5)


@pytest.mark.parametrize("argument, name", [(DISTANCE, "sin_positive_quick"), (PRODUCT, "sin_quick")])
def test_sines_of_positive_numbers(argument: str, name: str) -> None:
    _, quick = quick_of(f"Sin({argument})*Vj(2,1)")
    assert quick is not None and names(quick.quick.values[:1]) == [name]


@pytest.mark.parametrize("around", ["ReLU({})", "Step({})", "Sign({})", "Clamp({},Vi(0,1),Vj(1,1))", "IfElse(Vj(2,1),{},Vi(0,1))"])
def test_a_cosine_that_hides_stays_careful(around: str) -> None:
    """Where an angle is too large, a NaN would be no longer seen. A sine in a choice tells by its argument."""
    assert quick_of(around.format(f"Cos({DISTANCE})"))[1] is None
    _, quick = quick_of(f"IfElse(Vj(2,1),Sin({DISTANCE}),Vi(0,1))")
    assert quick is not None and quick.arguments == 1 and names(quick.quick.values[:1]) == ["sin_quick"]


def test_a_cosine_that_shows_somewhere_is_quick() -> None:
    _, quick = quick_of(f"Cos({DISTANCE})+ReLU(Cos({DISTANCE}))")
    assert quick is not None and names(quick.quick.values) == ["cos_quick"]


@pytest.mark.parametrize(
    "formula",
    [
        f"Exp(Sin({DISTANCE}))", f"Log(1+{DISTANCE})*Sin({DISTANCE})", f"Square(Sin({DISTANCE}))", f"SinXDivX({DISTANCE})",
        f"Sin({DISTANCE})/({DISTANCE}+1)", f"SinXDivX(Sqrt({DISTANCE}))",
        "Log(Vi(0,1))*SqDist(Vi(0,1),Vj(1,1))", "Log(1+SqDist(Vi(0,99),Vj(1,99)))", DISTANCE,
    ],
)  # fmt: skip
def test_terms_that_are_not_linear_stay_careful(formula: str) -> None:
    """So do functions of rows alone, which are computed once, and pairs that walk long vectors."""
    assert quick_of(formula)[1] is None


@pytest.mark.parametrize(
    "formula, tested",
    [
        ("XLogX(SqDist(Vi(0,2),Vj(1,2)))", False), ("XLogX(Norm2(Vi(0,2)-Vj(1,2)))*Vj(2,1)", False),
        ("XLogX(SqDist(Vi(0,2),Vj(1,2))*Square(Pm(3,1)))*Vj(2,1)", False), ("XLogX(Square(Square(Vi(0,1)-Vj(1,1))))", False),
        ("XLogX(Vi(0,1)*Vj(1,1))", True), ("IfElse(-Square(Vi(0,1)*Vj(1,1)),0*Vi(0,1),Log(Square(Vi(0,1)*Vj(1,1))))", True),
    ],
)  # fmt: skip
def test_positive_numbers_times_their_logarithm_need_no_test_for_0(formula: str, tested: bool) -> None:
    """A negative number's logarithm is NaN, which a test keeps."""
    _, quick = quick_of(formula)
    assert quick is not None
    terms = [n.function.name for n in postorder(quick.quick.values[:1]) if isinstance(n, Apply)]
    assert ("where" in terms) == tested and ("xlog2x_quick" in terms) != tested


def test_factors_that_wait_are_those_of_terms() -> None:
    pair, quick = quick_of(f"Sin({PRODUCT})*Pm(3,1)")
    assert quick is not None and len(pair.factors) == 1
    for one in (quick.quick, quick.careful):
        assert one.factors[:1] == pair.factors and [getattr(node, "value", None) for node in one.factors[1:]] == [1, 1]


def test_doubles_stay_careful() -> None:
    assert quick_pair(layout_of(f"Log(1+{DISTANCE})", code="f8").pair) is None


def test_all_numbers_of_a_vector_have_floors() -> None:
    _, quick = quick_of(f"Concat(Log(1+{DISTANCE}),{DISTANCE})")
    assert quick is not None
    assert [number(quick.quick, node) for node in quick.quick.values[2:]] == pytest.approx([LOG, 0.0])


@pytest.mark.parametrize("argument", [DISTANCE, f"Sqrt({DISTANCE})"])
def test_floors_of_finite_numbers_have_no_choice(argument: str) -> None:
    """x log x is 0 for 0, and so is its floor: x times a number. A root of a negative number spoils the term as well."""
    _, quick = quick_of(f"XLogX({argument})*Vj(2,1)")
    assert quick is not None
    term, floor = ([n.function.name for n in postorder([node]) if isinstance(n, Apply)] for node in quick.quick.values)
    assert "where" not in term and "where" not in floor
